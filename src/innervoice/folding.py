"""Events -> a response.

A list of events that lacks its end gives what arrived: parts that never ended are incomplete.
"""

from __future__ import annotations

from collections.abc import Iterable

from innervoice.canon.events import (
    Event,
    Finish,
    Heartbeat,
    PartEnd,
    PartStart,
    Recast,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    UsageUpdate,
)
from innervoice.canon.parts import Opaque, Part, Text, Thinking, ToolCall
from innervoice.canon.response import Response
from innervoice.canon.usage import Usage
from innervoice.errors import UsageError

__all__ = ["fold"]


def fold(events: Iterable[Event]) -> Response:
    """Reads events to their end; a `Finish` among them is the result."""
    folder = _Folder()
    for event in events:
        match event:
            case Finish():
                return event.response
            case PartStart():
                folder.start(event)
            case TextDelta() | ThinkingDelta():
                folder.add(event.index, event.text)
            case ToolCallDelta():
                folder.add(event.index, event.arguments)
            case PartEnd():
                folder.end(event)
            case Recast():
                folder.recast(event)
            case UsageUpdate():
                folder.usage = event.usage
            case Heartbeat():
                pass
            case _:
                raise UsageError(f"fold takes events, not {type(event).__name__}")
    return Response(parts=folder.parts(), usage=folder.usage)


class _Folder:
    def __init__(self) -> None:
        self.usage = Usage()
        self._parts: list[Part] = []
        self._open: dict[int, list[str]] = {}

    def start(self, event: PartStart) -> None:
        if event.index != len(self._parts):
            raise UsageError(
                f"part {event.index} starts, but {len(self._parts)} is the next number"
            )
        part = event.part or _beginning(event.type, event.index)
        self._parts.append(part)
        self._open[event.index] = [_content(part)]

    def add(self, index: int, text: str) -> None:
        self._pieces(index).append(text)

    def end(self, event: PartEnd) -> None:
        self._pieces(event.index)
        del self._open[event.index]
        self._parts[event.index] = event.part

    def recast(self, event: Recast) -> None:
        was_open = sum(index >= event.index for index in self._open)
        self._open = {index: pieces for index, pieces in self._open.items() if index < event.index}
        self._parts[event.index :] = event.parts
        incomplete = [
            event.index + number
            for number, part in enumerate(event.parts)
            if not getattr(part, "complete", True)
        ]
        for index in incomplete[-was_open:] if was_open else ():
            self._open[index] = [_content(self._parts[index])]

    def parts(self) -> tuple[Part, ...]:
        for index, pieces in self._open.items():
            self._parts[index] = _continued(self._parts[index], "".join(pieces))
        return tuple(self._parts)

    def _pieces(self, index: int) -> list[str]:
        try:
            return self._open[index]
        except KeyError:
            raise UsageError(f"part {index} is not open; open are {sorted(self._open)}") from None


def _beginning(kind: str, index: int) -> Part:
    match kind:
        case "text":
            return Text("", complete=False)
        case "thinking":
            return Thinking("", complete=False)
        case "tool_call":
            return ToolCall(f"call_{index}", "", complete=False)
        case _:
            return Opaque(None, complete=False)


def _content(part: Part) -> str:
    match part:
        case Text() | Thinking():
            return part.text
        case ToolCall():
            return part.arguments
        case _:
            return ""


def _continued(part: Part, content: str) -> Part:
    """An open part with what came of it."""
    match part:
        case Text():
            return Text(content, complete=False, origin=part.origin)
        case Thinking():
            return Thinking(content, part.form, complete=False, origin=part.origin)
        case ToolCall():
            return ToolCall(part.id, part.name, content, complete=False, origin=part.origin)
        case _:
            return part
