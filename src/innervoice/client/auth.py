"""Authentication of a request: a key in a header, or a signature.

A key comes from the arguments of the client, else from the environment variables of the host's row, in their order. Without a
key, a host of AWS uses static AWS keys, else the credentials that botocore finds; a host of Google uses google-auth. These two packages
are extras, imported only when needed.

The key of one provider is never sent to another: `api_key` belongs to `provider`, or to the base URLs that the caller passed.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from innervoice.canon.rows import Host
from innervoice.canon.target import Target
from innervoice.catalog.lookup import all_hosts
from innervoice.client.cloud_credentials import aws_chain, google_token
from innervoice.client.sigv4 import AwsKeys, signature_headers
from innervoice.errors import UsageError

__all__ = ["Key", "Keyring", "Outgoing", "Whom", "key_headers"]

Key: TypeAlias = str | Callable[[], str]
"""A key, or a function that returns one for each request."""

_BEARER = "authorization"
# Servers without a row read the key from the header that the dialect's own host reads. A fact of the dialect.
_HEADERS_OF_DIALECTS = {"anthropic": "x-api-key", "gemini": "x-goog-api-key"}
_AWS_VARIABLES = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
_REGION = re.compile(r"^bedrock(?:-runtime|-mantle)?(?:-fips)?\.([a-z0-9-]+)\.")
_PRINTABLE = re.compile(r"[\x21-\x7e]+(?: [\x21-\x7e]+)*")


class Outgoing(NamedTuple):
    """A request that is ready to be sent."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes

    def __repr__(self) -> str:
        # Headers contain keys, and named tuples print all members.
        return f"Outgoing({self.method} {self.url})"


class Whom(NamedTuple):
    """The target of a request, and whose address it goes to."""

    target: Target
    ours: bool
    """Whether the base URL is the host's own, and not one that the caller passed."""

    @property
    def provider(self) -> str:
        """The provider's id."""
        return self.target.provider or ""

    @property
    def host(self) -> Host | None:
        """The provider's row."""
        return self.target.host

    @property
    def dialect(self) -> str:
        """The dialect that it is asked in."""
        return self.target.dialect


class Keyring:
    """Finds the credentials of a request."""

    def __init__(
        self,
        *,
        api_key: Key | None,
        provider: str | None,
        keys: Mapping[str, Key],
        environ: Mapping[str, str],
    ) -> None:
        self._api_key = api_key
        self._provider = provider
        self._keys = keys
        self._environ = environ

    def may_block(self, whom: Whom) -> bool:
        """Whether finding the key may read files or ask the network."""
        host = whom.host
        if host is None or not whom.ours or not (host.google_credentials or host.aws_service):
            return False
        if self._key_argument(whom) is not None or self._key_variable(whom) is not None:
            return False
        return host.google_credentials or self._aws_keys() is None

    def headers(self, whom: Whom, outgoing: Outgoing) -> dict[str, str]:
        """The headers that authenticate this request."""
        found = self._header_and_key(whom)
        if found:
            name, key = found
            return {name: f"Bearer {key}" if name == _BEARER else key}
        host = whom.host
        if host and host.aws_service:
            return self._signed(whom, host.aws_service, outgoing)
        if host and host.google_credentials and whom.ours:
            return {_BEARER: f"Bearer {google_token(host)}"}
        if host and whom.ours and _needs_key(host):
            raise UsageError(
                f"no key for {host.id}: set {' or '.join(host.keys)}, or pass"
                f" Client(keys={{{host.id!r}: ...}})"
            )
        return {}

    # ---- keys ----------------------------------------------------------------------------------

    def _header_and_key(self, whom: Whom) -> tuple[str, str] | None:
        """The header and the key of the client's arguments, else of the environment."""
        key = self._key_argument(whom)
        if key is not None:
            text = _checked(key() if callable(key) else key, "the key that was passed")
            return _header_of(whom), text
        variable = self._key_variable(whom)
        if variable is None or whom.host is None:
            return None
        header = _BEARER if variable in whom.host.tokens else _header_of(whom)
        return header, _checked(self._environ[variable], variable)

    def _key_argument(self, whom: Whom) -> Key | None:
        """The key that the client was constructed with for this provider."""
        key = self._keys.get(whom.provider)
        if key is None and (whom.provider == self._provider or not whom.ours):
            return self._api_key
        return key

    def _key_variable(self, whom: Whom) -> str | None:
        """The first environment variable that holds a key."""
        names = whom.host.keys if whom.host else ()
        return next((name for name in names if self._environ.get(name, "").strip()), None)

    def _aws_keys(self) -> AwsKeys | None:
        access, secret = (self._environ.get(name, "").strip() for name in _AWS_VARIABLES)
        session = self._environ.get("AWS_SESSION_TOKEN", "").strip()
        return AwsKeys(access, secret, session or None) if access and secret else None

    def _signed(self, whom: Whom, service: str, outgoing: Outgoing) -> dict[str, str]:
        keys = self._aws_keys()
        if keys is None and not whom.ours:
            return {}
        if keys is None:
            keys = aws_chain()
        if keys is None:
            variables = " or ".join(whom.host.keys if whom.host else ())
            raise UsageError(
                f"no key for {whom.provider}: set {variables}, or {' and '.join(_AWS_VARIABLES)},"
                " or install innervoice[bedrock] to use AWS profiles and roles"
            )
        return signature_headers(
            keys,
            method=outgoing.method,
            url=outgoing.url,
            headers={"content-type": outgoing.headers.get("content-type", "")},
            body=outgoing.body,
            region=self._region(outgoing.url),
            service=service,
            now=time.time(),
        )

    def _region(self, url: str) -> str:
        named = _REGION.match(urlsplit(url).hostname or "")
        variables = (self._environ.get(name, "") for name in ("AWS_REGION", "AWS_DEFAULT_REGION"))
        region = named[1] if named else next(filter(None, variables), "")
        if not region:
            raise UsageError("an AWS signature needs a region: set AWS_REGION")
        return region


def _header_of(whom: Whom) -> str:
    """The header that carries the key; without a row of the host it is that of its dialect's own host."""
    if whom.host is not None and whom.host.id != "custom":
        return whom.host.key_header
    return _HEADERS_OF_DIALECTS.get(whom.dialect, _BEARER)


@cache
def key_headers() -> frozenset[str]:
    """Every header that carries a key at some host."""
    return frozenset(host.key_header for host in all_hosts())


def _needs_key(host: Host) -> bool:
    """Whether a request without a key would be refused; a server on one's own machine, or without a key variable, needs none."""
    return bool(host.keys) and host.base_url.startswith("https:")


def _checked(key: Any, where: str) -> str:
    """The key, if it can be sent in a header; if not, the error does not show it."""
    text = key.strip() if isinstance(key, str) else ""
    if not _PRINTABLE.fullmatch(text):
        raise UsageError(f"{where} must be a key of printable ASCII characters")
    return text
