"""Where the gateway can send requests: an upstream has a base URL and accounts, and yields candidates for a model; and one exchange with it.

Keys are read here, from the references of the config, straight into keyrings. An account's name is its reference, such as `env:OPENAI_KEY_A`.

Sealed reasoning is bound to an account. So a candidate's target has a scope where its provider is reached in more than one way: the account,
if the upstream has several, and the upstream's name, if it is not the provider's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from secrets import token_urlsafe
from types import MappingProxyType
from typing import Any, Self

from innervoice.canon.request import Request, Wire
from innervoice.canon.response import Response
from innervoice.canon.rows import Host
from innervoice.canon.target import Target
from innervoice.canon.usage import Usage
from innervoice.catalog.lookup import host_of
from innervoice.catalog.targets import target_at
from innervoice.client.auth import Destination, Keyring, Outgoing, key_headers
from innervoice.client.base_urls import base_url_of
from innervoice.client.exchange import Exchange
from innervoice.client.steered import SteeredExchange
from innervoice.conversation.turns import seals_in
from innervoice.errors import UsageError
from innervoice.gateway.config import UpstreamSettings, secret, text_or_secret
from innervoice.gateway.estimates import unfinished_usage
from innervoice.gateway.gateway_members import with_members
from innervoice.gateway.limits import LIMITS
from innervoice.steering.asking import AskedAgain
from innervoice.wire.dialects import DEFAULT

__all__ = [
    "Account",
    "Candidate",
    "GatewayExchange",
    "NotConfiguredError",
    "SteeredGatewayExchange",
    "Upstream",
]

Emulator = Callable[[str], str | None]

_AWS_VARIABLES = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
_OWN_SERVER = "custom"
"""The emulator's name for servers without a row."""


class NotConfiguredError(UsageError):
    """A model is known, but has no key or no base URL; `problems` says what is missing for each candidate."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        self.problems = problems
        super().__init__("; ".join(problems))

    def __reduce__(self) -> tuple[type, tuple[tuple[str, ...]]]:
        return type(self), (self.problems,)


@dataclass(frozen=True)
class Account:
    """An account at an upstream."""

    name: str
    """The reference of its key, such as `env:OPENAI_KEY_A`; never the key."""
    keyring: Keyring = field(repr=False)

    def with_keyring(self, keyring: CallersKeyring) -> Account:
        """The account of a caller."""
        return Account(f"{self.name}:{keyring.owner}", keyring)


class CallersKeyring(Keyring):
    """A keyring that holds a caller's own credential."""

    owner: str


@dataclass(frozen=True, eq=False)
class Candidate:
    """A model at an upstream, called with an account."""

    target: Target
    base_url: str
    is_default_url: bool
    account: Account
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    takes_callers_key: bool = False
    """Whether it is called with the caller's own credential."""

    @cached_property
    def destination(self) -> Destination:
        """What the keyring needs to know."""
        return Destination(self.target, self.is_default_url)

    @cached_property
    def fixed_headers(self) -> Mapping[str, str]:
        """The headers that every request to it has: those of the configuration, and a key that does not change."""
        if not key_headers().isdisjoint(self.headers):
            return self.headers
        return {**(self.account.keyring.fixed_headers(self.destination) or {}), **self.headers}

    @cached_property
    def name(self) -> str:
        """`provider/model`, as a `Request` accepts it."""
        return f"{self.target.provider}/{self.target.model}"

    @cached_property
    def key(self) -> tuple[str, str, str, str]:
        """What identifies the candidate, also after a reload of the config: the base URL and the account, then the model and the dialect."""
        return self.base_url, self.account.name, self.name, self.target.dialect

    @cached_property
    def id(self) -> bytes:
        """The key as bytes."""
        return repr(self.key).encode()


@dataclass(frozen=True)
class Upstream:
    """A base URL and its accounts."""

    name: str
    host: Host | None
    environ: Mapping[str, str] = field(repr=False)
    base_url: str | None = None
    dialect: str | None = None
    accounts: tuple[Account, ...] = ()
    """The accounts of the config; empty: the environment has the key."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    is_emulated: bool = False
    takes_callers_keys: bool = False
    """Whether callers bring their own credentials."""

    @classmethod
    def of_settings(
        cls,
        name: str,
        settings: UpstreamSettings,
        environ: Mapping[str, str],
        emulator: Emulator | None,
    ) -> Self:
        """The upstream of a table [upstreams.NAME]."""
        host = host_of(settings.provider or name)
        provider = host.id if host else name
        url = _emulated(emulator, host.id if host else _OWN_SERVER)
        accounts = tuple(
            Account(
                reference,
                _keyring(provider, "emulated" if url else secret(reference, environ)),
            )
            for reference in settings.keys
            if not settings.takes_callers_keys
        )
        return cls(
            name,
            host,
            environ,
            base_url=url or settings.base_url,
            dialect=settings.dialect,
            accounts=accounts,
            headers={}
            if url
            else {
                header.lower(): text_or_secret(value, environ)
                for header, value in settings.headers.items()
            },
            is_emulated=url is not None,
            takes_callers_keys=settings.takes_callers_keys,
        )

    @classmethod
    def of_row(cls, host: Host, environ: Mapping[str, str], emulator: Emulator | None) -> Self:
        """The upstream of a provider that the config does not mention."""
        url = _emulated(emulator, host.id)
        return cls(host.id, host, environ, base_url=url, is_emulated=url is not None)

    @property
    def provider(self) -> str:
        """The provider's id; for the user's own server its name."""
        return self.host.id if self.host else self.name

    @property
    def has_key(self) -> bool:
        """Whether a key is set; credentials that would have to be looked up do not count."""
        if self.accounts or self.is_emulated or self.takes_callers_keys:
            return True
        if self.base_url is not None or self.host is None:
            return False
        places = (self.host, *map(self.host.in_dialect, self.host.places))
        return any(map(self._variable, places))

    @property
    def is_own_machine(self) -> bool:
        """Whether it is a server on this machine, such as Ollama, by the provider's row."""
        return self.base_url is None and bool(self.host and self.host.base_url.startswith("http:"))

    def candidates(self, model: str) -> tuple[Candidate, ...]:
        """A candidate for each account; raises a `NotConfiguredError` if a key or the base URL is missing."""
        dialect = self.dialect or (None if self.host else DEFAULT)
        target = target_at(self.provider, model, dialect)
        base_url, is_default_url = self._place(target)
        accounts = self.accounts or (self._account(target, base_url),)
        return tuple(
            Candidate(
                target.replace(scope=self._scope(account)),
                base_url,
                is_default_url,
                account,
                self.headers,
                self.takes_callers_keys,
            )
            for account in accounts
        )

    def _place(self, target: Target) -> tuple[str, bool]:
        if self.base_url:
            return self.base_url, False
        assert target.host is not None  # the config requires an address elsewhere
        try:
            return base_url_of(target.host, self.environ), True
        except UsageError as error:
            text = str(error).replace(
                "pass base_url=", f"write base_url in [upstreams.{self.name}]"
            )
            raise NotConfiguredError((text,)) from None

    def _scope(self, account: Account) -> str | None:
        words = [] if self.name == self.provider else [self.name]
        if len(self.accounts) > 1:
            words.append(account.name)
        return " ".join(words) or None

    # ---- the account of the environment ------------------------------------------------------------

    def _account(self, target: Target, base_url: str) -> Account:
        """The account for which the config lists no key."""
        if self.takes_callers_keys:
            return Account("caller", _keyring(self.provider, None))
        if self.is_emulated:
            return Account("emulated", _keyring(self.provider, "emulated"))
        if self.base_url or self.host is None:
            return Account("none", _keyring(self.provider, None))
        keyring = Keyring(api_key=None, provider=None, keys={}, environ=self.environ)
        destination = Destination(target, is_default_url=True)
        variable = self._variable(target.host)
        if keyring.may_block(destination):
            name = "AWS" if self.host.aws_service else "Google"
            return Account(f"env:{variable}" if variable else f"{name} credentials", keyring)
        try:
            keyring.headers(destination, Outgoing("POST", base_url, {}, b""))
        except UsageError as error:
            raise NotConfiguredError((self._missing(error, variable, target.host),)) from None
        return Account(f"env:{variable}" if variable else "none", keyring)

    def _variable(self, host: Host | None) -> str | None:
        """The environment variable that has the key."""
        assert host is not None
        variable = next((name for name in host.keys if self._is_set(name)), None)
        if variable is None and host.aws_service and all(map(self._is_set, _AWS_VARIABLES)):
            return _AWS_VARIABLES[0]
        return variable

    def _is_set(self, variable: str) -> bool:
        return bool(self.environ.get(variable, "").strip())

    def _missing(self, error: UsageError, variable: str | None, host: Host | None) -> str:
        if variable or host is None:
            return f"{self.name}: {error}"
        return f"no key for {self.name}: set {' or '.join(host.keys)}, or list one in [upstreams.{self.name}] keys"


def _keyring(provider: str, key: str | None) -> Keyring:
    """A keyring with one key, or none, that reads nothing from the environment."""
    keys = {} if key is None else {provider: key}
    return Keyring(api_key=None, provider=None, keys=keys, environ={})


def _emulated(emulator: Emulator | None, provider: str) -> str | None:
    try:
        return emulator(provider) if emulator else None
    except LookupError:
        return None


def _new_call_id() -> str:
    """The id of a call of a model that gives none."""
    return f"call_{token_urlsafe(16)}"


class GatewayExchange(Exchange):
    """An exchange whose bytes can be forwarded. On the byte path they are read in batches: no one waits for the events."""

    tap: bytearray | None = None
    """Bytes that were received and not yet forwarded; None where bytes are not forwarded."""
    added: Mapping[str, Any] = MappingProxyType({})
    """What the gateway added to the body."""
    on_bytes: Callable[[bytes], None] | None = None
    """Called with the bytes of the answer as they arrive."""
    on_refused: Callable[[frozenset[str]], None] | None = None
    """Called with the seals that are left out after a refusal."""
    is_reduced = False
    """Whether the request was sent again with less, after a refusal."""
    batch = LIMITS.batch_bytes
    """How much of an answer is read at once, in bytes."""
    is_spliced = False
    """Whether several requests were answered, one after the other."""
    is_continued = False
    """Whether one of them goes on with the text of another."""
    _unread_bytes = 0
    _read_from = 0.0
    """When the first of the bytes came that are being read."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._unread: list[bytes] = []

    def rewritten(self, request: Request) -> Wire:
        """The request as it is sent after a refusal, with the members that were added before."""
        self.is_reduced = True
        if self.on_refused:
            self.on_refused(seals_in(self._request.messages) - seals_in(request.messages))
        return with_members(super().rewritten(request), self.added)

    def started(self, status: int, headers: Any) -> bool:
        """Handles the head of an answer; nothing of an earlier one was sent to the client."""
        if self.tap is not None:
            self.tap.clear()
        self._unread, self._unread_bytes = [], 0
        self.events.clear()
        goes_on = super().started(status, headers)
        # Clients keep calls of several turns apart by their ids, so a number for each answer is not enough.
        if self._decoder is not None:
            self._decoder.new_call_id = _new_call_id
        return goes_on

    def feed(self, chunk: bytes) -> bool:
        """Handles bytes of the answer; returns whether to continue reading."""
        if self.on_bytes is not None:
            self.on_bytes(chunk)
        if self.tap is None:
            return super().feed(chunk)
        self.tap += chunk
        now, goes_on = self.deadline.clock(), True
        if self._unread_bytes and now - self._read_from > LIMITS.together_seconds:
            # What comes later is read later, so that it is known when the answer began.
            goes_on = self._read()
        if not self._unread_bytes:
            self._read_from = now
        self._unread.append(chunk)
        self._unread_bytes += len(chunk)
        if self.has_output and self._unread_bytes < self.batch:
            return goes_on
        return self._read() and goes_on

    def end(self, error: Exception | None = None) -> float | None:
        """Handles the end of an answer."""
        self.read_received()
        return super().end(error)

    def read_received(self) -> None:
        """Reads what has been received, before a batch is full: the client has left, or the answer has to end."""
        if self._unread_bytes:
            self._read()

    def _read(self) -> bool:
        unread, self._unread, self._unread_bytes = self._unread, [], 0
        return super().feed(b"".join(unread))

    @property
    def _received_at(self) -> float:
        """When the bytes that were read last came."""
        return super()._received_at if self.tap is None else self._read_from


class SteeredGatewayExchange(SteeredExchange, GatewayExchange):
    """An exchange that is watched, or goes on after a break; its bytes are never forwarded."""

    def __init__(
        self,
        *arguments: Any,
        request_tokens: Callable[[], int],
        on_continued: Callable[[], None],
        **options: Any,
    ) -> None:
        """`request_tokens` estimates the tokens of the request. `on_continued` is called if a text is continued."""
        super().__init__(*arguments, **options)
        self._request_tokens, self._on_continued = request_tokens, on_continued

    def _go_on(self) -> bool:
        goes_on = super()._go_on()
        if goes_on:
            self._on_continued()
        return goes_on

    def used_by(self, response: Response) -> Usage:
        """The tokens of an answer that was left: estimates, since most providers count at the end."""
        return unfinished_usage(response, self._request_tokens())

    def written_again(self, asked: AskedAgain) -> Wire:
        """The request for the rest, with the members that were added before."""
        return with_members(super().written_again(asked), self.added)
