"""Events -> parts, and a response.

`PartFolder` is the one place where events become parts again. Code that needs more than the content of a part (what was shown
of it, how long it took) derives a class from `FoldedPart` and folds into that.

A list of events without its end yields what arrived: parts that never ended are incomplete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

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
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Opaque, Part, Text, Thinking, ToolCall
from innervoice.canon.response import Response
from innervoice.canon.usage import Usage
from innervoice.errors import UsageError

__all__ = ["FoldedPart", "PartFolder", "beginning", "content_of", "fold"]

_BEGINNINGS: dict[str, Part] = {
    "text": Text("", complete=False),
    "thinking": Thinking("", complete=False),
}
_UNREADABLE = Opaque(None, complete=False)


def fold(events: Iterable[Event]) -> Response:
    """Reads events to their end; a `Finish` among them is the result.

    :param events: The events of one answer.
    """
    folder, usage = PartFolder(FoldedPart), Usage()
    for event in events:
        match event:
            case Finish():
                return event.response
            case UsageUpdate():
                usage = event.usage
            case _:
                folder.feed(event)
    return Response(parts=tuple(folded.now() for folded in folder.parts), usage=usage)


class FoldedPart:
    """A part, as far as its events have arrived."""

    __slots__ = ("is_open", "part", "pieces")

    def __init__(self, part: Part, *, is_open: bool = True) -> None:
        self.part = part
        """The part at its beginning; after its end, the final part."""
        self.is_open = is_open
        self.pieces: list[str] = []
        """The text that arrived since."""

    def add(self, text: str) -> None:
        """Adds text or arguments."""
        self.pieces.append(text)

    def end(self, part: Part) -> None:
        """Sets the whole part."""
        self.part, self.is_open = part, False
        self.pieces.clear()

    def now(self) -> Part:
        """The part, or as much of it as arrived."""
        if not self.is_open:
            return self.part
        content = "".join([content_of(self.part), *self.pieces])
        match self.part:
            case Text(origin=origin):
                return Text(content, complete=False, origin=_without_block(origin))
            case Thinking(form=form, origin=origin):
                return Thinking(content, form, complete=False, origin=_without_block(origin))
            case ToolCall(id=call_id, name=name, origin=origin):
                return ToolCall(call_id, name, content, complete=False, origin=origin)
            case _:
                return self.part


def _without_block(origin: Origin | None) -> Origin | None:
    """The origin of a part that never ended: its first block is not the final one."""
    return origin.replace(block=None, seals=()) if origin and origin.block is not None else origin


Folded = TypeVar("Folded", bound=FoldedPart)


class PartFolder(Generic[Folded]):
    """Reads events one by one; `parts` is the result so far.

    `make` creates a part that has just begun, or that replaces others in a `Recast`; in the second case its content was
    not passed to `add`.
    """

    def __init__(self, make: Callable[[Part], Folded]) -> None:
        self._make = make
        self.parts: list[Folded] = []

    def feed(self, event: Event) -> Folded | None:
        """Reads one event; returns the part that it started, continued or ended."""
        match event:
            case TextDelta() | ThinkingDelta():
                return self.add(event.index, event.text)
            case ToolCallDelta():
                return self.add(event.index, event.arguments)
            case PartStart():
                return self.start(event)
            case PartEnd():
                return self.end(event)
            case Recast():
                self.recast(event)
            case UsageUpdate() | Heartbeat() | Finish():
                pass
            case _:
                raise UsageError(f"expected events, not {type(event).__name__}")
        return None

    def start(self, event: PartStart) -> Folded:
        """Begins a part."""
        if event.index != len(self.parts):
            raise UsageError(
                f"expected part {len(self.parts)} to start next, not part {event.index}"
            )
        folded = self._make(event.part or beginning(event.type, event.index))
        self.parts.append(folded)
        return folded

    def add(self, index: int, text: str) -> Folded:
        """Adds to an open part."""
        folded = self._open(index)
        folded.add(text)
        return folded

    def end(self, event: PartEnd) -> Folded:
        """Ends a part."""
        folded = self._open(event.index)
        folded.end(event.part)
        return folded

    def recast(self, event: Recast) -> tuple[Sequence[Folded], Sequence[Folded]]:
        """Replaces parts by others; returns the old ones and the new ones.

        As many of the new ones stay open as of the old ones were: the last incomplete ones.
        """
        old = self.parts[event.index :]
        new = [self._make(part) for part in event.parts]
        still_open = sum(folded.is_open for folded in old)
        for folded in reversed(new):
            folded.is_open = still_open > 0 and not getattr(folded.part, "complete", True)
            still_open -= folded.is_open
        self.parts[event.index :] = new
        return old, new

    def _open(self, index: int) -> Folded:
        if 0 <= index < len(self.parts) and self.parts[index].is_open:
            return self.parts[index]
        numbers = [number for number, folded in enumerate(self.parts) if folded.is_open]
        raise UsageError(f"part {index} is not open; open parts: {numbers}")


def content_of(part: Part) -> str:
    """The text of a part, or the arguments of a call."""
    match part:
        case Text() | Thinking():
            return part.text
        case ToolCall():
            return part.arguments
        case _:
            return ""


def beginning(kind: str, index: int) -> Part:
    """An empty, incomplete part of a kind."""
    if kind == "tool_call":
        return ToolCall(f"call_{index}", "", complete=False)
    return _BEGINNINGS.get(kind, _UNREADABLE)
