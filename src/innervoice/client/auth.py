"""Authentication of a request: a key in a header, or a signature.

A key comes from the arguments of the client, or else from the environment variables of the host's row, in their order. Without a
key, an AWS host uses static AWS keys, or else the credentials that botocore finds; a Google host uses google-auth. These two packages
are extras, imported only when needed. An IBM host gets a token for the key (below).

The key of one provider is never sent to another: `api_key` belongs to `provider`, or to the base URLs that the caller passed.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from hashlib import sha256
from importlib import import_module
from time import monotonic, sleep
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import parse_qsl, quote, urlsplit

from innervoice.canon.bounded import Bounded
from innervoice.canon.jsontext import load_json
from innervoice.canon.rows import Host
from innervoice.canon.target import Target
from innervoice.catalog.lookup import all_hosts
from innervoice.errors import (
    AuthenticationError,
    ConnectionFailedError,
    ProviderError,
    ServerError,
    UsageError,
)
from innervoice.installing import install_command
from innervoice.wire.dialects import dialect_named

__all__ = [
    "AwsKeys",
    "Destination",
    "Key",
    "Keyring",
    "Outgoing",
    "aws_chain",
    "exchanged",
    "google_token",
    "is_exchanged",
    "key_headers",
    "signature_headers",
]

Key: TypeAlias = str | Callable[[], str]
"""A key, or a function that returns one for each request."""

_BEARER = "authorization"
_AWS_VARIABLES = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
_REGION = re.compile(
    r"^(?:bedrock(?:-runtime|-mantle)?(?:-fips)?|aws-external-anthropic)\.([a-z0-9-]+)\."
)
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


class Destination(NamedTuple):
    """Where a request goes: the target, and whether its base URL is the provider's own."""

    target: Target
    is_default_url: bool
    """Whether the base URL is the one in the provider's row, and not one that the caller passed."""

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
        """The name of the dialect in which the request is written."""
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

    def may_block(self, destination: Destination) -> bool:
        """Whether looking up the key may read files or use the network."""
        host = destination.host
        if url := self._token_url(destination):
            if callable(self._key_argument(destination)):
                return True
            header_and_key = self._header_and_key(destination)
            return header_and_key is not None and not is_exchanged(url, header_and_key[1])
        if (
            host is None
            or not destination.is_default_url
            or not (host.google_credentials or host.aws_service)
        ):
            return False
        if (
            self._key_argument(destination) is not None
            or self._key_variable(destination) is not None
        ):
            return False
        return host.google_credentials or self._aws_keys() is None

    def fixed_headers(self, destination: Destination) -> dict[str, str] | None:
        """The headers that authenticate every request to a place; None if they differ: they are signed, exchanged, or asked for anew."""
        host = destination.host
        if host is not None and (host.token_url or host.header_variables):
            return None
        key = self._key_argument(destination)
        if key is None or callable(key):
            return None
        return self.headers(destination, Outgoing("POST", "", {}, b""))

    def headers(self, destination: Destination, outgoing: Outgoing) -> dict[str, str]:
        """The headers that authenticate this request, and those that name the account."""
        header_and_key, host = self._header_and_key(destination), destination.target.host
        if header_and_key:
            name, key = header_and_key
            if host and host.token_url and (url := self._token_url(destination)):
                key = exchanged(url, key, destination.provider)
            headers = {name: f"Bearer {key}" if name == _BEARER else key}
        else:
            headers = self._keyless_headers(destination, outgoing)
        return (
            {**self._variable_headers(host.header_variables), **headers}
            if host and host.header_variables
            else headers
        )

    def _variable_headers(self, variables: Mapping[str, Iterable[str]]) -> dict[str, str]:
        """The headers that environment variables fill."""
        values = {name: self._first_of(names) for name, names in variables.items()}
        return {name: _checked(value, name) for name, value in values.items() if value}

    def _keyless_headers(self, destination: Destination, outgoing: Outgoing) -> dict[str, str]:
        """The authentication of a request without a key: a signature, a Google token, or none."""
        host = destination.host
        if host and host.aws_service:
            return self._signed(destination, host.aws_service, outgoing)
        if host and host.google_credentials and destination.is_default_url:
            return {_BEARER: f"Bearer {google_token(host)}"}
        if host and destination.is_default_url and _needs_key(host):
            raise UsageError(
                f"no key for {host.id}: set {' or '.join(host.keys)}, or pass"
                f" Client(keys={{{host.id!r}: ...}})"
            )
        return {}

    # ---- keys ----------------------------------------------------------------------------------

    def _header_and_key(self, destination: Destination) -> tuple[str, str] | None:
        """The header and the key from the client's arguments, or else from the environment."""
        key = self._key_argument(destination)
        if key is not None:
            text = _checked(key() if callable(key) else key, "the key that was passed")
            return _header_of(destination), text
        variable = self._key_variable(destination)
        if variable is None or destination.host is None:
            return None
        header = _BEARER if variable in destination.host.tokens else _header_of(destination)
        return header, _checked(self._environ[variable], variable)

    def _key_argument(self, destination: Destination) -> Key | None:
        """The key that the client was constructed with for this provider."""
        key = self._keys.get(destination.provider)
        if key is None and (
            destination.provider == self._provider or not destination.is_default_url
        ):
            return self._api_key
        return key

    def _token_url(self, destination: Destination) -> str | None:
        """The URL where the key is exchanged for a token; None if it is sent as it is."""
        host = destination.host
        if host is None or host.token_url is None:
            return None
        if self._key_argument(destination) is None:
            variable = self._key_variable(destination)
            if variable is None or variable in host.tokens:
                return None
        address = self._first_of(host.token_variables)
        return address or (host.token_url if destination.is_default_url else None)

    def _first_of(self, variables: Iterable[str]) -> str | None:
        values = (self._environ.get(name, "").strip() for name in variables)
        return next(filter(None, values), None)

    def members(self, destination: Destination) -> dict[str, str]:
        """The members of the body that the environment fills, such as IBM's project."""
        host = destination.host
        variables = host.member_variables if host else {}
        values = ((name, self._first_of(names)) for name, names in variables.items())
        return next(({name: value} for name, value in values if value), {})

    def _key_variable(self, destination: Destination) -> str | None:
        """The first environment variable that holds a key."""
        names = destination.host.keys if destination.host else ()
        return next((name for name in names if self._environ.get(name, "").strip()), None)

    def _aws_keys(self) -> AwsKeys | None:
        access, secret = (self._environ.get(name, "").strip() for name in _AWS_VARIABLES)
        session = self._environ.get("AWS_SESSION_TOKEN", "").strip()
        return AwsKeys(access, secret, session or None) if access and secret else None

    def _signed(self, destination: Destination, service: str, outgoing: Outgoing) -> dict[str, str]:
        keys = self._aws_keys()
        if keys is None and not destination.is_default_url:
            return {}
        if keys is None:
            keys = aws_chain()
        if keys is None:
            variables = " or ".join(destination.host.keys if destination.host else ())
            raise UsageError(
                f"no key for {destination.provider}: set {variables}, or {' and '.join(_AWS_VARIABLES)},"
                f" or, to use AWS profiles and roles, {install_command('bedrock')}"
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
        match = _REGION.match(urlsplit(url).hostname or "")
        variables = (self._environ.get(name, "") for name in ("AWS_REGION", "AWS_DEFAULT_REGION"))
        region = match[1] if match else next(filter(None, variables), "")
        if not region:
            raise UsageError("an AWS signature needs a region: set AWS_REGION")
        return region


def _header_of(destination: Destination) -> str:
    """The header that carries the key; for a host without a row, the header of its dialect."""
    host = destination.target.host
    if host is not None and host.id != "custom":
        return host.key_header
    return dialect_named(destination.dialect).key_header or _BEARER


@cache
def key_headers() -> frozenset[str]:
    """Every header that carries a key at some host."""
    return frozenset(host.key_header for host in all_hosts())


def _needs_key(host: Host) -> bool:
    """Whether a request without a key would be refused; a local server, or one without a key variable, needs none."""
    return bool(host.keys) and host.base_url.startswith("https:")


def _checked(key: Any, where: str) -> str:
    """The key, if it can be sent in a header; otherwise raises an error that does not show it."""
    text = key.strip() if isinstance(key, str) else ""
    if not _PRINTABLE.fullmatch(text):
        raise UsageError(f"{where} must be a key of printable ASCII characters")
    return text


# ---- Credentials from other packages: botocore for AWS, google-auth for Google.
#
# Both may read files and call a metadata server, so they block; both cache credentials until they expire.


_SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)


def aws_chain() -> AwsKeys | None:
    """The keys that botocore finds; None if botocore is not installed or finds none."""
    session = _aws_session()
    credentials = session.get_credentials() if session else None
    if not credentials:
        return None
    keys = credentials.get_frozen_credentials()
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
            f"no key for {host.id}: set {' or '.join(host.keys)}, or, for Google's default credentials, {install_command('vertex')}"
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


# ---- API keys that are exchanged for tokens: IBM Cloud issues a token for an hour in exchange for a key.
#
# A token is kept in memory until shortly before it expires, for all clients of the process, under a digest of its key. Neither the
# key nor the token is in an error or a log. https://cloud.ibm.com/docs/iam?topic=iam-iamtoken_from_apikey, read 2026-11-16.


_GRANT = "urn:ibm:params:oauth:grant-type:apikey"
_TIMEOUT = 30.0
_TRIES = 3
_PAUSE = 0.2
_EARLY = 0.1
"""The last part of a token's life, in which a new one is requested."""
_MOST_TOKENS = 1000
_MOST_TEXT = 500


class _Token(NamedTuple):
    text: str
    renewed_at: float
    ends_at: float

    def __repr__(self) -> str:
        return "_Token()"


_tokens: Bounded[tuple[str, bytes], _Token] = Bounded(_MOST_TOKENS)
_lock = threading.Lock()


def is_exchanged(url: str, key: str) -> bool:
    """Whether a token for this key is cached, so that `exchanged` does not use the network."""
    token = _tokens.get(_name(url, key))
    return token is not None and monotonic() < token.renewed_at


def exchanged(url: str, key: str, provider: str) -> str:
    """A token for a key, from memory or from the server at `url`."""
    name = _name(url, key)
    with _lock:  # of several requests one asks, and the others get its token
        token_before, now = _tokens.get(name), monotonic()
        if token_before and now < token_before.renewed_at:
            return token_before.text
        try:
            token = _requested_token(url, key, provider)
        except (ConnectionFailedError, ServerError):
            if token_before and now < token_before.ends_at:
                return token_before.text  # still valid; the next request asks again
            raise
        _tokens[name] = token
        return token.text


def _name(url: str, key: str) -> tuple[str, bytes]:
    return url, sha256(key.encode()).digest()


def _requested_token(url: str, key: str, provider: str) -> _Token:
    """Calls the server, with retries after a temporary failure."""
    http = import_module("httpx2")
    for tries in reversed(range(_TRIES)):
        begun = monotonic()
        try:
            answer = http.post(
                url,
                data={"grant_type": _GRANT, "apikey": key},
                headers={"accept": "application/json"},
                timeout=_TIMEOUT,
            )
        except http.HTTPError as error:
            problem: ConnectionFailedError | ProviderError = ConnectionFailedError(
                f"no token for {provider} from {url}: {type(error).__name__}"
            )
        else:
            if answer.status_code == 200:
                return _token(answer.content, url, provider, begun)
            problem = _refusal(answer, key, provider)
            if not isinstance(problem, ServerError):
                break
        if tries:
            sleep(_PAUSE)
    problem.provider = provider
    raise problem


def _token(content: bytes, url: str, provider: str, begun: float) -> _Token:
    value = _json(content)
    text, seconds = value.get("access_token"), value.get("expires_in")
    if not isinstance(text, str) or not text.isascii() or not text.isprintable() or not text:
        problem = AuthenticationError(
            None, None, f"no token for {provider}: the response of {url} has no access_token"
        )
        problem.provider = provider
        raise problem
    life = 0.0  # of unknown life: for one request
    if isinstance(seconds, (int, float)) and not isinstance(seconds, bool):
        life = max(float(seconds), 0.0)
    return _Token(text, begun + life * (1 - _EARLY), begun + life)


def _refusal(answer: Any, key: str, provider: str) -> ProviderError:
    value = _json(answer.content)
    code = value.get("errorCode")
    text = value.get("errorMessage") or f"status {answer.status_code}"
    # The server might repeat the data that it was sent.
    text = str(text)[:_MOST_TEXT].replace(key, "***")
    passing = answer.status_code == 429 or answer.status_code >= 500
    kind = ServerError if passing else AuthenticationError
    code = str(code)[:_MOST_TEXT].replace(key, "***") if code else None
    error = kind(None, code, f"no token for {provider}: {text}")
    error.status = answer.status_code
    return error


def _json(content: bytes) -> dict[str, Any]:
    try:
        value = load_json(content)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


# ---- AWS Signature Version 4: a request and keys -> the headers that sign it.
#
# After docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html (read 2026-11). Services other
# than S3 encode the path a second time for the signature: a `:` that is sent as `%3A` is signed as `%253A`.


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
