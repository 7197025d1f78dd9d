"""The arguments of a client and of a call -> one `Exchange`.

Shared by both clients.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any, Literal, TypeAlias, TypedDict

from innervoice.canon.answer_type import AnswerType
from innervoice.canon.messages import Message, user
from innervoice.canon.parts import Text
from innervoice.canon.reasoning import Reasoning
from innervoice.canon.request import Request, RequestFields, Tool, check_base_url
from innervoice.canon.response import Response
from innervoice.canon.rows import ModelRow
from innervoice.canon.target import Target
from innervoice.catalog.lookup import dialect_at, host_of
from innervoice.catalog.makers import nearest_models, owners_of
from innervoice.catalog.targets import split_id, target_at
from innervoice.client.auth import Destination, Key, Keyring
from innervoice.client.base_urls import base_url_of
from innervoice.client.deadline import Deadline
from innervoice.client.error_mapping import Backoff
from innervoice.client.exchange import Exchange
from innervoice.errors import DecodeError, UsageError
from innervoice.inline.vocabulary import INLINE
from innervoice.planning.request import FittedRequest
from innervoice.sources.stored import check_roles, history_from
from innervoice.steering.watch import LOOPS, Loops, Steering, with_native_limit
from innervoice.wire.dialects import DEFAULT, dialect_named

__all__ = [
    "BODY_LIMIT",
    "CALL_NAMES",
    "CLIENT_NAMES",
    "CONVERSATION_NAMES",
    "LIMITS",
    "NOT_OF_A_REQUEST",
    "STREAM_NAMES",
    "BaseUrls",
    "CallFields",
    "ClientOptions",
    "ConversationOptions",
    "Messages",
    "RequestFields",
    "Settings",
    "UnlimitedCallFields",
    "call_instruction",
    "check_names",
    "messages_of",
    "structured",
]

LIMITS = {"max_connections": 1000, "max_keepalive_connections": 100}
"""Connection limits of a client, the same as in the official SDKs."""

BODY_LIMIT = 1_000_000
"""How many bytes of an error response are read."""

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"[\t\x20-\x7e]*")


_AUTO = Reasoning(show="auto")
_GOES_ON = frozenset({"previous_response_id", "previous_interaction_id", "conversation", "prompt", "thread", "continuation_token"})  # fmt: skip
"""Members with which a request goes on from what its provider stores, so that it may say nothing itself."""


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
        self._show = options.get("show", "auto")
        if self._show not in ("auto", None):
            raise UsageError(f"show must be 'auto' or None, not {self._show!r}")
        self._refused_to_show: set[str] = set()
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
        # Servers that call themselves compatible usually support this dialect, unless the caller says otherwise.
        dialect = options.get("dialect") or (None if host else DEFAULT)
        scope = options.get("scope", self._scope)
        target = target_at(provider, name, dialect, scope)
        mode = options.get("mode", "clamp")
        if any(map(callable, options.get("tools") or ())):
            from innervoice.client.tools import ToolBox  # noqa: PLC0415 - only functions need it

            options["tools"] = ToolBox(options["tools"]).offered
        request = Request(
            f"{provider}/{name}",
            _asked(messages_of(messages), options.get("extra") or {}),
            **{
                **options,
                "base_url": base_url,
                "scope": scope,
                "stream": stream or bool(options.get("stream")),
                "dialect": dialect,
                "reasoning": self._shown(options.get("reasoning"), provider, target.row, mode),
            },
        )
        kind: Callable[..., Exchange] = Exchange
        if own_options:
            request, kind = _steered(request, target, own_options)
        answer_type = None if schema is None else AnswerType.of(schema)
        if answer_type is not None:
            request = structured(request, answer_type)
        return kind(
            request,
            Destination(target, is_default_url),
            keyring=self.keyring,
            headers=self._headers(own_options.get("headers")),
            backoff=self.backoff,
            deadline=self._deadline(own_options, stream=request.stream),
            inline=self._inline,
            answer_type=answer_type,
            names_server=True,
            on_hidden=lambda: self._refused_to_show.add(provider),
        )

    def destination(self, model: str) -> tuple[Destination, str]:
        """Where calls for a model go, and the base URL there."""
        provider, name = self.names(model, {})
        base_url, is_default_url = self._place(provider, name, {})
        dialect = None if host_of(provider) else DEFAULT
        return Destination(
            target_at(provider, name, dialect, self._scope), is_default_url
        ), base_url

    def _shown(self, given: Any, provider: str, row: ModelRow, mode: str) -> Any:
        """The setting for reasoning, asking for what the model can show of it at no price, unless the caller says what is shown.

        Not in the modes in which a request is sent just as it was written, and not after the provider has refused to show anything.
        """
        if row.shown != "hidden" or "summary" not in row.showable:
            return given
        if self._show is None or mode != "clamp" or provider in self._refused_to_show:
            return given
        if given is None:
            return _AUTO
        setting = Reasoning.from_any(given)
        if setting is None or setting.show is not None or setting.effort == "none":
            return given
        return setting.replace(show=self._show)

    def _headers(self, headers: Mapping[str, str] | None) -> Mapping[str, str]:
        """The headers that the caller adds to one call."""
        return {**self.headers, **_checked(headers)} if headers else self.headers

    def _deadline(self, limits: Mapping[str, Any], *, stream: bool) -> Deadline:
        """The time limits of one call."""
        total, idle = self._timeout, self._idle_timeout
        if limits:
            total, idle = limits.get("timeout", total), limits.get("idle_timeout", idle)
            _check_seconds("timeout", total)
            _check_seconds("idle_timeout", idle)
        # Without streaming, no byte arrives while the model thinks.
        return Deadline(total, self._connect_timeout, idle if stream else None)

    def names(self, model: str, fields: Mapping[str, Any]) -> tuple[str, str]:
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
        if self._base_url or fields.get("base_url"):
            return "custom", model
        owners = () if parsed and "/" in model else owners_of(model)
        if len(owners) == 1:
            return owners[0].id, model
        raise UsageError(_unknown_model(model, [f"{host.id}/{model}" for host in owners]))

    def _place(self, provider: str, model: str, fields: Mapping[str, Any]) -> tuple[str, bool]:
        """The base URL of the provider for this model, and whether it is the provider's own."""
        try:
            listed = self._address_of(provider)
        except LookupError:
            listed = None
        url = fields.get("base_url") or listed or self._base_url
        if url:
            return url, False
        host = host_of(provider)
        if host is None:
            raise UsageError(f"no base URL for {provider!r}; pass base_url=")
        dialect = fields.get("dialect") or dialect_at(host, model)
        return base_url_of(host.in_dialect(dialect), self.environ), True


def _steered(
    request: Request, target: Target, options: Mapping[str, Any]
) -> tuple[Request, Callable[..., Exchange]]:
    """The request and the kind of its exchange, by what the call wants to be done about its answer while it runs."""
    limit, loops = options.get("think_at_most"), options.get("loops")
    if limit is None and loops is None:
        return request, Exchange
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        raise UsageError(f"think_at_most must be a number of tokens, 1 or more, not {limit!r}")
    if loops is not None and loops not in LOOPS:
        raise UsageError(f"loops must be one of {', '.join(LOOPS)} or None, not {loops!r}")
    from innervoice.client.steered import SteeredExchange  # noqa: PLC0415 - few calls are watched

    steering, setting = Steering(limit, loops), request.reasoning
    if limit is not None:
        setting = with_native_limit(setting, limit, target)
    # Only a stream can be left.
    request = request.replace(reasoning=setting, stream=request.stream or steering.is_acting)
    return request, partial(SteeredExchange, steering=steering)


def _unknown_model(model: str, known: Sequence[str]) -> str:
    """What is wrong with a model's name, and what may be meant."""
    if known:
        return f"several providers have {model!r}; write one of {', '.join(known[:5])}, or pass base_url="
    what = "provider in" if "/" in model else "model"
    meant = " or ".join(map(repr, nearest_models(model)))
    hint = f"did you mean {meant}?" if meant else "for example 'openai/gpt-5.6'"
    return f"unknown {what} {model!r}; write 'provider/model'; {hint} For another server, pass base_url="


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


def _asked(messages: tuple[Message, ...], extra: Mapping[str, Any]) -> tuple[Message, ...]:
    """The messages of a call; raises `UsageError` if they say nothing, and the request goes on from nothing that its provider stores."""
    last = messages[-1] if messages else user("")
    is_blank = all(isinstance(part, Text) and not part.text.strip() for part in last.parts)
    says_nothing = len(messages) < 2 and last.role == "user" and is_blank
    if says_nothing and _GOES_ON.isdisjoint(extra):
        raise UsageError("expected a question: a text that is not blank, or a list of messages; nothing was passed")  # fmt: skip
    return messages


def messages_of(messages: Messages) -> tuple[Message, ...]:
    """The `messages` argument of a call as a tuple of messages."""
    if isinstance(messages, (str, Message, Response)):
        return (_message_of(messages),)
    if not isinstance(messages, Iterable) or isinstance(messages, (bytes, Mapping)):
        raise UsageError(
            f"messages must be text, a Message, a Response or a list of these, not {type(messages).__name__}"
        )
    messages = list(messages)
    if messages and all(isinstance(item, Mapping) for item in messages):
        return _read_messages(messages)
    return tuple(_message_of(item) for item in messages)


def _read_messages(items: Sequence[Any]) -> tuple[Message, ...]:
    """Messages as the API of a provider has them, such as `{"role": "user", "content": "..."}`."""
    check_roles(items)
    try:
        return tuple(history_from([dict(item) for item in items]).messages)
    except DecodeError as error:
        raise UsageError(f"messages cannot be read: {error}") from None


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
                f"messages must be text, Message or Response values, or all of them dicts of one API, not {type(item).__name__}"
            )


# ---- A request and the type of its answer -> a request whose answer has that type.
#
# If the target can enforce a schema, the schema is sent, and reasoning stays possible. Otherwise the model gets a tool whose arguments
# are the answer. A model that refuses a forced tool choice while it reasons is not forced: the system prompt asks for the call instead,
# so that the requested reasoning stays on.


def structured(request: Request, answer: AnswerType) -> Request:
    """The request for an answer of this type."""
    if request.response_format is not None:
        raise UsageError("pass either schema= or response_format=, not both")
    fitted = FittedRequest(request, checked=False)
    target = fitted.target
    formats = (target.host.formats if target.host else ()) or dialect_named(target.dialect).formats
    if "json_schema" in formats:
        inner = {"name": answer.name, "schema": answer.schema, "strict": True}
        form = {"type": "json_schema", "json_schema": inner}
        return request.replace(response_format=form)
    tool = Tool(answer.name, "Gives the final answer.", answer.schema)
    tools = (*request.tools, tool)
    if not request.tools and (target.row.forced_tools or not fitted.reasons):
        return request.replace(tools=tools, tool_choice=answer.name)
    instruction = call_instruction(answer.name)
    system = f"{request.system}\n\n{instruction}" if request.system else instruction
    return request.replace(tools=tools, system=system)


def call_instruction(tool: str) -> str:
    """The instruction for a model that cannot be forced to call a tool."""
    return f"Give the final answer by calling the tool {tool}, and not as text."


# ---- The keyword arguments of clients, calls and conversations: once, as types for type checkers and as names to check at run time.


BaseUrls: TypeAlias = Mapping[str, str] | Callable[[str], str | None]
"""Base URLs by provider: a dict, or a function that returns a URL or None."""

Messages: TypeAlias = (
    str | Message | Response | Iterable[str | Message | Response | Mapping[str, Any]]
)
"""A user text, a message, an earlier response, or a list of these; or a list of dicts as the API of any provider has them."""


class ClientOptions(TypedDict, total=False):
    """The arguments of `Client` and `AsyncClient`."""

    api_key: Key | None
    """The key of `provider`, or of the servers at `base_url` and `base_urls`."""
    keys: Mapping[str, Key] | None
    """Keys by provider; a provider without one takes it from its environment variables."""
    base_url: str | None
    """The base URL of every provider."""
    base_urls: BaseUrls | None
    """Base URLs by provider, or a function that returns one."""
    provider: str | None
    """The only provider; models are then named without it."""
    headers: Mapping[str, str] | None
    """Sent with every request."""
    timeout: float | None
    """Total seconds that a call may wait, retries included; 600 by default, None for no limit."""
    connect_timeout: float | None
    """Seconds to establish a connection; 5 by default."""
    idle_timeout: float | None
    """Seconds without a byte of a stream; 300 by default."""
    retries: int
    """How often a request is retried; 2 by default."""
    http: Any
    """A client of httpx2 or httpx to send with, which is not closed here."""
    show: Literal["auto"] | None
    """"auto" (the default): what a model can show of its reasoning at no price is asked for; None: what the provider shows by itself."""
    scope: str | None
    """The account that requests are sent from; reasoning that another account sealed is not sent."""
    inline: str | None
    """Whether markup in the text is read: "on", "off", "all", or None to decide by provider and model."""
    environ: Mapping[str, str] | None
    """Environment variables to use instead of those of the process."""


class UnlimitedCallFields(RequestFields, total=False):
    """The arguments of one call, except the limit on its reasoning."""

    timeout: float | None
    """Total seconds that this call may wait, retries included."""
    idle_timeout: float | None
    """Seconds without a byte of this stream."""
    headers: Mapping[str, str]
    """Sent in addition to those of the client; if both have the same name, this one is sent."""
    loops: Loops | None
    """What is done if the reasoning repeats itself: "answer" requests the answer again without reasoning, "stop" ends it, "note" notes it."""


class CallFields(UnlimitedCallFields, total=False):
    """The arguments of one call: the fields of its request, and settings that replace those of the client."""

    think_at_most: int | None
    """The most tokens of reasoning, about; if there are more before any output, the answer is requested again without reasoning."""


class ConversationOptions(CallFields, total=False):
    """The arguments of a conversation: those of its calls, and how it runs."""

    history: Iterable[Message | Response]
    """The messages that it begins with."""
    max_rounds: int
    """How many requests one `ask` may send while the model calls tools; 20 by default."""
    raise_tool_errors: bool
    """Whether an error of a tool is raised instead of reported to the model."""


CLIENT_NAMES = tuple(ClientOptions.__annotations__)
CALL_NAMES = tuple(CallFields.__annotations__)
STREAM_NAMES = tuple(name for name in CALL_NAMES if name != "stream")
CONVERSATION_NAMES = tuple(ConversationOptions.__annotations__)
NOT_OF_A_REQUEST = tuple(name for name in CALL_NAMES if name not in RequestFields.__annotations__)
"""The arguments of a call that are not fields of its request."""


def check_names(names: Iterable[str], accepted: Sequence[str], function: str) -> None:
    """Raises a `UsageError` for the first name that is not accepted."""
    for name in names:
        if name not in accepted:
            close = get_close_matches(name, accepted, 1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise UsageError(
                f"{function}() got an unexpected keyword argument {name!r}{hint}; accepted are {', '.join(accepted)}"
            )
