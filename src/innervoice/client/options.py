"""The keyword arguments of clients, calls and conversations: once, as types for type checkers and as names to check at run time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeAlias, TypedDict

from innervoice.canon.messages import Message
from innervoice.canon.request import RequestFields
from innervoice.canon.response import Response
from innervoice.client.auth import Key
from innervoice.errors import UsageError

__all__ = [
    "CALL_NAMES",
    "CLIENT_NAMES",
    "CONVERSATION_NAMES",
    "NOT_OF_A_REQUEST",
    "STREAM_NAMES",
    "BaseUrls",
    "CallFields",
    "ClientOptions",
    "ConversationOptions",
    "Messages",
    "RequestFields",
    "check_names",
]

BaseUrls: TypeAlias = Mapping[str, str] | Callable[[str], str | None]
"""Base URLs by provider: a dict, or a function that returns a URL or None."""

Messages: TypeAlias = str | Message | Response | Iterable[str | Message | Response]
"""A user text, a message, an earlier response, or a list of these."""


class ClientOptions(TypedDict, total=False):
    """The arguments of `Client` and `AsyncClient`."""

    api_key: Key | None
    """The key of `provider`, or of the servers at `base_url` and `base_urls`."""
    keys: Mapping[str, Key] | None
    """Keys by provider; a provider without one takes it from its environment variables."""
    base_url: str | None
    """The base URL of every provider."""
    base_urls: BaseUrls | None
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
    scope: str | None
    """The account that requests are sent from; reasoning that another account sealed is not sent."""
    inline: str | None
    """Whether markup in the text is read: "on", "off", "all", or None to decide by provider and model."""
    environ: Mapping[str, str] | None
    """Environment variables to use instead of those of the process."""


class CallFields(RequestFields, total=False):
    """The arguments of one call: the fields of its request, and settings that replace those of the client."""

    timeout: float | None
    idle_timeout: float | None
    headers: Mapping[str, str]
    """Sent in addition to those of the client; if both have the same name, this one is sent."""


class ConversationOptions(CallFields, total=False):
    """The arguments of a conversation: those of its calls, and how it runs."""

    history: Iterable[Message | Response]
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
