"""Events of a reader -> the same events with reasoning split out of the text.

A text part of the wire format may become several parts, so parts are renumbered. Reasoning in the text
that repeats a field is dropped at the end, and stays in the markup of the text so that it can be written
back; reasoning that continues where the field ends keeps the text that the field does not have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import islice

from innervoice.canon.events import (
    Event,
    PartEnd,
    PartStart,
    Recast,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
)
from innervoice.canon.notes import Notebook
from innervoice.canon.origin import Markup, Origin, weave
from innervoice.canon.parts import Part, Text, Thinking, is_inline, restore
from innervoice.canon.response import FinishReason
from innervoice.canon.views import is_blank
from innervoice.folding import FoldedPart, PartFolder, beginning, content_of
from innervoice.inline.machine import SplitMachine
from innervoice.inline.marks import SettledPlace
from innervoice.inline.search import TextSearch

__all__ = ["InlineStage"]


_NOT_SPACE = re.compile(r"\S")
_BEGUN = Thinking("", complete=False, origin=Origin(markup=()))
"""What is known about reasoning in a text at its start: that it was cut out of one."""


class StagedPart(FoldedPart):
    """A part of the output, and its current number."""

    __slots__ = ("index",)
    index: int


class InlineStage:
    """Reads events, returns events; `parts` is the result so far."""

    passing: frozenset[type[Event]] = frozenset()
    """Types of events that need not be fed: a single one is passed on unchanged."""
    untouched = False
    """Whether nothing was split and nothing will be: the reader's parts and events are the output."""
    _field: list[str]  # reasoning that came in a field
    _begun: dict[int, Part | None]  # what the start of a text says of it, by the wire's number

    def __init__(
        self, search: TextSearch, origin: Callable[[], Origin], notebook: Notebook
    ) -> None:
        self._search = search
        self._origin = origin
        """Returns the origin of a part without its own block."""
        self._notebook = notebook
        self._parts: list[StagedPart] = []
        self._plain: dict[int, StagedPart] = {}  # by the wire's number
        self._splitters: dict[int, SplitMachine] = {}
        self._groups: dict[int, PartFolder[StagedPart]] = {}
        self._field, self._begun = [], {}
        self.finish_reason: FinishReason | None = None

    @property
    def parts(self) -> tuple[Part, ...]:
        """All parts so far."""
        return tuple([staged.now() for staged in self._parts])

    @property
    def settled(self) -> SettledPlace | None:
        """The first place that is not settled among all parts; None if all output so far is settled."""
        first: SettledPlace | None = None
        for wire, splitter in self._splitters.items():
            parts, place = self._groups[wire].parts, splitter.settled
            if place and place.part < len(parts):
                place = SettledPlace(parts[place.part].index, place.characters)
                first = min(first, place) if first else place
        return first

    def feed(self, events: list[Event]) -> list[Event]:
        """Splits the text of these events."""
        if len(events) > 2 and not self._groups:
            return self._feed_whole(events)
        out: list[Event] = []
        for event in events:
            # For a struct, comparing the type itself is three times as fast as isinstance.
            if type(event) is TextDelta and (splitter := self._splitters.get(event.index)):
                self._pass_on(event.index, splitter.feed(event.text), out)
            elif type(event) is ThinkingDelta:
                if not self._field:
                    self._tell_splitters(out)
                self._field.append(event.text)
                self._relay(event, out)
            elif type(event) is TextDelta or type(event) is ToolCallDelta:
                self._relay(event, out)
            elif type(event) is PartStart:
                self._start(event, out)
            elif type(event) is PartEnd:
                self._end(event, out)
            else:
                out.append(event)
        return out

    def _feed_whole(self, events: list[Event]) -> list[Event]:
        """Splits the text of these events, which may include a text that arrives whole."""
        out: list[Event] = []
        position = 0
        while position < len(events):
            event = events[position]
            position += 1
            start = event if type(event) is PartStart and event.type == "text" else None
            if start and self._read_plain(start.part, events, position, out):
                position += 2
            else:
                out += self.feed([event])
        return out

    # ---- parts that are not split --------------------------------------------------------------

    def _start(self, event: PartStart, out: list[Event]) -> None:
        if event.type == "text":
            origin = self._origin_of(event.index)
            splitter = self._search.splitter(origin, goes_on=self._has_begun())
            if self._field:
                splitter.reasoning_elsewhere()
            self._splitters[event.index] = splitter
            self._groups[event.index] = PartFolder(StagedPart)
            self._begun[event.index] = event.part
            return
        staged = StagedPart(event.part or beginning(event.type, event.index))
        self._plain[event.index] = staged
        self._number(staged)
        out.append(PartStart(staged.index, event.type, event.part))

    def _has_begun(self) -> bool:
        """Whether some of the answer has arrived, so that the next text is not its head."""
        if not self._groups:
            return False
        texts = (staged.now() for group in self._groups.values() for staged in group.parts)
        return any(isinstance(part, Text) and not is_blank(part.text) for part in texts)

    def _origin_of(self, number: int) -> Origin:
        """The origin of parts found in the text with this number."""
        return self._origin().replace(item=f"text_{number}")

    def _number(self, staged: StagedPart) -> int:
        staged.index = len(self._parts)
        self._parts.append(staged)
        return staged.index

    def _relay(self, event: TextDelta | ThinkingDelta | ToolCallDelta, out: list[Event]) -> None:
        staged = self._plain[event.index]
        text = event.arguments if isinstance(event, ToolCallDelta) else event.text
        staged.pieces.append(text)
        out.append(event if staged.index == event.index else type(event)(staged.index, text))

    def _tell_splitters(self, out: list[Event]) -> None:
        for wire, splitter in self._splitters.items():
            self._pass_on(wire, splitter.reasoning_elsewhere(), out)

    def _end(self, event: PartEnd, out: list[Event]) -> None:
        splitter = self._splitters.pop(event.index, None)
        if splitter is None:
            staged = self._plain[event.index]
            staged.end(event.part)
            out.append(PartEnd(staged.index, event.part))
            return
        assert isinstance(event.part, Text)
        ended = splitter.finish(self.finish_reason if event.part.complete else "length")
        self._notebook.take(splitter.notebook)
        self._pass_on(event.index, ended, out)
        group = self._groups[event.index]
        if group.parts:
            self._dress(group.parts, event.part, out)
            return
        # A text without characters is still a part: it may carry a seal.
        staged = group.start(PartStart(0, "text"))
        staged.end(event.part)
        self._number(staged)
        out += [PartStart(staged.index, "text"), PartEnd(staged.index, event.part)]

    # ---- parts of a text -----------------------------------------------------------------------

    def _read_plain(
        self, begun: Part | None, events: list[Event], position: int, out: list[Event]
    ) -> bool:
        """Reads a text that arrived whole, in the two events from this position on, if it needs no splitter."""
        if position + 1 >= len(events) or self._groups:
            return False
        came, ended = events[position], events[position + 1]
        if type(ended) is not PartEnd or type(came) is not TextDelta or ended.index != came.index:
            return False
        whole = ended.part
        assert isinstance(whole, Text)
        if not whole.complete or self.finish_reason == "length":
            return False
        parts = self._search.plain_parts(self._origin_of(ended.index), came.text)
        if parts is None:
            return False
        if type(parts[0]) is Thinking:
            self._notebook.add("inline_thinking")
        group = self._groups[ended.index] = PartFolder(StagedPart)
        for part in _completed(parts, whole):
            staged = StagedPart(part, is_open=False)
            at = self._number(staged)
            group.parts.append(staged)
            delta = TextDelta if type(part) is Text else ThinkingDelta
            first = _BEGUN if type(part) is Thinking else begun
            out += (PartStart(at, part.type, first), delta(at, content_of(part)), PartEnd(at, part))
        return True

    def _pass_on(self, wire: int, events: list[Event], out: list[Event]) -> None:
        group = self._groups[wire]
        for event in events:
            if type(event) is TextDelta or type(event) is ThinkingDelta:
                staged = group.parts[event.index]
                staged.pieces.append(event.text)
                at = staged.index
                out.append(event if at == event.index else type(event)(at, event.text))
            elif type(event) is PartStart:
                at = self._number(group.start(event))
                beginning = _BEGUN if event.type == "thinking" else self._begun.get(wire)
                out.append(PartStart(at, event.type, beginning))
            elif type(event) is PartEnd:
                at = group.end(event).index
                out.append(event if at == event.index else PartEnd(at, event.part))
            elif type(event) is Recast:
                self._recast(group, event, out)
            else:
                out.append(event)

    def _recast(self, group: PartFolder[StagedPart], event: Recast, out: list[Event]) -> None:
        """Replaces the parts of a text that turned out to be different, among all the other parts."""
        old, new = group.recast(event)
        position = old[0].index if old else len(self._parts)
        gone = set(map(id, old))
        rest = [staged for staged in self._parts[position:] if id(staged) not in gone]
        self._rewrite(position, [*new, *rest], out)

    def _rewrite(self, position: int, parts: list[StagedPart], out: list[Event]) -> None:
        self._parts[position:] = parts
        for index, staged in enumerate(parts, position):
            staged.index = index
        out.append(Recast(position, tuple(staged.now() for staged in parts)))

    def _dress(self, group: list[StagedPart], whole: Text, out: list[Event]) -> None:
        """Completes the parts of a text when it ends."""
        parts = _completed([staged.now() for staged in group], whole)
        ended_as: dict[int, Part] = {}
        for staged, part in zip(group, parts, strict=True):
            staged.part = ended_as[staged.index] = part
        # The `PartEnd` events of this call carry the completed parts.
        for position, event in enumerate(out):
            if isinstance(event, PartEnd) and event.index in ended_as:
                out[position] = PartEnd(event.index, ended_as[event.index])

    def finish(self, parts: list[Part]) -> list[Event]:
        """Applies the reader's final parts, and drops reasoning in the text that repeats a field."""
        for wire, staged in self._plain.items():
            staged.end(parts[wire])
        out: list[Event] = []
        if not self._field:
            return out
        thoughts = [
            (group.parts, staged)
            for group in self._groups.values()
            for staged in group.parts
            if isinstance(staged.part, Thinking) and is_inline(staged.part)
        ]
        if not thoughts:
            return out
        # Removing white space takes many times the size of a text for a moment, so it is done only where there is something to compare.
        field = "".join("".join(self._field).split())
        for group, staged in thoughts:
            part = staged.part
            assert isinstance(part, Thinking)
            text = "".join(part.text.split())
            if text and field.startswith(text):
                self._notebook.add("inline_repeated")
                self._drop(group, staged, out)
                field = field[len(text) :]
            elif text and field and text.startswith(field):
                self._notebook.add("inline_repeated")
                staged.part = _without(part, len(field))
                self._rewrite(staged.index, self._parts[staged.index :], out)
                field = ""
        return out

    def _drop(self, group: list[StagedPart], dropped: StagedPart, out: list[Event]) -> None:
        number = group.index(dropped)
        written = restore([dropped.part])
        following = group[number + 1] if number + 1 < len(group) else None
        position = dropped.index
        if following and isinstance(following.part, Text):
            following.part = _with_lead(following.part, written)
            parts = [other for other in self._parts[position:] if other is not dropped]
            group.remove(dropped)
        else:
            origin = dropped.part.origin or Origin()
            dropped.part = _with_lead(Text("", origin=origin.replace(markup=None)), written)
            parts = self._parts[position:]
        self._rewrite(position, parts, out)


def _completed(parts: Sequence[Part], whole: Text) -> list[Part]:
    """The parts of a text that has ended: the first gets its wire block, the last whether it is complete."""
    if len(parts) == 1 and isinstance(parts[0], Text) and not is_inline(parts[0]):
        return [whole]
    completed = list(parts)
    if whole.origin and _tells_more(whole.origin):
        completed = _dressed(completed, whole.origin)
    if not whole.complete:
        completed[-1] = completed[-1].replace(complete=False)
    return completed


def _tells_more(origin: Origin) -> bool:
    """Whether an origin has more than the author of the text."""
    return origin.block is not None or origin.led_by is not None or origin.item is not None


def _dressed(parts: list[Part], origin: Origin) -> list[Part]:
    """The parts of a text with the origin of the text; its wire block goes to the first."""
    dressed: list[Part] = []
    for part in parts:
        own = part.origin or Origin()
        dressed.append(part.replace(origin=origin.replace(item=own.item, markup=own.markup)))
        origin = origin.replace(block=None, seals=())
    return dressed


def _without(part: Thinking, count: int) -> Thinking:
    """Inline reasoning without its first characters, so many that are not white space; they become removed markup."""
    assert part.origin is not None
    characters = islice(_NOT_SPACE.finditer(part.text), count - 1, None)
    at = next(characters).end()
    markup = part.origin.markup or ()
    lead = weave(part.text[:at], tuple(removed for removed in markup if removed.at <= at))
    behind = (Markup(removed.at - at, removed.text) for removed in markup if removed.at > at)
    return part.replace(
        text=part.text[at:], origin=part.origin.replace(markup=(Markup(0, lead), *behind))
    )


def _with_lead(part: Text, lead: str) -> Text:
    """A text with removed markup in front of it."""
    origin = part.origin or Origin()
    markup = list(origin.markup or ())
    if markup and markup[0].at == 0:
        lead += markup.pop(0).text
    return part.replace(origin=origin.replace(markup=(Markup(0, lead), *markup)))
