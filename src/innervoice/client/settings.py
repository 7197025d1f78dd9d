"""The arguments of a client and of a call -> one `Exchange`.

Shared by both clients.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from innervoice.canon.answer_type import AnswerType
from innervoice.canon.messages import Message, user
from innervoice.canon.request import Request, check_base_url
from innervoice.canon.response import Response
from innervoice.catalog.lookup import dialect_at, host_of
from innervoice.catalog.targets import split_id, target_at
from innervoice.client.auth import Destination, Keyring
from innervoice.client.base_urls import base_url_of
from innervoice.client.deadline import Deadline
from innervoice.client.exchange import Exchange
from innervoice.client.options import (
    CALL_NAMES,
    CLIENT_NAMES,
    NOT_OF_A_REQUEST,
    STREAM_NAMES,
    CallFields,
    ClientOptions,
    Messages,
    check_names,
)
from innervoice.client.retry import Backoff
from innervoice.client.structured import structured
from innervoice.errors import UsageError
from innervoice.inline.vocabulary import INLINE
from innervoice.wire.dialects import DEFAULT

__all__ = ["BODY_LIMIT", "LIMITS", "Settings", "messages_of"]

LIMITS = {"max_connections": 1000, "max_keepalive_connections": 100}
"""Connection limits of a client, the same as in the official SDKs."""

BODY_LIMIT = 1_000_000
"""How many bytes of an error response are read."""

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"[\t\x20-\x7e]*")


class Settings:
    """The arguments of a client, checked."""

    def __init__(self, options: ClientOptions) -> None:
        check_names(options, CLIENT_NAMES, "Client")
        api_key, provider = options.get("api_key"), options.get("provider")
        base_url, base_urls = options.get("base_url"), options.get("base_urls")
        inline, retries = options.get("inline"), options.get("retries", 2)
        limits = {
            "timeout": options.get("timeout", 600.0),
            "connect_timeout": options.get("connect_timeout", 5.0),
            "idle_timeout": options.get("idle_timeout", 300.0),
        }
        for name, seconds in limits.items():
            _check_seconds(name, seconds)
        if isinstance(retries, bool) or retries < 0:
            raise UsageError(f"retries must be 0 or more, not {retries!r}")
        if inline not in INLINE:
            raise UsageError(f"inline must be one of 'on', 'off', 'all' or None, not {inline!r}")
        if api_key is not None and not (provider or base_url or base_urls):
            raise UsageError("api_key needs provider= or base_url=; or pass keys={provider: key}")
        self.provider = _id_of(provider) if provider else None
        environ = options.get("environ")
        self.environ = os.environ if environ is None else environ
        self.headers = _checked(options.get("headers") or {})
        self.keyring = Keyring(
            api_key=api_key,
            provider=self.provider,
            keys={_id_of(name): key for name, key in (options.get("keys") or {}).items()},
            environ=self.environ,
        )
        self.backoff = Backoff(retries)
        self._timeout = limits["timeout"]
        self._connect_timeout = limits["connect_timeout"]
        self._idle_timeout = limits["idle_timeout"]
        self._scope = options.get("scope")
        self._inline = inline
        self._base_url = base_url
        listed = base_urls if isinstance(base_urls, Mapping) else {}
        self._listed = {_id_of(name): url for name, url in listed.items()}
        for url in filter(None, (base_url, *self._listed.values())):
            check_base_url(url)
        self._address_of = base_urls if callable(base_urls) else self._listed.get

    def exchange(
        self,
        model: str,
        messages: Messages,
        fields: CallFields,
        *,
        stream: bool,
        schema: Any = None,
    ) -> Exchange:
        """The exchange for one call; the request is compiled, and nothing is sent yet."""
        check_names(fields, STREAM_NAMES if stream else CALL_NAMES, "stream" if stream else "ask")
        options: dict[str, Any] = dict(fields)
        own_options = {name: options.pop(name) for name in NOT_OF_A_REQUEST if name in options}
        provider, name = self.names(model, options)
        host = host_of(provider)
        base_url, is_default_url = self._place(provider, name, options)
        request = Request(
            f"{provider}/{name}",
            messages_of(messages),
            **{
                **options,
                "base_url": base_url,
                "scope": options.get("scope", self._scope),
                "stream": stream or bool(options.get("stream")),
                # Servers that call themselves compatible usually support this dialect, unless the caller says otherwise.
                "dialect": options.get("dialect") or (None if host else DEFAULT),
            },
        )
        answer_type = None if schema is None else AnswerType.of(schema)
        if answer_type is not None:
            request = structured(request, answer_type)
        target = target_at(provider, name, request.dialect, request.scope)
        return Exchange(
            request,
            Destination(target, is_default_url),
            keyring=self.keyring,
            headers=self._headers(own_options.get("headers")),
            backoff=self.backoff,
            deadline=self._deadline(own_options, stream=request.stream),
            inline=self._inline,
            answer_type=answer_type,
        )

    def _headers(self, own: Mapping[str, str] | None) -> Mapping[str, str]:
        """The headers that the caller adds to one call."""
        return {**self.headers, **_checked(own)} if own else self.headers

    def _deadline(self, own: Mapping[str, Any], *, stream: bool) -> Deadline:
        """The time limits of one call."""
        total, idle = self._timeout, self._idle_timeout
        if own:
            total, idle = own.get("timeout", total), own.get("idle_timeout", idle)
            _check_seconds("timeout", total)
            _check_seconds("idle_timeout", idle)
        # Without streaming, no byte arrives while the model thinks.
        return Deadline(total, self._connect_timeout, idle if stream else None)

    def names(self, model: str, given: Mapping[str, Any]) -> tuple[str, str]:
        """The provider, and the model's name there."""
        if not isinstance(model, str) or not model:
            raise UsageError(
                f"model must be 'provider/model', for example 'openai/gpt-5.6', not {model!r}"
            )
        parsed = split_id(model)
        if self.provider:
            # With one provider, models have the provider's own names; its name in front is optional.
            is_own = parsed is not None and parsed.provider == self.provider
            return self.provider, parsed.model if parsed and is_own else model
        if parsed and (parsed.is_known or parsed.provider in self._listed):
            return parsed.provider, parsed.model
        if self._base_url or given.get("base_url"):
            return "custom", model
        raise UsageError(
            f"unknown provider in {model!r}; write 'provider/model', for example 'openai/gpt-5.6', or pass base_url="
        )

    def _place(self, provider: str, model: str, given: Mapping[str, Any]) -> tuple[str, bool]:
        """The base URL of the provider for this model, and whether it is the provider's own."""
        try:
            listed = self._address_of(provider)
        except LookupError:
            listed = None
        url = given.get("base_url") or listed or self._base_url
        if url:
            return url, False
        host = host_of(provider)
        if host is None:
            raise UsageError(f"no base URL for {provider!r}; pass base_url=")
        dialect = given.get("dialect") or dialect_at(host, model)
        return base_url_of(host.in_dialect(dialect), self.environ), True


def _check_seconds(name: str, seconds: Any) -> None:
    number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool) and seconds > 0
    if seconds is not None and not number:
        raise UsageError(
            f"{name} must be a number of seconds, or None for no limit, not {seconds!r}"
        )


def _checked(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers with lowercase names, if all can be sent. Errors never show a value: it may be a key."""
    if not isinstance(headers, Mapping):
        raise UsageError(
            f"headers must be a dict of names and values, not {type(headers).__name__}"
        )
    for name, value in headers.items():
        if not (isinstance(name, str) and _TOKEN.fullmatch(name)):
            raise UsageError(f"{name!r} is not a valid header name")
        if not (isinstance(value, str) and _VALUE.fullmatch(value)):
            raise UsageError(f"the header {name!r} must be text of printable ASCII characters")
    return {name.lower(): value.strip() for name, value in headers.items()}


def _id_of(provider: str) -> str:
    host = host_of(provider)
    return host.id if host else provider


def messages_of(messages: Messages) -> tuple[Message, ...]:
    """The `messages` argument of a call as a tuple of messages."""
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
