"""What a client was made with, and what a verb was called with -> one exchange.

Both clients take the same arguments and do with them what is here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, TypedDict, cast

from innervoice.canon.messages import Message, user
from innervoice.canon.request import Foreign, Mode, Request
from innervoice.canon.response import Response
from innervoice.catalog.lookup import host_of
from innervoice.catalog.targets import split_id, target_at
from innervoice.client.auth import Key, Keyring, Whom
from innervoice.client.base_urls import base_url_of
from innervoice.client.deadline import Deadline
from innervoice.client.exchange import Exchange
from innervoice.client.retry import Backoff
from innervoice.errors import UsageError
from innervoice.inline.vocabulary import INLINE
from innervoice.wire.dialects import DEFAULT

__all__ = [
    "BODY_LIMIT",
    "CALL_FIELDS",
    "LIMITS",
    "BaseUrls",
    "CallFields",
    "Messages",
    "RequestFields",
    "Settings",
]

BaseUrls: TypeAlias = Mapping[str, str] | Callable[[str], str | None]
"""Addresses by provider: a dict, or a function that gives one or None."""

Messages: TypeAlias = str | Message | Response | Iterable[str | Message | Response]
"""What is said: a text of the user, a message, an answer that came before, or a list of these."""

LIMITS = {"max_connections": 1000, "max_keepalive_connections": 100}
"""Connections of a client, as many as the official SDKs have."""

BODY_LIMIT = 1_000_000
"""How many bytes of a refusal are read."""

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"[\t\x20-\x7e]*")
_FIELDS = tuple(name for name in Request.__struct_fields__ if name not in ("model", "messages"))


class RequestFields(TypedDict, total=False):
    """The fields of a `Request` beside its model and messages."""

    system: str | None
    tools: Iterable[Any]
    tool_choice: Any
    reasoning: Any
    max_tokens: int | None
    temperature: float | None
    top_p: float | None
    stop: str | Iterable[str] | None
    response_format: Any
    stream: bool
    dialect: str | None
    mode: Mode
    foreign: Foreign
    store: bool
    scope: str | None
    base_url: str | None
    extra: dict[str, Any]


class CallFields(RequestFields, total=False):
    """What a call can be made with: the fields of its request, and what counts for it in place of the client's own."""

    timeout: float | None
    idle_timeout: float | None
    headers: Mapping[str, str]
    """Sent beside those of the client; of two with one name, this one."""


CALL_FIELDS = ("timeout", "idle_timeout", "headers")
"""Those that are no fields of a request."""


class Settings:
    """The arguments of a client, checked."""

    def __init__(
        self,
        *,
        api_key: Key | None,
        keys: Mapping[str, Key] | None,
        base_url: str | None,
        base_urls: BaseUrls | None,
        provider: str | None,
        headers: Mapping[str, str] | None,
        timeout: float | None,
        connect_timeout: float | None,
        idle_timeout: float | None,
        retries: int,
        scope: str | None,
        inline: str | None,
        environ: Mapping[str, str] | None,
    ) -> None:
        limits = {
            "timeout": timeout,
            "connect_timeout": connect_timeout,
            "idle_timeout": idle_timeout,
        }
        for name, seconds in limits.items():
            _check_seconds(name, seconds)
        if isinstance(retries, bool) or retries < 0:
            raise UsageError(f"retries must be a number, 0 or more, not {retries!r}")
        if inline not in INLINE:
            raise UsageError(f"inline must be one of 'on', 'off', 'all' or None, not {inline!r}")
        if api_key is not None and not (provider or base_url or base_urls):
            raise UsageError(
                "whose key it is must be known: pass provider= beside api_key=, or keys={provider: key}"
            )
        self.provider = _id_of(provider) if provider else None
        self.environ = os.environ if environ is None else environ
        self.headers = _checked(headers or {})
        self.keyring = Keyring(
            api_key=api_key,
            provider=self.provider,
            keys={_id_of(name): key for name, key in (keys or {}).items()},
            environ=self.environ,
        )
        self.backoff = Backoff(retries)
        self._timeout = timeout
        self._connect_timeout = connect_timeout
        self._idle_timeout = idle_timeout
        self._scope = scope
        self._inline = inline
        self._base_url = base_url
        listed = base_urls if isinstance(base_urls, Mapping) else {}
        self._listed = {_id_of(name): url for name, url in listed.items()}
        self._address_of = base_urls if callable(base_urls) else self._listed.get

    def exchange(
        self, model: str, messages: Messages, fields: CallFields, *, stream: bool
    ) -> Exchange:
        """One request to come, compiled; nothing is sent yet."""
        given = cast("dict[str, Any]", fields)
        own = {name: given[name] for name in CALL_FIELDS if name in given}
        if own:
            given = {name: value for name, value in given.items() if name not in own}
        for name in given:
            if name not in _FIELDS or (stream and name == "stream"):
                known = [name for name in _FIELDS if not (stream and name == "stream")]
                raise UsageError(
                    f"{name!r} is no field of a request; these are: {', '.join(known)}; "
                    f"nor of a call: {', '.join(CALL_FIELDS)}"
                )
        provider, name = self.names(model, given)
        host = host_of(provider)
        base_url, ours = self._place(provider, given.get("base_url"))
        request = Request(
            f"{provider}/{name}",
            _messages_of(messages),
            **{
                **given,
                "base_url": base_url,
                "scope": given.get("scope", self._scope),
                "stream": stream or bool(given.get("stream")),
                # What calls itself compatible is so with this, unless it is said otherwise.
                "dialect": given.get("dialect") or (None if host else DEFAULT),
            },
        )
        target = target_at(provider, name, request.dialect, request.scope)
        return Exchange(
            request,
            Whom(target, ours),
            keyring=self.keyring,
            headers=self._headers(own.get("headers")),
            backoff=self.backoff,
            deadline=self._deadline(own, stream=request.stream),
            inline=self._inline,
        )

    def _headers(self, own: Mapping[str, str] | None) -> Mapping[str, str]:
        """What one call sends beside its own of the dialect."""
        return {**self.headers, **_checked(own)} if own else self.headers

    def _deadline(self, own: Mapping[str, Any], *, stream: bool) -> Deadline:
        """How long one call waits."""
        total, idle = self._timeout, self._idle_timeout
        if own:
            total, idle = own.get("timeout", total), own.get("idle_timeout", idle)
            _check_seconds("timeout", total)
            _check_seconds("idle_timeout", idle)
        # An answer that is not streamed comes after a silence as long as the model thinks.
        return Deadline(total, self._connect_timeout, idle if stream else None)

    def names(self, model: str, given: Mapping[str, Any]) -> tuple[str, str]:
        """The provider and the name of the model there."""
        if not isinstance(model, str) or not model:
            raise UsageError(f"model must be 'provider/model', as 'openai/gpt-5.6'; not {model!r}")
        parsed = split_id(model)
        if self.provider:
            # One host: names are spelled as it spells them, its own name before them is superfluous.
            own = parsed is not None and parsed.provider == self.provider
            return self.provider, parsed.model if parsed and own else model
        if parsed and (parsed.is_known or parsed.provider in self._listed):
            return parsed.provider, parsed.model
        if self._base_url or given.get("base_url"):
            return "custom", model
        raise UsageError(
            f"who answers {model!r} is not known; write 'provider/model', as 'openai/gpt-5.6', or pass base_url="
        )

    def _place(self, provider: str, asked: str | None) -> tuple[str, bool]:
        """Where the provider answers, and whether that is its usual address."""
        try:
            listed = self._address_of(provider)
        except LookupError:
            listed = None
        url = asked or listed or self._base_url
        if url:
            return url, False
        host = host_of(provider)
        if host is None:
            raise UsageError(f"where {provider!r} answers is not known; pass base_url=")
        return base_url_of(host, self.environ), True


def _check_seconds(name: str, seconds: Any) -> None:
    number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool) and seconds > 0
    if seconds is not None and not number:
        raise UsageError(
            f"{name} must be a number of seconds or None for no limit, not {seconds!r}"
        )


def _checked(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers that can be sent; the value of one that cannot may be a key, and is not shown."""
    if not isinstance(headers, Mapping):
        raise UsageError(
            f"headers must be a dict of names and values, not {type(headers).__name__}"
        )
    for name, value in headers.items():
        if not (isinstance(name, str) and _TOKEN.fullmatch(name)):
            raise UsageError(f"{name!r} is no name of a header")
        if not (isinstance(value, str) and _VALUE.fullmatch(value)):
            raise UsageError(f"the header {name!r} must be text of printable ASCII characters")
    return {name.lower(): value.strip() for name, value in headers.items()}


def _id_of(provider: str) -> str:
    host = host_of(provider)
    return host.id if host else provider


def _messages_of(messages: Messages) -> tuple[Message, ...]:
    if isinstance(messages, (str, Message, Response)):
        return (_message_of(messages),)
    if not isinstance(messages, Iterable) or isinstance(messages, (bytes, Mapping)):
        raise UsageError(
            f"messages must be text, a Message, a Response or a list of these, not {type(messages).__name__}"
        )
    return tuple(_message_of(item) for item in messages)


def _message_of(item: Any) -> Message:
    match item:
        case str():
            return user(item)
        case Message():
            return item
        case Response():
            return item.message
        case _:
            raise UsageError(
                f"messages must be text, Message or Response values, not {type(item).__name__}"
            )
