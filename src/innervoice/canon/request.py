"""A request, the same for every provider, and its encoded form."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from functools import lru_cache
from importlib import import_module
from itertools import compress
from operator import attrgetter, ne
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias, TypedDict, get_args
from urllib.parse import parse_qsl, urlsplit

import msgspec

from innervoice.canon.messages import Message, Role
from innervoice.canon.notes import Note
from innervoice.canon.reasoning import Reasoning, ReasoningReport
from innervoice.canon.response import Response
from innervoice.canon.tools import Tool, tools_from
from innervoice.canon.value import Value
from innervoice.errors import UsageError

if TYPE_CHECKING:
    from typing import Unpack

__all__ = ["Foreign", "Mode", "Request", "RequestFields", "Tool", "Wire", "check_base_url"]

Mode: TypeAlias = Literal["strict", "clamp", "passthrough"]
Foreign: TypeAlias = Literal["omit", "text"]
_put = msgspec.structs.force_setattr

_KEY_NAME = re.compile(
    r"(?:.*[_-])?(?:key|token|secret|password|signature)|apikey|accesstoken|sig|auth|code",
    re.IGNORECASE | re.DOTALL,
)


@lru_cache(maxsize=256)
def check_base_url(url: str) -> None:
    """Raises a `UsageError` if a base URL holds a key: URLs are logged and printed, keys are not. The error does not show it."""
    try:
        address = urlsplit(url)
    except (ValueError, AttributeError):
        return  # whoever sends the request says what is wrong with the URL
    members = {name for part in (address.query, address.fragment) for name, _ in parse_qsl(part)}
    if "@" in address.netloc or any(map(_KEY_NAME.fullmatch, members)):
        raise UsageError(
            "base_url must not contain a key or a password; pass the key as api_key= (or in keys= or headers=)"
        )


class RequestFields(TypedDict, total=False):
    """The fields of a `Request` besides its model and messages, as its caller may write them."""

    system: str | None
    tools: Iterable[Any]
    tool_choice: Any
    parallel_tool_calls: bool | None
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


class _Head(Value, frozen=True):
    model: str
    messages: tuple[Message, ...]


class Request(_Head, frozen=True, kw_only=True):
    """One request, the same for every provider.

    :param model: The target, `provider/model`.
    :param messages: The history: messages, or responses as they were received.
    """

    hidden: ClassVar[frozenset[str]] = frozenset({"extra"})

    system: str | None = None
    """The instructions for the model."""
    tools: tuple[Tool, ...] = ()
    """Functions, `Tool` values, or dicts in the form of any provider."""
    tool_choice: Any = None
    """ "auto", "none", "required", the name of a tool, or a provider's own value."""
    parallel_tool_calls: bool | None = None
    """Whether the model may call several tools in one turn."""
    reasoning: Reasoning | None = None
    """How much to reason: an effort, a number of tokens, False, or a `Reasoning`."""
    max_tokens: int | None = None
    """The most tokens of the answer, reasoning included."""
    temperature: float | None = None
    """How random the answer is."""
    top_p: float | None = None
    """The share of probable tokens to choose from."""
    stop: tuple[str, ...] | None = None
    """A text, or texts, that end the answer."""
    response_format: Any = None
    """The form of the answer, in OpenAI's or the provider's own words."""
    stream: bool = False
    """Whether the answer is sent in pieces."""
    dialect: str | None = None
    """The wire format; None for the usual one of the provider."""
    mode: Mode = "clamp"
    """For settings that the model does not have: "clamp" sends the closest and adds a note, "strict" raises, "passthrough" sends them."""
    foreign: Foreign = "omit"
    """For reasoning of other models: "omit" keeps it out of the request, "text" sends it as text."""
    store: bool = False
    """Whether the provider may store the answer."""
    scope: str | None = None
    """The account that sends the request; reasoning sealed for another account is not sent."""
    base_url: str | None = None
    """The base URL of another server than the provider's."""
    extra: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies it for each request
    """Members that are merged into the body last."""

    if TYPE_CHECKING:

        def __init__(
            self,
            model: str,
            messages: Iterable[Message | Response],
            **fields: Unpack[RequestFields],
        ) -> None: ...

    def __post_init__(self) -> None:
        _put(self, "messages", _messages(self.messages))
        for name in compress(_OPTIONS, map(ne, _options(self), _USUAL)):
            _put(self, name, _CHECKS[name](getattr(self, name)))

    def _repr_html_(self) -> str:
        """The request as HTML, for notebooks."""
        return str(import_module("innervoice.show.notebook").request_html(self))

    def replace(self, **changes: Any) -> Self:
        """The same request with other fields; only these are checked, the others were.

        :param changes: The fields to change.
        """
        request = copy(self)
        for name, value in changes.items():
            check = _CHECKS.get(name)
            _put(request, name, check(value) if check else value)
        return request


_ROLES: tuple[str, ...] = get_args(Role)


def _messages(messages: Any) -> tuple[Message, ...]:
    """A response may be appended to the history as it is; its message is used."""
    if isinstance(messages, (str, Message)):
        raise UsageError(
            "messages must be a list of messages; create one with innervoice.user(text)"
        )
    checked = tuple([item.message if isinstance(item, Response) else item for item in messages])
    for message in checked:
        if not isinstance(message, Message):
            raise UsageError(f"messages must be Message values, not {type(message).__name__}")
        if message.role not in _ROLES:
            raise UsageError(f"expected the role {' or '.join(_ROLES)}, got {message.role!r}")
    return checked


def _base_url(url: str | None) -> str | None:
    if url is not None:
        check_base_url(url)
    return url


def _limit(limit: int | None) -> int | None:
    if limit is not None and (type(limit) is not int or limit < 1):
        raise UsageError(f"max_tokens must be a number of tokens, 1 or more, not {limit!r}")
    return limit


def _stops(stop: Any) -> tuple[str, ...] | None:
    """Stop strings, from one or several."""
    if stop is None or isinstance(stop, str):
        return stop if stop is None else (stop,)
    listed = tuple(stop) if isinstance(stop, Iterable) else ()
    if (
        isinstance(stop, Mapping)
        or not isinstance(stop, Iterable)
        or not all(isinstance(text, str) for text in listed)
    ):
        raise UsageError(f"stop must be a text or a list of texts, not {stop!r}")
    return listed


def _one_of(name: str, words: tuple[str, ...]) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if value not in words:
            raise UsageError(f"{name} must be one of {', '.join(words)}, not {value!r}")
        return value

    return check


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "messages": _messages,
    "base_url": _base_url,
    "tools": lambda tools: tuple(tools_from(tools)) if tools else (),
    "reasoning": Reasoning.from_any,
    "stop": _stops,
    "max_tokens": _limit,
    "mode": _one_of("mode", get_args(Mode)),
    "foreign": _one_of("foreign", get_args(Foreign)),
}
"""The fields that a caller may write in several ways, or wrongly, and what becomes of them."""
_OPTIONS = tuple(name for name in _CHECKS if name != "messages")
_options = attrgetter(*_OPTIONS)
_USUAL = (None, (), None, None, None, "clamp", "omit")
"""The options of a request that has none; most have few."""


class Wire(Value, frozen=True, kw_only=True):
    """An encoded request: URL, headers and body. It is not sent, and has no credentials."""

    # The body contains the seals of the history, and headers of the caller may contain keys.
    hidden: ClassVar[frozenset[str]] = frozenset({"body", "headers"})

    method: str = "POST"
    """The HTTP method."""
    url: str
    """The full URL."""
    headers: dict[str, str]
    """The headers, without those that carry keys."""
    body: dict[str, Any]
    """The JSON of the request."""
    dialect: str
    """The wire format of the body."""
    notes: tuple[Note, ...] = ()
    """What was changed or left out."""
    reasoning_report: ReasoningReport | None = None
    """The reasoning setting that was requested and the one that is sent."""
    prefix: str | None = None
    """The digest of everything that is sent; the reasoning of the answer may be bound to it."""
    scope: str | None = None
    """The account that sends it."""
