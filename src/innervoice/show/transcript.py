"""Events of a stream -> the passages so far, with the time spent thinking.

A passage is shown in one piece; adjacent reasoning parts are one passage, as they are one thought in
`policy`. The clock runs for the part that was written last: a reasoning part may stay open while the
answer arrives, but the model no longer thinks then.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from innervoice.canon.events import Event, Finish, PartEnd, Recast, UsageUpdate
from innervoice.canon.messages import Message
from innervoice.canon.parts import Part, Text, Thinking
from innervoice.canon.response import Response
from innervoice.canon.usage import Usage
from innervoice.folding import FoldedPart, PartFolder, content_of
from innervoice.show.policy import Answer, Policy, Thought, counted, line_of, thought_about, view_of
from innervoice.show.visible import visible

__all__ = ["NOTICEABLE", "Passage", "Slot", "Transcript", "duration", "without_blank_lines"]

_BLANK_LINES = re.compile(r"(?:[ \t]*\n)+")
NOTICEABLE = 0.05
"""Less time than this is only the overhead of reading events that arrived together."""


class Slot(FoldedPart):
    """One part as far as it has arrived, with clean text; parts other than text and thinking have none."""

    def __init__(self, part: Part, *, is_open: bool = True) -> None:
        super().__init__(part, is_open=is_open)
        self.elapsed = 0.0
        self._held = ""
        self._new: list[str] = []
        self._has_ink = False
        self._has_begun = False
        self.add(content_of(part))

    @property
    def text(self) -> str:
        """The complete text."""
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""

    @property
    def kind(self) -> str:
        """The kind of passage it belongs to: thinking, text, or other."""
        if isinstance(self.part, Text):
            return "text"
        return "thinking" if _is_thinking(self.part) else "other"

    @property
    def current(self) -> Part:
        """The part with the text so far."""
        if self.is_open and isinstance(self.part, (Text, Thinking)):
            return self.part.replace(text=self.text, complete=False)
        return self.part

    def add(self, text: str) -> None:
        """Appends text."""
        if not isinstance(self.part, (Text, Thinking)):
            return
        text = self._held + text
        # Half of a line break or of a surrogate pair waits for the other half.
        self._held = (
            text[-1] if text and (text[-1] == "\r" or "\ud800" <= text[-1] < "\udc00") else ""
        )
        clean = visible(text.removesuffix(self._held))
        if clean:
            self._write(clean)

    def end(self, part: Part) -> None:
        """Ends the slot with the final part."""
        if not self.pieces and not self._held:
            self.add(content_of(part))
        if self._held:
            self._write(visible(self._held))
            self._held = ""
        self.part = part
        self.is_open = False

    def take(self) -> str:
        """The text since the last call, except trailing white space."""
        if not self._has_ink:
            return ""
        self._has_ink = False
        text = "".join(self._new)
        new = text.rstrip()
        self._new = [text[len(new) :]] if len(new) < len(text) else []
        if not self._has_begun:
            self._has_begun = True
            return without_blank_lines(new)
        return new

    def _write(self, clean: str) -> None:
        self.pieces.append(clean)
        self._new.append(clean)
        self._has_ink = self._has_ink or not clean.isspace()


class Passage:
    """Adjacent slots that are shown in one piece."""

    def __init__(self, first: int, slots: Sequence[Slot], *, is_active: bool) -> None:
        self.kind = slots[0].kind
        self.first = first
        self.slots = slots
        self.is_active = is_active
        """Whether it was written last and may still grow."""

    @property
    def is_open(self) -> bool:
        """Whether one of its parts is unfinished."""
        return any(slot.is_open for slot in self.slots)

    @property
    def end(self) -> int:
        """The index of the slot after it."""
        return self.first + len(self.slots)

    def thought(self, show: Policy) -> Thought | None:
        """The reasoning that the policy shows, with the number of unreadable blocks."""
        thoughts = thought_about([slot.current for slot in self.slots], show)
        if not thoughts:
            return None
        hidden = sum(thought.hidden_blocks for thought in thoughts)
        return thoughts[0].replace(hidden_blocks=hidden)

    def lines(self, show: Policy) -> list[str]:
        """The lines for tool calls and blocks."""
        parts = tuple(slot.current for slot in self.slots)
        items = view_of(Message("assistant", parts), show)[0].items
        return [line_of(item) for item in items if not isinstance(item, (Thought, Answer))]


class Transcript:
    """Collects events."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._active: Slot | None = None
        self._since = 0.0
        self._folder = PartFolder(Slot)
        self.usage = Usage()
        self.response: Response | None = None

    @property
    def slots(self) -> list[Slot]:
        """All parts so far."""
        return self._folder.parts

    def feed(self, event: Event) -> None:
        """Adds one event."""
        match event:
            case PartEnd():
                if self._folder.end(event) is self._active:
                    self._touch(None)
            case Recast():
                self._recast(event)
            case UsageUpdate():
                self.usage = event.usage
            case Finish():
                self._finish(event.response)
            case _:
                if slot := self._folder.feed(event):
                    self._touch(slot)

    def passages(self, start: int = 0) -> Iterator[Passage]:
        """The passages from a slot onwards."""
        for _, group in groupby(self.slots[start:], key=_passage_of):
            slots = list(group)
            yield Passage(start, slots, is_active=self._active in slots)
            start += len(slots)

    def seconds(self, passage: Passage) -> float:
        """The time spent on a passage."""
        running = self._clock() - self._since if passage.is_active else 0.0
        return sum(slot.elapsed for slot in passage.slots) + running

    def tokens(self) -> int | None:
        """The reasoning tokens, if there is exactly one passage of reasoning that they belong to."""
        thinking = sum(passage.kind == "thinking" for passage in self.passages())
        return self.usage.reasoning_tokens if thinking == 1 else None

    def status(self, passage: Passage, show: Policy) -> str:
        """One line about unfinished reasoning."""
        thought = passage.thought(show)
        facts = [duration(self.seconds(passage))]
        if thought and thought.characters:
            facts.append(counted(thought.characters, "character"))
        return f"thinking · {' · '.join(facts)}"

    def outcome(self, passage: Passage, show: Policy) -> str | None:
        """One line about finished reasoning; None if there was none."""
        thought = passage.thought(show)
        if thought is None:
            return None
        seconds = self.seconds(passage)
        time = duration(seconds) if seconds >= NOTICEABLE else ""
        tokens = self.tokens()
        facts = [counted(tokens, "token")] if tokens is not None else []
        if not thought.characters:
            return " · ".join(["hidden reasoning", *filter(None, [time]), *facts])
        facts.append(counted(thought.characters, "character"))
        if thought.hidden_blocks:
            facts.append(counted(thought.hidden_blocks, "hidden block"))
        return " · ".join([f"thought for {time}" if time else "thought", *facts])

    def _recast(self, event: Recast) -> None:
        was_active = self._active in self.slots[event.index :]
        if was_active:
            self._touch(None)
        replaced, slots = self._folder.recast(event)
        for slot in slots:
            if slot.is_open and was_active:
                self._touch(slot)
        # Text turned out to be reasoning, so the time spent on it was spent thinking.
        for slot in [slot for slot in slots if slot.kind == "thinking"][:1]:
            slot.elapsed += sum(other.elapsed for other in replaced)

    def _finish(self, response: Response) -> None:
        self._touch(None)
        self.response = response
        self.usage = response.usage
        if not self.slots:
            self.slots[:] = [Slot(part, is_open=False) for part in response.parts]
        elif len(self.slots) == len(response.parts):
            for slot, part in zip(self.slots, response.parts, strict=True):
                slot.end(part)

    def _touch(self, slot: Slot | None) -> None:
        """Starts the clock for a slot."""
        now = self._clock()
        if self._active is not None:
            self._active.elapsed += now - self._since
        self._active = slot
        self._since = now


def without_blank_lines(text: str) -> str:
    """The text without leading blank lines; the first line keeps its indentation."""
    blank = _BLANK_LINES.match(text)
    return text[blank.end() :] if blank else text


def duration(seconds: float) -> str:
    """Seconds in words."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def _passage_of(slot: Slot) -> tuple[str, int]:
    """The group of a slot; each call is its own passage, so that it is shown as soon as it is complete."""
    return slot.kind, id(slot) if slot.kind == "other" else 0


def _is_thinking(part: Part) -> bool:
    return isinstance(part, Thinking) or bool(thought_about([part], "length"))
