"""AWS Signature Version 4: a request and keys -> the headers that sign it.

After docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html (read 2026-11). Services other
than S3 encode the path a second time for the signature: a `:` that is sent as `%3A` is signed as `%253A`.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, urlsplit

__all__ = ["AwsKeys", "signature_headers"]

_ALGORITHM = "AWS4-HMAC-SHA256"
# A proxy may change these headers, so they are not signed.
_UNSIGNED = frozenset({"user-agent", "accept-encoding", "connection", "expect"})


class AwsKeys(NamedTuple):
    """AWS keys, static or of a session."""

    access: str
    secret: str
    session: str | None = None

    def __repr__(self) -> str:
        return "AwsKeys(<hidden>)"


def signature_headers(
    keys: AwsKeys,
    *,
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    region: str,
    service: str,
    now: float,
) -> dict[str, str]:
    """The headers to add; `headers` are signed too and must be sent unchanged."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    added = {"x-amz-date": stamp}
    if keys.session:
        added["x-amz-security-token"] = keys.session
    signed = {
        name.lower(): " ".join(value.split())
        for name, value in {"host": _host(url), **headers, **added}.items()
        if name.lower() not in _UNSIGNED
    }
    names = ";".join(sorted(signed))
    scope = f"{stamp[:8]}/{region}/{service}/aws4_request"
    canonical = _canonical(method, url, signed, names, body)
    text = "\n".join((_ALGORITHM, stamp, scope, _digest(canonical.encode())))
    signature = hmac.new(
        _signing_key(keys.secret, scope), text.encode(), hashlib.sha256
    ).hexdigest()
    added["authorization"] = (
        f"{_ALGORITHM} Credential={keys.access}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return added


def _canonical(method: str, url: str, signed: dict[str, str], names: str, body: bytes) -> str:
    parts = urlsplit(url)
    pairs = sorted(
        (quote(name, safe="-_.~"), quote(value, safe="-_.~"))
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
    )
    return "\n".join(
        (
            method,
            quote(parts.path or "/", safe="/-_.~"),
            "&".join(f"{name}={value}" for name, value in pairs),
            *(f"{name}:{signed[name]}" for name in sorted(signed)),
            "",
            names,
            _digest(body),
        )
    )


def _signing_key(secret: str, scope: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for word in scope.split("/"):
        key = hmac.new(key, word.encode(), hashlib.sha256).digest()
    return key


def _host(url: str) -> str:
    """The `host` header as HTTP clients send it: without the default port."""
    parts = urlsplit(url)
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    host = parts.hostname or ""
    return host if parts.port in (None, usual) else f"{host}:{parts.port}"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
