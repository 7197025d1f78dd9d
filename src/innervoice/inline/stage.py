"""Events of a reader -> the same events with reasoning split out of the text.

A text part of the wire may become several parts, so parts are numbered anew. Reasoning that the text
repeats from a field is dropped in the end, and stays in the markup of the text so that it can be written
back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

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
from innervoice.canon.origin import Markup, Origin
from innervoice.canon.parts import Opaque, Part, Text, Thinking, ToolCall, is_inline, restore
from innervoice.canon.response import FinishReason
from innervoice.canon.views import is_same
from innervoice.inline.machine import SplitMachine
from innervoice.inline.marks import Place

__all__ = ["InlineStage"]


MakesSplitter: TypeAlias = Callable[[int, bool], SplitMachine]
"""Gives a splitter for the text with this number, which may go on with an answer that has begun."""


class Entry:
    """A part as it goes out: what came of it, and where it stands now."""

    __slots__ = ("index", "part", "pieces", "start")

    def __init__(self, index: int, start: PartStart | None = None) -> None:
        self.index = index
        self.start = start
        self.part: Part | None = None
        self.pieces: list[str] = []

    def now(self) -> Part:
        """The part, or as much of it as came."""
        if self.part:
            return self.part
        text = "".join(self.pieces)
        match self.start.type if self.start else "":
            case "text":
                return Text(text, complete=False)
            case "thinking":
                return Thinking(text, complete=False)
            case "tool_call" if self.start and isinstance(self.start.part, ToolCall):
                return ToolCall(self.start.part.id, self.start.part.name, text, complete=False)
            case _:
                return Opaque(None, complete=False)


class InlineStage:
    """Takes events, gives events; `parts` is what has come of them."""

    def __init__(self, splitter: MakesSplitter, notebook: Notebook) -> None:
        self._make = splitter
        self._notebook = notebook
        self._entries: list[Entry] = []
        self._plain: dict[int, Entry] = {}  # by the wire's number
        self._splitters: dict[int, SplitMachine] = {}
        self._groups: dict[int, list[Entry]] = {}
        self._field: list[str] = []
        self.finish_reason: FinishReason | None = None

    @property
    def parts(self) -> tuple[Part, ...]:
        """All parts so far."""
        return tuple([entry.part or entry.now() for entry in self._entries])

    @property
    def settled(self) -> Place | None:
        """The first place that is not settled among all parts; None if all that came out is."""
        first: Place | None = None
        for wire, splitter in self._splitters.items():
            group, place = self._groups[wire], splitter.settled
            if place and place.part < len(group):
                place = Place(group[place.part].index, place.characters)
                first = min(first, place) if first else place
        return first

    def feed(self, events: list[Event]) -> list[Event]:
        """Splits the text of these events."""
        out: list[Event] = []
        for event in events:
            match event:
                case TextDelta() if splitter := self._splitters.get(event.index):
                    self._pass_on(event.index, splitter.feed(event.text), out)
                case ThinkingDelta():
                    if not self._field:
                        self._tell_splitters(out)
                    self._field.append(event.text)
                    self._relay(event, event.text, out)
                case TextDelta():
                    self._relay(event, event.text, out)
                case ToolCallDelta():
                    self._relay(event, event.arguments, out)
                case PartStart():
                    self._start(event, out)
                case PartEnd():
                    self._end(event, out)
                case _:
                    out.append(event)
        return out

    # ---- parts that are not split --------------------------------------------------------------

    def _start(self, event: PartStart, out: list[Event]) -> None:
        if event.type == "text":
            splitter = self._make(event.index, self._has_begun())
            if self._field:
                splitter.reasoning_elsewhere()
            self._splitters[event.index] = splitter
            self._groups[event.index] = []
            return
        entry = self._new(event)
        self._plain[event.index] = entry
        out.append(PartStart(entry.index, event.type, event.part))

    def _has_begun(self) -> bool:
        """Whether some of the answer came already, so that what comes is not its head."""
        if not self._groups:
            return False
        texts = (entry.now() for group in self._groups.values() for entry in group)
        return any(isinstance(part, Text) and part.text.strip() for part in texts)

    def _new(self, start: PartStart) -> Entry:
        entry = Entry(len(self._entries), start)
        self._entries.append(entry)
        return entry

    def _relay(
        self, event: TextDelta | ThinkingDelta | ToolCallDelta, text: str, out: list[Event]
    ) -> None:
        entry = self._plain[event.index]
        entry.pieces.append(text)
        out.append(event if entry.index == event.index else type(event)(entry.index, text))

    def _tell_splitters(self, out: list[Event]) -> None:
        for wire, splitter in self._splitters.items():
            self._pass_on(wire, splitter.reasoning_elsewhere(), out)

    def _end(self, event: PartEnd, out: list[Event]) -> None:
        splitter = self._splitters.pop(event.index, None)
        if splitter is None:
            entry = self._plain[event.index]
            entry.part = event.part
            out.append(PartEnd(entry.index, event.part))
            return
        assert isinstance(event.part, Text)
        ended = splitter.finish(self.finish_reason if event.part.complete else "length")
        self._notebook.take(splitter.notebook)
        self._pass_on(event.index, ended, out)
        if self._groups[event.index]:
            self._dress(self._groups[event.index], event.part, out)
            return
        # A text without a character is a part all the same: it may carry a seal.
        entry = self._new(PartStart(0, "text"))
        entry.part = event.part
        self._groups[event.index].append(entry)
        out += [PartStart(entry.index, "text"), PartEnd(entry.index, event.part)]

    # ---- parts of a text -----------------------------------------------------------------------

    def _pass_on(self, wire: int, events: list[Event], out: list[Event]) -> None:
        group = self._groups[wire]
        for event in events:
            match event:
                case TextDelta() | ThinkingDelta():
                    entry = group[event.index]
                    entry.pieces.append(event.text)
                    same = entry.index == event.index
                    out.append(event if same else type(event)(entry.index, event.text))
                case PartStart():
                    entry = self._new(event)
                    group.append(entry)
                    same = entry.index == event.index
                    out.append(event if same else PartStart(entry.index, event.type))
                case PartEnd():
                    entry = group[event.index]
                    entry.part = event.part
                    same = entry.index == event.index
                    out.append(event if same else PartEnd(entry.index, event.part))
                case Recast():
                    self._recast(group, event, out)
                case _:
                    out.append(event)

    def _recast(self, group: list[Entry], event: Recast, out: list[Event]) -> None:
        """Replaces the parts of a text that turned out to be others, among all the other parts."""
        old = group[event.index :]
        open_before = bool(old) and any(entry.part is None for entry in old)
        position = old[0].index if old else len(self._entries)
        gone = set(map(id, old))
        made: list[Entry] = []
        for number, part in enumerate(event.parts):
            entry = Entry(0, PartStart(0, part.type))
            last_open = (
                open_before
                and number == len(event.parts) - 1
                and not getattr(part, "complete", True)
            )
            entry.pieces.append(getattr(part, "text", ""))
            entry.part = None if last_open else part
            made.append(entry)
        rest = [entry for entry in self._entries[position:] if id(entry) not in gone]
        group[event.index :] = made
        self._rewrite(position, [*made, *rest], out)

    def _rewrite(self, position: int, entries: list[Entry], out: list[Event]) -> None:
        self._entries[position:] = entries
        for index, entry in enumerate(self._entries[position:], position):
            entry.index = index
        out.append(Recast(position, tuple(entry.now() for entry in entries)))

    def _dress(self, group: list[Entry], whole: Text, out: list[Event]) -> None:
        """Gives the parts of a text what only its end tells: the wire block to the first, the end to the last."""
        parts = [entry.now() for entry in group]
        if len(parts) == 1 and isinstance(parts[0], Text) and not is_inline(parts[0]):
            parts = [whole]
        elif whole.origin and _tells_more(whole.origin):
            parts = _dressed(parts, whole.origin)
        elif whole.complete:
            return
        if not whole.complete:
            parts[-1] = parts[-1].replace(complete=False)
        told: dict[int, Part] = {}
        for entry, part in zip(group, parts, strict=True):
            entry.part = told[entry.index] = part
        # The ends that were told just now say it, too.
        for position, event in enumerate(out):
            if isinstance(event, PartEnd) and event.index in told:
                out[position] = PartEnd(event.index, told[event.index])

    def finish(self, parts: list[Part]) -> list[Event]:
        """Takes the last word about the reader's parts, and drops what the text repeats from a field."""
        for wire, entry in self._plain.items():
            entry.part = parts[wire]
        field = "".join(self._field)
        out: list[Event] = []
        if not field:
            return out
        for group in self._groups.values():
            for number, entry in enumerate(group):
                part = entry.part
                if isinstance(part, Thinking) and is_inline(part) and is_same(part.text, field):
                    self._notebook.add("inline_repeated")
                    self._drop(group, number, out)
                    break
        return out

    def _drop(self, group: list[Entry], number: int, out: list[Event]) -> None:
        entry = group[number]
        assert entry.part is not None
        written = restore([entry.part])
        following = group[number + 1] if number + 1 < len(group) else None
        position = entry.index
        if following and isinstance(following.part, Text):
            following.part = _with_lead(following.part, written)
            entries = [other for other in self._entries[position:] if other is not entry]
            group.remove(entry)
        else:
            origin = entry.part.origin or Origin()
            entry.part = _with_lead(Text("", origin=origin.replace(markup=None)), written)
            entries = self._entries[position:]
        self._rewrite(position, entries, out)


def _tells_more(origin: Origin) -> bool:
    """Whether an origin says more than who wrote the text."""
    return origin.block is not None or origin.led_by is not None or origin.item is not None


def _dressed(parts: list[Part], origin: Origin) -> list[Part]:
    """The parts of a text with the origin of the text; its wire block goes to the first."""
    dressed: list[Part] = []
    for part in parts:
        own = part.origin or Origin()
        dressed.append(part.replace(origin=origin.replace(item=own.item, markup=own.markup)))
        origin = origin.replace(block=None, seals=())
    return dressed


def _with_lead(part: Text, lead: str) -> Text:
    """A text with removed markup in front of it."""
    origin = part.origin or Origin()
    known = list(origin.markup or ())
    if known and known[0].at == 0:
        lead += known.pop(0).text
    return part.replace(origin=origin.replace(markup=(Markup(0, lead), *known)))
