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
# host -> variables that hold the address of its server, and the path that follows it
_SERVERS: dict[str, tuple[tuple[str, ...], str]] = {
    "azure": (("AZURE_OPENAI_ENDPOINT",), "/openai/v1"),
    "databricks": (("DATABRICKS_HOST",), "/serving-endpoints"),
    "gpustack": (("GPUSTACK_BASE_URL", "GPUSTACK_SERVER_URL"), "/v1"),
    "watsonx": (("WATSONX_URL", "WATSONX_API_BASE"), "/ml/v1"),
}
_GAPS: dict[str, tuple[str, ...]] = {
    "location": ("GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_REGION", "VERTEX_LOCATION"),
    "project": ("GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT", "VERTEX_PROJECT"),
    "region": ("AWS_REGION", "AWS_DEFAULT_REGION"),
    "resource": ("AZURE_OPENAI_RESOURCE", "AZURE_RESOURCE_NAME"),
}
_GAPS_OF_HOSTS: dict[tuple[str, str], tuple[str, ...]] = {
    ("cloudflare", "account"): ("CLOUDFLARE_ACCOUNT_ID",),
    ("databricks", "workspace"): ("DATABRICKS_WORKSPACE",),
    ("snowflake", "account"): ("SNOWFLAKE_ACCOUNT", "SNOWFLAKE_ACCOUNT_IDENTIFIER"),
    ("watsonx", "region"): ("WATSONX_REGION",),
}


def base_url_of(host: Host, environ: Mapping[str, str]) -> str:
    """The base URL of a host; what its row leaves open is asked of the environment."""
    if "{" not in host.base_url:
        return host.base_url
    variables, path = _SERVERS.get(host.id, ((), ""))
    for variable in variables:
        if server := environ.get(variable, "").strip():
            return _with_path(server, path)
    missing: list[str] = []

    def fill(gap: re.Match[str]) -> str:
        names = _GAPS_OF_HOSTS.get((host.id, gap[1])) or _GAPS.get(gap[1], ())
        value = next((environ[name].strip() for name in names if environ.get(name, "").strip()), "")
        if not value:
            missing.append(f"{gap[1]} ({' or '.join(names)})" if names else gap[1])
        return value

    url = _BRACES.sub(fill, host.base_url)
    if missing:
        known = " or ".join(variables)
        other = f", {known} for the whole address," if known else ""
        raise UsageError(
            f"where {host.id} answers is not known: {', '.join(dict.fromkeys(missing))} is missing; set the"
            f" variable{other} or pass base_url"
        )
    # Google's global endpoint has no region in its name.
    return url.replace("://global-aiplatform.", "://aiplatform.")


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
