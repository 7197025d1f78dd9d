"""The tables [upstreams.NAME] and [keys] of gateway.toml: what is wrong with them. Nothing here shows a secret."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from innervoice.canon.request import check_base_url
from innervoice.catalog.lookup import all_hosts, host_of
from innervoice.client.auth import key_headers
from innervoice.errors import UsageError
from innervoice.gateway.config.reading import (
    MemberKind,
    Problems,
    did_you_mean,
    shown,
    text,
    word,
)
from innervoice.gateway.config.secrets import is_reference, secret
from innervoice.privacy.secrets import CREDENTIALS, may_be_secret
from innervoice.wire.dialects import DIALECTS

__all__ = [
    "CALLERS_OWN",
    "OWNER_NAME",
    "SHORTEST_KEY",
    "check_keys",
    "check_secret",
    "check_upstream_names",
    "checked_upstream",
    "is_owner",
    "provider_ids",
]

OWNER_NAME = "a caller's name of letters, digits, '.', '_', '@' and '-'"
"""What `is_owner` accepts, in words."""
SHORTEST_KEY = 16
"""How many characters a caller's key needs where other machines can reach the gateway."""

CALLERS_OWN = "caller"
"""In place of keys: each caller is called for with its own."""
_UPSTREAM = {
    "keys": MemberKind(
        "a list of references, such as ['env:NAME'], or 'caller'",
        lambda value: value == CALLERS_OWN or (isinstance(value, list) and bool(value)),
    ),
    "base_url": text("a URL, such as 'https://host/v1'"),
    "provider": text("a provider's name"),
    "dialect": word(*DIALECTS),
    "headers": MemberKind("a table of headers", lambda value: isinstance(value, dict)),
}

_UPSTREAM_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_TENANT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")
_SECRET_NAME = re.compile(rf"key|auth|{CREDENTIALS}", re.IGNORECASE)
_BODY_HEADERS = ("host", "content-length", "transfer-encoding", "connection", "content-type")


def checked_upstream(
    name: str, value: Any, environ: Mapping[str, str], problems: Problems, *, emulated: bool
) -> dict[str, Any]:
    place = f"upstreams.{name}" if _UPSTREAM_NAME.fullmatch(name) else f"upstreams.{shown(name)}"
    if not _UPSTREAM_NAME.fullmatch(name):
        problems.add(place, "expected a name of letters, digits, '.', '_' and '-'")
    upstream = problems.members(value, place, _UPSTREAM)
    if not isinstance(value, dict):
        return upstream
    _check_provider(name, upstream.get("provider"), f"{place}.provider", problems)
    if "base_url" in upstream:
        if problem := _base_url_problem(upstream["base_url"]):
            problems.add(f"{place}.base_url", problem)
    elif host_of(name) is None and not {"base_url", "provider"} & set(value):
        problems.add(
            f"{place}.base_url",
            f"expected a URL, since {shown(name)} is not a provider{did_you_mean(name, provider_ids())}",
        )
    keys = upstream.get("keys", [])
    if keys == CALLERS_OWN:
        _check_own(name, upstream, place, problems)
        keys, upstream["keys"] = [], [CALLERS_OWN]
    for index, reference in enumerate(keys):
        at = f"{place}.keys[{index}]"
        if reference in keys[:index]:
            problems.add(at, "this reference is in the list twice")
        else:
            check_secret(reference, environ, at, problems, only_form=emulated)
    headers = upstream.get("headers", {})
    _check_headers(headers, environ, f"{place}.headers", problems, emulated=emulated)
    return upstream


def _check_own(name: str, upstream: Mapping[str, Any], place: str, problems: Problems) -> None:
    """Callers' own credentials are sent as they are, so requests that are signed cannot have them."""
    host = host_of(upstream.get("provider") or name)
    if host is not None and host.aws_service and "base_url" not in upstream:
        problems.add(
            f"{place}.keys",
            f"{name} needs a signature for each request, so a caller's key cannot be passed on; list keys",
        )


def _check_provider(name: str, provider: str | None, place: str, problems: Problems) -> None:
    """The catalog row that describes an upstream."""
    if provider is None:
        return
    if host_of(provider) is None:
        problems.add(
            place,
            f"expected a provider, got {shown(provider)}{did_you_mean(provider, provider_ids())}",
        )
    elif host_of(name) not in (None, host_of(provider)):
        problems.add(
            place,
            f"{name!r} is the name of a provider, so it cannot stand for {provider!r}; choose another name",
        )


def _base_url_problem(url: str) -> str | None:
    try:
        check_base_url(url)
        address = urlsplit(url)
        is_address = address.scheme in ("http", "https") and bool(address.hostname)
        _ = address.port  # raises if it is not a number
    except UsageError:
        return "expected a URL without a key or a password; put the key into `keys`"
    except ValueError:
        is_address = False
    if not is_address or re.search(r"[\s{}]", url):
        return f"expected a URL, such as 'https://host/v1', got {shown(url)}"
    return None


def check_secret(
    reference: Any,
    environ: Mapping[str, str],
    place: str,
    problems: Problems,
    *,
    only_form: bool = False,
    in_lines: bool = False,
) -> str | None:
    """The secret, if the reference is valid and leads to one; with `in_lines` it may have several lines."""
    if not isinstance(reference, str):
        problems.add(
            place, f"expected a reference, 'env:NAME' or 'file:PATH', got {shown(reference)}"
        )
        return None
    if only_form and is_reference(reference):
        return None
    try:
        value = secret(reference, environ)
    except UsageError as error:
        problems.add(place, str(error))
        return None
    if not all(map(_HEADER_VALUE.fullmatch, value.splitlines() if in_lines else [value])):
        problems.add(place, f"expected printable ASCII characters in {reference}, got others")
        return None
    return value


def _check_headers(
    headers: Mapping[str, Any],
    environ: Mapping[str, str],
    place: str,
    problems: Problems,
    *,
    emulated: bool,
) -> None:
    """Checks headers: values are texts; those whose names suggest a secret must be references."""
    for name, value in headers.items():
        at = f"{place}.{name if _HEADER_NAME.fullmatch(name) else shown(name)}"
        if not _HEADER_NAME.fullmatch(name):
            problems.add(at, "expected a valid header name")
        elif name.lower() in _BODY_HEADERS:
            problems.add(at, "the gateway sets this header itself; it cannot be configured")
        is_secret = name.lower() in key_headers() or _SECRET_NAME.search(name)
        if is_secret or (isinstance(value, str) and is_reference(value)):
            check_secret(value, environ, at, problems, only_form=emulated)
        elif not isinstance(value, str) or not _HEADER_VALUE.fullmatch(value):
            problems.add(at, "expected a text of printable ASCII characters, or a reference")


def check_upstream_names(upstreams: Mapping[str, Any], problems: Problems) -> None:
    """Checks that a provider has only one table, whichever of its names is used."""
    seen: dict[str, str] = {}
    for name in upstreams:
        host = host_of(name)
        if host is None:
            continue
        if host.id in seen:
            problems.add(
                f"upstreams.{name}", f"this provider already has a table: upstreams.{seen[host.id]}"
            )
        seen.setdefault(host.id, name)


def is_owner(name: str) -> bool:
    """Whether a name is valid for a caller."""
    return bool(_TENANT.fullmatch(name)) and not may_be_secret(name.replace("@", ""))


def check_keys(
    keys: Mapping[str, Any], environ: Mapping[str, str], problems: Problems, *, exposed: bool
) -> None:
    """Checks the callers' keys: each leads to a secret, and no two to the same."""
    owners: dict[str, str] = {}
    for tenant, reference in keys.items():
        is_name = is_owner(tenant)
        place = f"keys.{tenant if is_name else shown(tenant)}"
        if not is_name:
            problems.add(place, f"expected {OWNER_NAME}")
        key = check_secret(reference, environ, place, problems)
        if key is None:
            continue
        if exposed and len(key) < SHORTEST_KEY:
            problems.add(
                place,
                f"expected a key of {SHORTEST_KEY} characters or more, since other machines can reach the gateway",
            )
        if key in owners:
            problems.add(place, f"the key is the same as that of keys.{owners[key]}")
        owners.setdefault(key, tenant)


def provider_ids() -> list[str]:
    """The ids of all providers in the catalog."""
    return [host.id for host in all_hosts()]
