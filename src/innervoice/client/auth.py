"""What lets a request in: a key in a header, or a signature.

A key comes from the arguments of the client, else from the environment, in the order in which the host's row names its
variables. Bedrock takes a bearer key, else static keys of AWS, else whatever botocore finds. Vertex takes a token from the
environment, else from google-auth. These two packages are extras and are loaded when nothing else is there.

The key of one provider never goes to another: `api_key` belongs to `provider`, or to the addresses that the caller gave.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from innervoice.canon.rows import Host
from innervoice.canon.target import Target
from innervoice.client.cloud_credentials import aws_chain, google_token
from innervoice.client.sigv4 import AwsKeys, signature_headers
from innervoice.errors import UsageError

__all__ = ["Key", "Keyring", "Outgoing", "Whom"]

Key: TypeAlias = str | Callable[[], str]
"""A key, or a function that gives one whenever it is needed."""

_HEADERS = {"anthropic": "x-api-key", "gemini": "x-goog-api-key", "azure": "api-key"}
_BEARER = "authorization"
# Variables of these hosts that hold a token, which goes where a bearer's does.
_TOKENS = frozenset({"ANTHROPIC_AUTH_TOKEN", "AZURE_OPENAI_AD_TOKEN"})
_MORE_VARIABLES = {
    "azure": ("AZURE_OPENAI_AD_TOKEN",),
    "vertex": ("VERTEX_ACCESS_TOKEN", "GOOGLE_ACCESS_TOKEN"),
}
_SERVICES = {"bedrock": "bedrock", "bedrock-mantle": "bedrock-mantle"}
_AWS_VARIABLES = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
_REGION = re.compile(r"^bedrock(?:-runtime|-mantle)?(?:-fips)?\.([a-z0-9-]+)\.")
_PRINTABLE = re.compile(r"[\x21-\x7e]+(?: [\x21-\x7e]+)*")


class Outgoing(NamedTuple):
    """A request as it leaves."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes

    def __repr__(self) -> str:
        # Headers hold keys, and named tuples print themselves.
        return f"Outgoing({self.method} {self.url})"


class Whom(NamedTuple):
    """The target of a request, and whose address it goes to."""

    target: Target
    ours: bool
    """Whether the address is the host's usual one, and not one that the caller gave."""

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
    """Finds what lets a request in."""

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

    def blocks(self, whom: Whom) -> bool:
        """Whether finding the key may ask the disk or the network."""
        if not whom.ours or whom.provider not in ("vertex", *_SERVICES):
            return False
        if self._passed(whom) is not None or self._told(whom) is not None:
            return False
        return whom.provider == "vertex" or self._aws_keys() is None

    def headers(self, whom: Whom, outgoing: Outgoing) -> dict[str, str]:
        """The headers that let this request in."""
        given = self._given(whom)
        if given:
            name, key = given
            return {name: f"Bearer {key}" if name == _BEARER else key}
        if whom.provider in _SERVICES:
            return self._signed(whom, outgoing)
        if whom.provider == "vertex" and whom.ours:
            return {_BEARER: f"Bearer {google_token()}"}
        if whom.ours and _needs_key(whom.host):
            raise UsageError(
                f"no key for {whom.provider}: set {_listed(_variables(whom))}, or pass"
                f" Client(keys={{{whom.provider!r}: ...}})"
            )
        return {}

    # ---- keys ----------------------------------------------------------------------------------

    def _given(self, whom: Whom) -> tuple[str, str] | None:
        """The header and the key that was passed or stands in the environment."""
        usual = _header_of(whom)
        key = self._passed(whom)
        if key is not None:
            return usual, _checked(key() if callable(key) else key, "the key that was passed")
        variable = self._told(whom)
        if variable is None:
            return None
        return (
            _BEARER if variable in _TOKENS else usual,
            _checked(self._environ[variable], variable),
        )

    def _passed(self, whom: Whom) -> Key | None:
        key = self._keys.get(whom.provider)
        if key is None and (whom.provider == self._provider or not whom.ours):
            return self._api_key
        return key

    def _told(self, whom: Whom) -> str | None:
        """The first variable of the environment that holds a key."""
        return next(
            (name for name in _variables(whom) if self._environ.get(name, "").strip()), None
        )

    def _aws_keys(self) -> AwsKeys | None:
        access, secret = (self._environ.get(name, "").strip() for name in _AWS_VARIABLES)
        session = self._environ.get("AWS_SESSION_TOKEN", "").strip()
        return AwsKeys(access, secret, session or None) if access and secret else None

    def _signed(self, whom: Whom, outgoing: Outgoing) -> dict[str, str]:
        keys = self._aws_keys()
        if keys is None and not whom.ours:
            return {}
        if keys is None:
            keys = aws_chain()
        if keys is None:
            raise UsageError(
                f"no key for {whom.provider}: set {_listed(_variables(whom))}, or {' and '.join(_AWS_VARIABLES)},"
                " or install innervoice[bedrock] for the profiles and roles of AWS"
            )
        return signature_headers(
            keys,
            method=outgoing.method,
            url=outgoing.url,
            headers={"content-type": outgoing.headers.get("content-type", "")},
            body=outgoing.body,
            region=self._region(outgoing.url),
            service=_SERVICES[whom.provider],
            now=time.time(),
        )

    def _region(self, url: str) -> str:
        named = _REGION.match(urlsplit(url).hostname or "")
        told = (self._environ.get(name, "") for name in ("AWS_REGION", "AWS_DEFAULT_REGION"))
        region = named[1] if named else next(filter(None, told), "")
        if not region:
            raise UsageError("a signature of AWS needs a region: set AWS_REGION")
        return region


def _header_of(whom: Whom) -> str:
    """The header that a host reads its key from; one that nobody knows reads what its dialect's own host does."""
    known = whom.host is not None and whom.host.id != "custom"
    return _HEADERS.get(whom.provider if known else whom.dialect, _BEARER)


def _variables(whom: Whom) -> tuple[str, ...]:
    return (*(whom.host.keys if whom.host else ()), *_MORE_VARIABLES.get(whom.provider, ()))


def _needs_key(host: Host | None) -> bool:
    """A server on one's own machine needs none, nor does one that names no variable for it."""
    return host is not None and bool(host.keys) and host.base_url.startswith("https:")


def _checked(key: Any, where: str) -> str:
    """A key that can be a header, and is not shown if it cannot."""
    text = key.strip() if isinstance(key, str) else ""
    if not _PRINTABLE.fullmatch(text):
        raise UsageError(f"{where} must be a key of printable ASCII characters")
    return text


def _listed(variables: tuple[str, ...]) -> str:
    return " or ".join(variables) or "its variable"
