"""A path -> who is asked, in which dialect, for which model.

Every dialect is served at its real path, behind the name of a provider (`/deepseek/chat/completions`) or without
one, where the path itself says whose it is.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from innervoice.catalog.lookup import all_hosts, host_of

__all__ = ["Route", "base_urls", "route_of"]

# The end of a path, its dialect, and who answers there when no provider is named.
_PATHS = (
    (r"/v1/messages", "anthropic", "anthropic"),
    (r"/chat/completions", "openai-chat", "openai"),
    (r"/responses", "openai-responses", "openai"),
    (
        r"/models/(?P<model>[^/]+):(?P<verb>generateContent|streamGenerateContent)",
        "gemini",
        "gemini",
    ),
    (
        r"/models/(?P<model>[^/]+):(?P<verb>rawPredict|streamRawPredict)",
        "anthropic",
        "vertex",
    ),
    (r"/model/(?P<model>[^/]+)/(?P<verb>converse|converse-stream)", "bedrock-converse", "bedrock"),
    (r"/v2/chat", "cohere", "cohere"),
    (r"/api/chat", "ollama", "ollama"),
)
_ROUTES = [(re.compile(f".*{path}$"), dialect, owner) for path, dialect, owner in _PATHS]


class Route(NamedTuple):
    """Where a request goes."""

    provider: str
    dialect: str
    model: str | None = None
    """The model's name, where the path has it."""
    stream: bool | None = None
    """Whether it streams, where the path says so."""


def route_of(path: str) -> Route | None:
    """The route of a path, or None if nobody answers there."""
    path = urlsplit(path).path
    first = path.lstrip("/").split("/", 1)[0]
    host = host_of(first)
    for pattern, dialect, owner in _ROUTES:
        found = pattern.fullmatch(path)
        if not found:
            continue
        provider = host.id if host else owner
        kin = (
            host.dialect
            if host and dialect == "openai-chat" and host.dialect == "mistral"
            else dialect
        )
        named = found.groupdict()
        verb = named.get("verb")
        return Route(
            provider,
            kin,
            unquote(named["model"]) if named.get("model") else None,
            verb.startswith("stream") or verb.endswith("stream") if verb else None,
        )
    return None


def base_urls(root: str) -> dict[str, str]:
    """The base URL of each provider at an emulator that answers at `root`, with the path of the real one."""
    urls = {}
    for host in all_hosts():
        path = re.sub(r"\{(\w+)\}", r"\1", urlsplit(host.base_url).path).strip("/")
        urls[host.id] = f"{root.rstrip('/')}/{host.id}/{path}".rstrip("/")
    return urls
