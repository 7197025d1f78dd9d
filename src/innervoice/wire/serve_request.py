"""The server's side: the protocol of a dialect's server, and what all readers of requests share.

A turn of the model in a request has the shape of its answer, so the reader of answers reads it. What a
request has beside the members of `Request` goes to `extra`, as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from innervoice.canon.messages import Message, Role
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Opaque, Part, Text, ToolResult
from innervoice.canon.reasoning import Reasoning
from innervoice.canon.request import Request, Tool
from innervoice.canon.response import Response
from innervoice.errors import DecodeError, UsageError
from innervoice.frames.frame import Frame
from innervoice.wire.json_access import as_list
from innervoice.wire.protocol import Reader
from innervoice.wire.refusals import Refusal

__all__ = [
    "Server",
    "assistant_turn",
    "content_parts",
    "request_of",
    "result_of",
    "setting_of",
    "with_role",
]


class Server(Protocol):
    """What every `serve_request.py` offers beside `read_request`: the server's side of a dialect.

    A part whose origin has a block of this dialect is written as that block; any other is written in the
    dialect's plain form.
    """

    def write_answer(self, answer: Response) -> dict[str, Any]:
        """The body of a whole answer."""
        ...

    def write_stream(self, answer: Response, size: int) -> Iterator[Frame]:
        """The same answer as a stream, its texts in deltas of `size` characters."""
        ...

    def write_error(self, refusal: Refusal) -> dict[str, Any]:
        """The body of a refusal."""
        ...

    def write_stream_error(self, refusal: Refusal) -> Frame:
        """An error in the middle of a stream."""
        ...


def assistant_turn(reader: Reader, answer: Any) -> Message:
    """A turn of the model, read from the answer that it would have been."""
    reader.feed(answer)
    reader.ended = True
    reader.finish()
    origin = reader.origin(reader.message_block or None, reader.message_seals)
    return Message("assistant", tuple(reader.parts), origin)


def content_parts(content: Any) -> tuple[Part, ...]:
    """The parts of a user's content: text as text, and every other block as it is."""
    if isinstance(content, str):
        return (Text(content),)
    parts: list[Part] = []
    for block in as_list(content):
        match block:
            case str(text):
                parts.append(Text(text))
            case {"type": "text" | "input_text", "text": str(text), **rest} if not rest:
                parts.append(Text(text))
            case {"text": str(text), **rest} if not rest:
                parts.append(Text(text))
            case _:
                parts.append(Opaque(block))
    return tuple(parts)


def result_of(call_id: Any, content: Any, *, error: bool = False) -> ToolResult:
    """A tool result."""
    name = call_id if isinstance(call_id, str) and call_id else "unknown"
    if content is None or isinstance(content, str):
        return ToolResult(name, content or "", error)
    kept = tuple(part for part in content_parts(content) if isinstance(part, (Text, Opaque)))
    return ToolResult(name, kept, error)


def setting_of(members: dict[str, Any]) -> Reasoning | None:
    """The reasoning setting, or None if `Reasoning` cannot express it."""
    try:
        return Reasoning.from_any(members) if members else None
    except UsageError:
        return None


def request_of(
    body: dict[str, Any],
    dialect: str,
    messages: list[Message],
    known: dict[str, Any],
    read: set[str],
) -> Request:
    """The request; members of the body that were not read go to `extra`."""
    extra = {key: value for key, value in body.items() if key not in read}
    tools = known.pop("tools", None)
    if not isinstance(tools, (list, tuple)):
        tools = ()
    model = body.get("model") or known.pop("model", "") or "unknown"
    known = {key: value for key, value in known.items() if value is not None}
    try:
        return Request(
            str(model),
            tuple(messages),
            dialect=dialect,
            extra=extra,
            tools=tuple(Tool.of(tool) for tool in tools),
            **known,
        )
    except UsageError as error:
        raise DecodeError(f"not a valid request of the dialect {dialect}: {error}") from None


def with_role(role: Role, parts: tuple[Part, ...], dialect: str, rest: dict[str, Any]) -> Message:
    """A message that keeps the other members of its wire form."""
    origin = Origin(dialect=dialect, block=rest) if rest else None
    return Message(role, parts, origin)
