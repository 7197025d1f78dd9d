"""Credentials from other packages: botocore for AWS, google-auth for Google.

Both may read files and call a metadata server, so they block; both cache credentials until they expire.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Any

from innervoice.canon.rows import Host
from innervoice.client.sigv4 import AwsKeys
from innervoice.errors import UsageError

__all__ = ["aws_chain", "google_token"]

_SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)


def aws_chain() -> AwsKeys | None:
    """The keys that botocore finds; None if botocore is not installed or finds none."""
    session = _aws_session()
    found = session.get_credentials() if session else None
    if not found:
        return None
    keys = found.get_frozen_credentials()
    return AwsKeys(keys.access_key, keys.secret_key, keys.token)


@lru_cache(maxsize=1)
def _aws_session() -> Any:
    try:
        return import_module("botocore.session").get_session()
    except ImportError:
        return None


def google_token(host: Host) -> str:
    """A fresh token of Google's default credentials, for a host that accepts them."""
    try:
        errors = import_module("google.auth.exceptions")
    except ImportError:
        raise UsageError(
            f"no key for {host.id}: set {' or '.join(host.keys)}, or install innervoice[vertex] for Google's default credentials"
        ) from None
    try:
        credentials = _google_credentials()
        if not credentials.valid:
            credentials.refresh(_fetch)
    except errors.GoogleAuthError as error:
        raise UsageError(f"no key for {host.id}: {error}") from None
    return str(credentials.token)


@lru_cache(maxsize=1)
def _google_credentials() -> Any:
    credentials, _ = import_module("google.auth").default(scopes=_SCOPES)
    return credentials


class _Fetched:
    """A response with the members that google-auth reads."""

    def __init__(self, status: int, headers: Any, data: bytes) -> None:
        self.status = status
        self.headers = headers
        self.data = data


def _fetch(
    url: str,
    method: str = "GET",
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
    timeout: float | None = 120.0,
    **_: Any,
) -> _Fetched:
    """The transport of google-auth: httpx2, because requests may not be installed."""
    http = import_module("httpx2")
    try:
        answer = http.request(method, url, content=body, headers=headers, timeout=timeout)
    except http.HTTPError as error:
        raise import_module("google.auth.exceptions").TransportError(str(error)) from None
    return _Fetched(answer.status_code, answer.headers, answer.content)
