"""The server's side: the protocol of a dialect's server, and what all readers of requests share.

A turn of the model in a request has the shape of its answer, so the reader of answers reads it. What a
request has beside the members of `Request` goes to `extra`, as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from innervoice.canon.messages import Message, Role
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Media, Opaque, Part, Text, ToolResult
from innervoice.canon.reasoning import Reasoning
from innervoice.canon.request import Request
from innervoice.canon.response import Response
from innervoice.canon.tools import tools_from
from innervoice.errors import DecodeError, UsageError
from innervoice.frames.frame import Frame
from innervoice.wire.protocol import Reader
from innervoice.wire.refusals import Refusal

__all__ = [
    "Server",
    "UserContent",
    "assistant_turn",
    "request_of",
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


class UserContent:
    """Reads what a user and tools say in one dialect: text as text, files as files, every other block as it is.

    A block that says more than its part does (a cache mark, citations) is kept in the origin, for the way home. `read_block` reads
    the blocks that only the dialect has, and gives None for those it does not know either.
    """

    def __init__(self, dialect: str, read_block: Callable[[dict[str, Any]], Part | None]) -> None:
        self._dialect = dialect
        self._read_block = read_block

    def parts(self, content: Any) -> tuple[Part, ...]:
        """The parts of a content: a text, a block or a list of these."""
        if isinstance(content, str):
            return (Text(content),)
        blocks = content if isinstance(content, list) else [] if content is None else [content]
        return tuple(map(self.part, blocks))

    def part(self, block: Any) -> Part:
        """The part of a block."""
        match block:
            case str(text):
                return Text(text)
            case {"type": "text" | "input_text" | "output_text", "text": str(text), **rest}:
                return Text(text, origin=self._origin(block) if rest else None)
            case {"text": str(text), **rest} if "type" not in rest and "thought" not in rest:
                return Text(text, origin=self._origin(block) if rest else None)
            case dict() if part := self._read_block(block):
                return part
            case _:
                return Opaque(block, origin=Origin(dialect=self._dialect))

    def result(
        self, call_id: Any, content: Any, *, error: bool = False, block: Any = None
    ) -> ToolResult:
        """A tool result; `block` is what it was on the wire, where that says more."""
        name = call_id if isinstance(call_id, str) and call_id else "unknown"
        origin = self._origin(block) if block is not None else None
        if content is None or isinstance(content, str):
            return ToolResult(name, content or "", error, origin)
        kept = (part for part in self.parts(content) if isinstance(part, (Text, Media, Opaque)))
        return ToolResult(name, tuple(kept), error, origin)

    def _origin(self, block: Any) -> Origin:
        return Origin(dialect=self._dialect, block=block)


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
            tools=tuple(tools_from(tools)),
            **known,
        )
    except UsageError as error:
        raise DecodeError(f"not a valid request of the dialect {dialect}: {error}") from None


def with_role(role: Role, parts: tuple[Part, ...], dialect: str, rest: dict[str, Any]) -> Message:
    """A message that keeps the other members of its wire form."""
    origin = Origin(dialect=dialect, block=rest) if rest else None
    return Message(role, parts, origin)
