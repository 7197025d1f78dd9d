"""A transcript -> append-only text, for a pipe, a file or a simple terminal.

The text has no control characters. Reasoning is quoted line by line as in `plain`. If text turns out to be
reasoning, it cannot be taken back: a line says so, and the answer is written again.
"""

from __future__ import annotations

from collections.abc import Callable

from innervoice.canon.events import Event, Recast
from innervoice.show.forms import QUOTE
from innervoice.show.policy import Policy, Remark, counted, line_of, view_of
from innervoice.show.transcript import Passage, Slot, Transcript
from innervoice.show.visible import visible

__all__ = ["READ_AGAIN", "Sequence", "closing_lines"]

READ_AGAIN = "[read again: what follows replaces the text above]"


class Sequence:
    """Writes a stream as it arrives."""

    def __init__(self, transcript: Transcript, write: Callable[[str], None], show: Policy) -> None:
        self._transcript = transcript
        self._write_out = write
        self._show = show
        self._slot: Slot | None = None
        """The slot that is being written; None after a line of our own."""
        self._done = 0
        """The slots before this index are finished."""
        self._reached = 0
        """Text of the slots before this index was written."""
        self._reported: dict[int, int] = {}
        """The number of characters of reasoning that a line has reported, by the first slot of the passage."""
        self._reported_tokens = False
        self._last = ""

    def feed(self, event: Event) -> None:
        """Writes one event."""
        self._transcript.feed(event)
        if isinstance(event, Recast):
            self._read_again(event.index)
        self._update()

    def end(self) -> None:
        """Writes the remaining text and ends the last line."""
        self._update(is_final=True)
        for line in closing_lines(
            self._transcript, self._show, reported_tokens=self._reported_tokens
        ):
            self._line(line)
        self._end_line()

    def _read_again(self, index: int) -> None:
        self._done = min(self._done, index)
        self._reported = {first: size for first, size in self._reported.items() if first < index}
        if index < self._reached:
            self._reached = index
            self._line(READ_AGAIN)
            for slot in self._transcript.slots[index:]:
                if slot.kind == "thinking":
                    slot.take()  # it is already written above

    def _update(self, *, is_final: bool = False) -> None:
        passages = list(self._transcript.passages(self._done))
        for passage in passages:
            is_over = is_final or (not passage.is_active and passage is not passages[-1])
            if passage.kind == "thinking":
                self._thinking(passage, is_over=is_over)
            elif passage.kind == "text":
                for slot in passage.slots:
                    self._text(slot)
            elif not passage.is_open or is_final:
                self._other(passage)
            if passage.first == self._done and is_over and not passage.is_open:
                self._done = passage.end

    def _thinking(self, passage: Passage, *, is_over: bool) -> None:
        if self._show == "none":
            return
        for slot in passage.slots:
            text = slot.take()
            if self._show == "full" and text:
                self._enter(slot)
                self._quote(text)
        thought = passage.thought(self._show) if is_over else None
        if thought is None or self._reported.get(passage.first) == thought.characters:
            return
        self._reported[passage.first] = thought.characters
        self._reported_tokens = self._reported_tokens or self._transcript.tokens() is not None
        if self._show == "summary" and thought.text:
            self._enter(passage.slots[0])
            self._quote(visible(thought.text))
        self._line(f"[{self._transcript.outcome(passage, self._show)}]", below=True)

    def _text(self, slot: Slot) -> None:
        text = slot.take()
        if text:
            self._enter(slot)
            self._write(text)

    def _other(self, passage: Passage) -> None:
        if passage.first not in self._reported:
            self._reported[passage.first] = 0
            for line in passage.lines(self._show):
                self._line(line)

    def _enter(self, slot: Slot) -> None:
        """Continues a slot; a different slot begins after a blank line."""
        if slot is self._slot:
            return
        self._end_line()
        if self._last:
            self._write("\n")
        self._slot = slot
        self._reached = max(self._reached, self._transcript.slots.index(slot) + 1)

    def _line(self, line: str, *, below: bool = False) -> None:
        """Writes a line of our own, after a blank line unless it belongs to the text above."""
        self._end_line()
        if self._slot is not None and self._last and not below:
            self._write("\n")
        self._slot = None
        self._write(f"{line}\n")

    def _quote(self, text: str) -> None:
        for line in text.splitlines(keepends=True):
            self._write(f"{QUOTE}{line}" if self._last in ("", "\n") else line)

    def _end_line(self) -> None:
        if self._last not in ("", "\n"):
            self._write("\n")

    def _write(self, text: str) -> None:
        self._write_out(text)
        self._last = text[-1]


def closing_lines(transcript: Transcript, show: Policy, *, reported_tokens: bool) -> list[str]:
    """The last lines: reasoning tokens that no passage has reported, and why the response was interrupted."""
    lines = []
    tokens = transcript.usage.reasoning_tokens
    if tokens and show != "none" and not reported_tokens:
        lines.append(f"[{counted(tokens, 'token')} of reasoning]")
    if transcript.response is not None:
        items = view_of(transcript.response, show)[0].items
        lines += [line_of(item) for item in items if isinstance(item, Remark)]
    return lines
