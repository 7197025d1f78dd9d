"""The base URL of a provider, with the braces in its row filled from environment variables.

A variable with the URL of a whole server (`AZURE_OPENAI_ENDPOINT`) wins over variables that fill the braces.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote, urlsplit

from innervoice.canon.rows import Host
from innervoice.canon.target import Target
from innervoice.errors import UsageError
from innervoice.wire.dialects import dialect_named

__all__ = ["base_url_of", "with_quoted_model"]

_BRACES = re.compile(r"\{(\w+)\}")
_AUTHORITY = re.compile(r"(?:\w+://)?[^/]*")


def base_url_of(host: Host, environ: Mapping[str, str]) -> str:
    """The base URL of a host; raises a `UsageError` that names the missing variables."""
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
        instead = f", or {whole} for the whole address," if whole else ""
        raise UsageError(
            f"no base URL for {host.id}: {', '.join(dict.fromkeys(missing))} is missing; set the variable{instead}"
            " or pass base_url="
        )
    for text, other in host.url_rewrites.items():
        url = url.replace(text, other)
    return url


def _with_path(server: str, path: str) -> str:
    server = server.rstrip("/")
    if "://" not in server:
        server = f"https://{server}"
    return server if urlsplit(server).path.rstrip("/").endswith(path) else server + path


def with_quoted_model(url: str, target: Target) -> str:
    """The URL with the model's name quoted as one segment of its path: names on Bedrock contain colons and slashes."""
    if not dialect_named((target.host and target.host.envelope) or target.dialect).quotes_model:
        return url
    return url.replace(f"/model/{target.model}/", f"/model/{quote(target.model, safe='-_.~')}/")
