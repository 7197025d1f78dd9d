"""Where a provider answers: the braces of a host's address filled from the environment.

A variable that holds a whole address (`AZURE_OPENAI_ENDPOINT`) comes before those that fill a gap in the usual one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote, urlsplit

from innervoice.canon.rows import Host
from innervoice.errors import UsageError
from innervoice.wire.dialects import dialect_named

__all__ = ["base_url_of", "with_quoted_model"]

_BRACES = re.compile(r"\{(\w+)\}")
_AUTHORITY = re.compile(r"(?:\w+://)?[^/]*")


def base_url_of(host: Host, environ: Mapping[str, str]) -> str:
    """The base URL of a host; what its row leaves open is asked of the environment."""
    if "{" not in host.base_url:
        return host.base_url
    for variable in host.server_variables:
        if server := environ.get(variable, "").strip():
            return _with_path(server, _AUTHORITY.sub("", host.base_url, count=1))
    missing: list[str] = []

    def fill(gap: re.Match[str]) -> str:
        names = host.url_variables.get(gap[1], ())
        value = next((environ[name].strip() for name in names if environ.get(name, "").strip()), "")
        if not value:
            missing.append(f"{gap[1]} ({' or '.join(names)})" if names else gap[1])
        return value

    url = _BRACES.sub(fill, host.base_url)
    if missing:
        whole = " or ".join(host.server_variables)
        instead = f", {whole} for the whole address," if whole else ""
        raise UsageError(
            f"where {host.id} answers is not known: {', '.join(dict.fromkeys(missing))} is missing; set the"
            f" variable{instead} or pass base_url"
        )
    for text, other in host.url_rewrites.items():
        url = url.replace(text, other)
    return url


def _with_path(server: str, path: str) -> str:
    server = server.rstrip("/")
    if "://" not in server:
        server = f"https://{server}"
    return server if urlsplit(server).path.rstrip("/").endswith(path) else server + path


def with_quoted_model(url: str, model: str, dialect: str) -> str:
    """A URL whose path has the model's name in it as one segment: names at Bedrock have colons and slashes."""
    if not dialect_named(dialect).quotes_model:
        return url
    return url.replace(f"/model/{model}/", f"/model/{quote(model, safe='-_.~')}/")
