"""A base URL -> what serves there: the program, its version, its models, the APIs that it has, and how to use it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.target import Target
from innervoice.catalog.lookup import card_of
from innervoice.catalog.servers import ServerRow, ServerSign, all_servers
from innervoice.catalog.targets import target_at
from innervoice.errors import UsageError
from innervoice.probe.exchanges import Raw
from innervoice.probe.recipes import Recipe
from innervoice.probe.run import ProbeResult
from innervoice.probe.session import NotMeasuredError, Session, StoppedError
from innervoice.wire.dialects import DIALECTS, dialect_named
from innervoice.wire.json_access import as_dict, as_list, as_text

__all__ = [
    "OwnServer",
    "accepts_plain",
    "advice_lines",
    "base_for",
    "find_server",
    "server_lines",
    "with_apis",
]

Get: TypeAlias = Callable[[str], Raw]
"""Requests a URL."""
_MOST_MODELS = 5
_PLAIN = Recipe(whole=True)


@dataclass(frozen=True)
class OwnServer:
    """A server that was found."""

    base_url: str
    row: ServerRow | None = None
    """The program; None if it is unknown."""
    version: str = ""
    models: tuple[str, ...] = ()
    apis: tuple[str, ...] = field(default=())
    """The dialects in which it answers."""

    @property
    def provider(self) -> str:
        """The provider whose row fits."""
        return self.row.host if self.row else "custom"

    @property
    def name(self) -> str:
        """The program and its version."""
        return f"{self.row.name} {self.version}".strip() if self.row else "an unknown server"

    def target(self, model: str | None, dialect: str | None) -> Target:
        """The model to measure: the one that was named, or the first that the server has."""
        if model is None and not self.models:
            raise UsageError(f"{self.base_url} does not list its models; pass --model NAME")
        return target_at(self.provider, model or self.models[0], dialect)


def find_server(base_url: str, get: Get) -> OwnServer:
    """What serves at a base URL; raises `UsageError` if nothing does."""
    root, replies = _root(base_url), dict[str, Raw]()
    base_url, replies["/v1/models"] = _listed(base_url.rstrip("/"), get)

    def reply(path: str) -> Raw:
        if path not in replies:
            replies[path] = get(root + path)
        return replies[path]

    first = reply("/v1/models")
    if not first.status and not reply("/health").status:
        raise UsageError(f"nothing answers at {base_url}: {first.problem}")
    row = next((row for row in all_servers() if any(_has(reply(sign.path), sign) for sign in row.signs)), None)  # fmt: skip
    version = ""
    if row and row.version:
        version = as_text(_member(_json(reply(row.version[0])), row.version[1])) or ""
    path, member = row.models if row else ("/v1/models", "data")
    models = _models(_json(reply(path)), member) or _models(_json(first), "data")
    return OwnServer(base_url, row, version[:40], models)


def _listed(base_url: str, get: Get) -> tuple[str, Raw]:
    """The base URL at which a server lists its models: the one that was passed, or the same with a version behind it."""
    raw = get(f"{base_url}/models")
    if raw.status in (0, 200) or _root(base_url) != base_url:
        return base_url, raw
    other = get(f"{base_url}/v1/models")
    return (f"{base_url}/v1", other) if other.status == 200 else (base_url, raw)


def base_for(server: OwnServer, dialect: str) -> str:
    """The base URL for a dialect: those whose paths have a version themselves, or none, begin at the root."""
    path = dialect_named(dialect).path
    return _root(server.base_url) if path.startswith(("/v1/", "/api/")) else server.base_url


def with_apis(server: OwnServer, accepts: Callable[[Target], bool], model: str) -> OwnServer:
    """The server with the dialects in which it answers a small request."""
    local = (name for name in DIALECTS if dialect_named(name).is_local)
    targets = [target_at(server.provider, model, dialect) for dialect in local]
    return replace(server, apis=tuple(target.dialect for target in targets if accepts(target)))


def accepts_plain(session: Session) -> bool:
    """Whether a server answers a small request."""
    try:
        return session.outcome(_PLAIN).is_accepted
    except (NotMeasuredError, StoppedError):
        return False


def _root(base_url: str) -> str:
    """The server's root: the base URL without the version at its end."""
    url = base_url.rstrip("/")
    last = urlsplit(url).path.rpartition("/")[2]
    return url.removesuffix(f"/{last}") if last[:1] == "v" and last[1:2].isdigit() else url


def _has(raw: Raw, sign: ServerSign) -> bool:
    if raw.status != 200:
        return False
    value = _json(raw)
    if sign.member is None:
        return sign.text is not None and sign.text == (value if isinstance(value, str) else "")
    found = _member(value, sign.member)
    return found is not None and sign.value in (None, found)


def _json(raw: Raw) -> Any:
    try:
        return load_json(raw.body) if raw.status == 200 else None
    except ValueError:
        return None


def _member(value: Any, path: str) -> Any:
    for step in path.split("."):
        if step.isdecimal():
            items = as_list(value)
            value = items[int(step)] if int(step) < len(items) else None
        else:
            value = as_dict(value).get(step)
    return value


def _models(value: Any, member: str) -> tuple[str, ...]:
    entries = map(as_dict, as_list(as_dict(value).get(member)))
    names = (as_text(entry.get("id")) or as_text(entry.get("model")) or as_text(entry.get("name")) for entry in entries)  # fmt: skip
    return tuple(name for name in names if name)


# ---- what people read --------------------------------------------------------------------------------


def server_lines(server: OwnServer, model: str) -> list[str]:
    """What was found."""
    more = len(server.models) - _MOST_MODELS
    names = ", ".join(server.models[:_MOST_MODELS]) + (f", and {more} more" if more > 0 else "")
    return [
        f"server    {server.name} at {server.base_url}",
        f"models    {names or 'not listed'}; measured: {model}",
        f"APIs      {', '.join(server.apis) or 'none that is known here'}",
    ]


def advice_lines(
    server: OwnServer, target: Target, results: Mapping[str, ProbeResult]
) -> list[str]:
    """How to use the server: what to start it with, and the lines for the gateway, for Python and for a catalog."""
    name = "local"
    lines = [f"reasoning {_reasoning(results)}"]
    start = server.row.start_for(target.model) if server.row else ""
    if _value(results, "inline") and start:
        lines.append(f"          to get it apart from the text, start the server with: {start}")
    lines += [
        "",
        "for the gateway:",
        f"  [upstreams.{name}]",
        f"  provider = {_quoted(server.provider)}",
        f"  base_url = {_quoted(server.base_url)}",
    ]
    if target.host is None or target.host.dialect != target.dialect:
        lines.append(f"  dialect = {_quoted(target.dialect)}")
    lines += [
        f"  # then the model is {_quoted(f'{name}/{target.model}')}",
        "",
        "for Python:",
        f'  iv.Client(provider={_quoted(server.provider)}, base_url={_quoted(server.base_url)}).ask({_quoted(target.model)}, "Why?")',
    ]  # fmt: skip
    if _value(results, "prefix") and not _knows_prefix(target):
        lines += ["", "for your catalog, since the template opens the tag:", *_markup(target, results)]  # fmt: skip
    return lines


def _value(results: Mapping[str, ProbeResult], name: str) -> Any:
    result = results.get(name)
    return result.measured.value if result and result.measured else None


def _reasoning(results: Mapping[str, ProbeResult]) -> str:
    places = _value(results, "place")
    if _value(results, "default") == "none" and not places:
        return "none: the model did not reason"
    if not places:
        return "none was seen"
    opened = ", and the template opens the tag" if _value(results, "prefix") else ""
    return f"stands in {', '.join(places)}{opened}"


def _knows_prefix(target: Target) -> bool:
    card = card_of(target.model)
    return card is not None and card.prefix_open


def _markup(target: Target, results: Mapping[str, ProbeResult]) -> list[str]:
    name = target.model.rpartition("/")[2].lower()
    tags = [place.partition(">")[0].lstrip("<") for place in _value(results, "place") or () if place.startswith("<")]  # fmt: skip
    return [
        "  [[markup]]",
        f"  family = {_quoted(name)}",
        f"  match = [{_quoted(name)}]",
        f"  tags = {dump_json(tags or ['think']).decode()}",
        "  prefix_open = true",
    ]


def _quoted(text: str) -> str:
    return dump_json(text).decode()
