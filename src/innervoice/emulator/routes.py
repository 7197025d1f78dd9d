"""Maps a path to a provider, a dialect and a model.

Every dialect is served at its real path, after the name of a provider (`/deepseek/chat/completions`) or without
one, if the path belongs to one provider.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from innervoice.catalog.lookup import all_hosts, dialect_at, host_of
from innervoice.wire.dialects import DEFAULT, DIALECTS, dialect_named, kin_at

__all__ = ["Route", "base_urls", "near_dialect", "route_of"]


class Route(NamedTuple):
    """The provider, dialect and model of a request."""

    provider: str
    dialect: str
    model: str | None = None
    """The model's name, if it is in the path."""
    stream: bool | None = None
    """Whether the answer is streamed, if the path says so."""


def route_of(path: str) -> Route | None:
    """The route of a path, or None if it is not served."""
    path = urlsplit(path).path
    first = path.lstrip("/").split("/", 1)[0]
    host = host_of(first)
    for pattern, dialect, owner, is_own in _patterns():
        if match := pattern.fullmatch(path):
            values = match.groupdict()
            model, verb = values.get("model"), values.get("verb")
            model = unquote(model) if model else None
            if is_own:
                provider, spoken = owner, _spoken(owner, dialect, model or "")
            else:
                provider = host.id if host else owner
                spoken = (kin_at(dialect, host.dialect) if host else None) or dialect
            return Route(provider, spoken, model, "stream" in verb.lower() if verb else None)
    return None


def _spoken(owner: str, dialect: str, model: str) -> str:
    """The dialect of a model, where a host has one path for several."""
    host = host_of(owner)
    spoken = dialect_at(host, model) if host else dialect
    return spoken if host and host.paths.get(spoken) == host.paths[dialect] else dialect


def near_dialect(path: str) -> str:
    """The dialect that a path without a route looks like: its host's, or else that of a known path with the same word."""
    host = host_of(path.lstrip("/").split("/", 1)[0])
    if host:
        return host.dialect
    for name in DIALECTS:
        words = [word for word in dialect_named(name).path.split("/") if len(word) > 3]
        if any(f"/{word}" in path for word in words if "{" not in word):
            return name
    return DEFAULT


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str, str, bool], ...]:
    """Patterns of paths, each with its dialect, the provider that is assumed if the path names none, and whether no other has it."""
    usual = [
        (_pattern(dialect.path, dialect.verbs), dialect.name, dialect.home, False)
        for dialect in map(dialect_named, DIALECTS)
        if not dialect.kin
    ]
    # Hosts that have verbs of their own for a dialect; the longest path first, because one may end like another.
    own_patterns = [
        (host.paths[dialect], verbs, dialect, host.id)
        for host in all_hosts()
        for dialect, verbs in host.verbs.items()
    ]
    own_patterns.sort(key=lambda one: -len(one[0]))
    return (
        *usual,
        *(
            (_pattern(path, verbs), dialect, host, True)
            for path, verbs, dialect, host in own_patterns
        ),
    )


def _pattern(path: str, verbs: tuple[str, str]) -> re.Pattern[str]:
    words = "|".join(verb.partition("?")[0] for verb in verbs)
    filled = re.escape(path.partition("?")[0]).replace(r"\{model\}", "(?P<model>[^/]+)")
    return re.compile(".*" + filled.replace(r"\{verb\}", f"(?P<verb>{words})"))


def base_urls(root: str) -> dict[str, str]:
    """The base URL of each provider at an emulator whose URL is `root`, with the path of the real one."""
    urls = {}
    for host in all_hosts():
        path = re.sub(r"\{(\w+)\}", r"\1", urlsplit(host.base_url).path).strip("/")
        urls[host.id] = f"{root.rstrip('/')}/{host.id}/{path}".rstrip("/")
    return urls
