"""The events of several answers, one after the other -> those of one answer.

The first answer passes through. When it is left, what is open in it ends there, or stays open if another answer goes on with its text. The
events of the next answer then come under new numbers, behind what is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from innervoice.canon.events import (
    Event,
    Finish,
    PartEnd,
    PartStart,
    Recast,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
)
from innervoice.canon.parts import Part, Text, Thinking
from innervoice.folding import FoldedPart, PartFolder, content_of
from innervoice.inline.marks import SettledPlace
from innervoice.steering.seam import Seam

__all__ = ["Splice", "can_go_on", "settled_parts"]


def can_go_on(parts: Sequence[Part]) -> bool:
    """Whether another answer can go on behind these parts: they are reasoning, and then text."""
    kinds = [type(part) for part in parts if content_of(part) or not isinstance(part, Text)]
    texts = [number for number, kind in enumerate(kinds) if kind is Text]
    is_plain = all(kind in (Text, Thinking) for kind in kinds)
    return is_plain and (not texts or kinds[texts[0] :].count(Text) == len(kinds) - texts[0])


def settled_parts(events: Iterable[Event], bound: SettledPlace | None) -> list[Part]:
    """The parts of an answer up to a place."""
    parts, is_open = _folded(events)
    if bound is None or _is_settled(parts, bound):
        return parts
    return _settled(parts, is_open, bound)[0]


def _is_settled(parts: Sequence[Part], bound: SettledPlace | None) -> bool:
    """Whether nothing of these parts is behind a place."""
    if bound is None or bound.part >= len(parts):
        return True
    is_last = bound.part == len(parts) - 1
    return is_last and bound.characters >= len(content_of(parts[-1])) > 0


def _folded(events: Iterable[Event]) -> tuple[list[Part], list[bool]]:
    """The parts of an answer until now, and which of them are open."""
    folder = PartFolder(FoldedPart)
    for event in events:
        folder.feed(event)
    return [folded.now() for folded in folder.parts], [folded.is_open for folded in folder.parts]


class Splice:
    """What has arrived in all answers until now."""

    def __init__(self) -> None:
        self._begin([])

    def _begin(self, parts: list[Part]) -> None:
        """Another answer follows these parts."""
        self._parts = parts
        self._count = len(parts)
        """How many parts there are, with those of the running answer."""
        self._open: int | None = None
        """The text that is open and goes on."""
        self._pieces: list[str] = []
        """That text."""
        self._numbers: dict[int, int | None] = {}
        """Parts of the running answer -> their numbers here; None: they are left out."""
        self._text: int | None = None
        """The part of the running answer with which the text goes on."""
        self._came = 0
        """How many of its characters have arrived."""
        self._seam: Seam | None = None
        self._is_thought = False
        """Whether the reasoning of the running answer is left out."""
        self.has_failed = False
        """Whether the running answer does not go on with the text."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of the answers that were left."""
        return tuple(self._parts)

    @property
    def text(self) -> str:
        """The text of these."""
        return "".join(part.text for part in self._parts if isinstance(part, Text))

    def leave(
        self, events: Iterable[Event], bound: SettledPlace | None, *, goes_on: bool
    ) -> list[Event]:
        """Leaves the running answer, of which these are all events until now; returns the events that come of that.

        What is not settled is taken back if another answer goes on: nobody has it.
        """
        parts, is_open = _folded(events)
        passed: list[Event] = []
        if goes_on and not _is_settled(parts, bound):
            assert bound is not None
            parts, is_open = _settled(parts, is_open, bound)
            passed.append(Recast(bound.part, tuple(parts[bound.part :])))
        keeps = goes_on and bool(parts) and is_open[-1] and isinstance(parts[-1], Text)
        for number, part in enumerate(parts):
            if is_open[number] and not (keeps and number == len(parts) - 1):
                passed.append(PartEnd(number, part))
        self._begin(parts)
        if keeps:
            self._open, self._pieces = len(parts) - 1, [content_of(parts[-1])]
        return passed

    def go_on(self, *, is_repeated: bool) -> None:
        """The next answer goes on with the text; with `is_repeated` it begins with the end of it."""
        self._is_thought = any(
            isinstance(part, Text) or (isinstance(part, Thinking) and part.complete)
            for part in self._parts
        )
        if self.text:
            self._seam = Seam(self.text, is_repeated=is_repeated)

    def feed(self, events: Iterable[Event]) -> list[Event]:
        """The events of the running answer under their numbers here, without a `Finish`."""
        return [made for event in events for made in self._passed(event)]

    def place(self, bound: SettledPlace | None) -> SettledPlace | None:
        """A place in the running answer, among all parts."""
        return bound and bound._replace(part=bound.part + len(self._parts))

    def finish(self) -> list[Event]:
        """Ends what is still open."""
        events = self._grown("", is_last=True)
        return [*events, *self._closed()]

    # ---- one event -----------------------------------------------------------------------------

    def _passed(self, event: Event) -> list[Event]:  # noqa: PLR0911 - one for each kind of event
        match event:
            case Finish():
                return []
            case PartStart():
                return self._started(event)
            case Recast() if self._seam is None and not self._is_thought:
                return [Recast(event.index + len(self._parts), event.parts)]
            case Recast():
                self.has_failed = True  # text that is out may turn out to be something else
                return []
            case TextDelta() if event.index == self._text:
                return self._grown(event.text)
            case PartEnd() if event.index == self._text:
                return self._ended(event.part)
            case TextDelta() | ThinkingDelta() | ToolCallDelta() | PartEnd():
                number = self._numbers.get(event.index, event.index + len(self._parts))
                return [] if number is None else [_numbered(event, number)]
            case _:
                return [event]

    def _started(self, event: PartStart) -> list[Event]:
        if self._is_thought and event.type == "thinking":
            self._numbers[event.index] = None
            return []
        if self._seam is not None and not self._seam.is_closed and event.type == "text":
            self._text, self._came = event.index, 0
            return self._grown(content_of(event.part) if event.part else "")
        number = self._numbers[event.index] = self._count
        self._count += 1
        return [PartStart(number, event.type, event.part)]

    def _grown(self, text: str, *, is_last: bool = False) -> list[Event]:
        """More of the text that goes on."""
        if self._seam is None:
            return []
        self._came += len(text)
        added = self._seam.feed(text, is_last=is_last)
        self.has_failed = self.has_failed or self._seam.has_failed
        if not added:
            return []
        events: list[Event] = []
        if self._open is None:
            self._open, self._pieces, self._count = self._count, [], self._count + 1
            events.append(PartStart(self._open, "text", Text("", complete=False)))
        self._pieces.append(added)
        return [*events, TextDelta(self._open, added)]

    def _ended(self, part: Part) -> list[Event]:
        """The end of the part with which the text goes on, and what only its end says of it."""
        events = self._grown(content_of(part)[self._came :])
        self._text = None
        return [*events, *self._closed()] if self._seam and self._seam.is_closed else events

    def _closed(self) -> list[Event]:
        if self._open is None:
            return []
        number, self._open = self._open, None
        return [PartEnd(number, Text("".join(self._pieces)))]


def _numbered(event: TextDelta | ThinkingDelta | ToolCallDelta | PartEnd, number: int) -> Event:
    """The event for the part with another number."""
    return event.replace(index=number)


def _settled(
    parts: list[Part], is_open: list[bool], bound: SettledPlace
) -> tuple[list[Part], list[bool]]:
    """The parts up to a place, and which of them are open."""
    before, was_open = parts[: bound.part], any(is_open[bound.part :])
    part = parts[bound.part]
    if bound.characters and isinstance(part, (Text, Thinking)):
        cut = part.replace(text=part.text[: bound.characters], complete=False, origin=None)
        return [*before, cut], [*is_open[: bound.part], was_open]
    return before, is_open[: bound.part]
