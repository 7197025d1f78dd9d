"""A transcript -> a terminal, drawn with rich; no other module imports rich.

Lines that no longer fit on the screen are printed permanently, from the top; the lines below them are
redrawn, so that a `Recast` can still change them. The model's text is never parsed as rich markup, and its
control characters were replaced before it gets here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TextIO, TypeAlias

from rich.cells import chop_cells
from rich.console import Console
from rich.live import Live
from rich.text import Text

from innervoice.canon.events import (
    Event,
    Heartbeat,
    Recast,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
)
from innervoice.show.policy import Policy
from innervoice.show.sequence import READ_AGAIN, closing_lines
from innervoice.show.transcript import Passage, Transcript, without_blank_lines
from innervoice.show.visible import visible

__all__ = ["Console", "Screen"]

_Line: TypeAlias = tuple[str, str]
"""A style and a text without line breaks."""

_DIM = "dim"
_GAP: _Line = ("", "")
_TAB = "    "
_SMALL = (TextDelta, ThinkingDelta, ToolCallDelta, Heartbeat)


class Screen:
    """Draws a stream: permanent lines, and below them lines that may still change."""

    def __init__(
        self,
        transcript: Transcript,
        console: Console | None,
        show: Policy,
        *,
        file: TextIO,
        keep: bool,
        clock: Callable[[], float],
        refresh_per_second: float,
    ) -> None:
        self._transcript = transcript
        self._console = console or Console(file=file)
        self._show = show
        self._keep = keep
        self._clock = clock
        self._pause = 1 / refresh_per_second if refresh_per_second else 0.0
        self._settled = clock()
        self._next = 0
        """The index of the first slot that is not printed permanently."""
        self._offset = 0
        """How many characters of that slot's passage are printed, if it is a text."""
        self._above: str | None = None
        """The kind of the last printed passage."""
        self._reported_tokens = False
        # Held while drawing: rich's own locks do not prevent two threads from writing in another order
        # than the one in which they moved the cursor. So rich's refresh thread is off, and ours is used.
        self._lock = threading.RLock()
        self._ended = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)
        self._live = Live(
            console=self._console, get_renderable=self._region, auto_refresh=False, transient=True
        )

    def feed(self, event: Event) -> None:
        """Draws one event."""
        with self._lock:
            self._transcript.feed(event)
            if not self._live.is_started:
                self._start()
            lines = self._rewound(event.index) if isinstance(event, Recast) else []
            if not isinstance(event, _SMALL) or self._clock() - self._settled >= self._pause:
                lines += self._overflow()
                self._settled = self._clock()
            self._print(lines)
            if not self._pause:
                self._live.refresh()

    def end(self) -> None:
        """Prints the remaining lines permanently."""
        self._ended.set()
        if self._ticker.ident is not None:
            self._ticker.join()
        try:
            self._live.stop()
        except (
            IndexError
        ):  # Ctrl+C came while rich started: it removes a hook that it has not added yet
            self._console.show_cursor()
        passages = list(self._transcript.passages(self._next))
        lines = [line for passage in passages for line in self._printed(passage)]
        about = closing_lines(self._transcript, self._show, reported_tokens=self._reported_tokens)
        if about and self._above:
            lines.append(_GAP)
        self._print([*lines, *((_DIM, line) for line in about)])

    def _start(self) -> None:
        self._live.start()
        if self._pause:
            self._ticker.start()

    def _tick(self) -> None:
        """Redraws periodically, for new text and the elapsed time."""
        while not self._ended.wait(self._pause):
            try:
                with self._lock:
                    self._live.refresh()
            except (OSError, ValueError):
                return  # the terminal is gone; the next `feed` raises

    def _print(self, lines: list[_Line]) -> None:
        if not lines:
            return
        with self._console:  # a single write, to avoid flicker
            self._console.print(_rich(lines), soft_wrap=True)
            if self._live.is_started:
                self._live.refresh()

    def _region(self) -> Text:
        """The lines that may still change, as many as fit."""
        rows: list[_Line] = []
        above = self._above
        for passage in self._transcript.passages(self._next):
            drawn = self._rows(passage)
            if drawn and self._is_apart(passage, above):
                rows.append(_GAP)
            rows += drawn
            above = passage.kind if drawn else above
        return _rich(rows[-self._room() :])

    def _overflow(self) -> list[_Line]:
        """Takes the lines from the top that do not fit."""
        lines: list[_Line] = []
        passages = list(self._transcript.passages(self._next))
        sizes = [len(self._rows(passage)) + 1 for passage in passages]
        excess = sum(sizes) - self._room()
        for passage, size in zip(passages, sizes, strict=True):
            if excess <= 0 or (passage.is_active and passage.kind != "text"):
                break
            may_grow = passage.is_open if passage.kind == "text" else passage is passages[-1]
            if size > excess or may_grow:
                lines += self._head(passage, excess) if passage.kind == "text" else []
                break
            lines += self._printed(passage)
            excess -= size
        return lines

    def _head(self, passage: Passage, excess: int) -> list[_Line]:
        """Takes `excess` rows from the beginning of a text, in whole lines if possible."""
        text = self._text(passage)
        taken = 0
        lines: list[str] = []
        for line in text.split("\n")[:-1]:
            if excess <= 0:
                break
            lines.append(line)
            taken += len(line) + 1
            excess -= max(1, len(chop_cells(line, self._console.width)))
        if not lines and excess > 0:
            # A line longer than the screen; cut where it wraps, it looks the same.
            rows = chop_cells(text, self._console.width)[:-1][:excess]
            lines = ["".join(rows)] if rows else []
            taken = sum(map(len, rows))
        if not lines:
            return []
        gap = [_GAP] if self._is_apart(passage, self._above) else []
        self._offset = len(self._whole(passage)) - len(text) + taken
        self._above = passage.kind
        return [*gap, *(("", line) for line in lines)]

    def _printed(self, passage: Passage) -> list[_Line]:
        """Takes a complete passage."""
        lines = self._lines(passage)
        gap = [_GAP] if lines and self._is_apart(passage, self._above) else []
        self._next, self._offset = passage.end, 0
        if lines:
            self._above = passage.kind
        if lines and passage.kind == "thinking" and self._transcript.tokens() is not None:
            self._reported_tokens = True
        return gap + lines

    def _rewound(self, index: int) -> list[_Line]:
        """Goes back to the replaced parts; prints a notice if they were already printed."""
        if index > self._next or (index == self._next and not self._offset):
            return []
        self._next, self._offset = index, 0
        self._above = "other"
        return [_GAP, (_DIM, READ_AGAIN)]

    def _rows(self, passage: Passage) -> list[_Line]:
        """A passage as it is drawn now, wrapped to the width."""
        lines = self._lines(passage) if passage.kind == "text" else self._lines_now(passage)
        width = self._console.width
        return [(style, row) for style, line in lines for row in chop_cells(line, width) or [""]]

    def _lines_now(self, passage: Passage) -> list[_Line]:
        if passage.kind != "thinking" or not passage.is_active:
            return self._lines(passage)
        if self._show == "none":
            return []
        status = (_DIM, self._transcript.status(passage, self._show))
        streams = self._show == "full"
        return [status, *self._tail(passage)] if streams else [status]

    def _tail(self, passage: Passage) -> list[_Line]:
        """The last lines of unfinished reasoning."""
        room = max(3, self._room() // 2)
        text = self._whole(passage)[-room * self._console.width :].strip("\n")
        rows = [
            row
            for line in text.split("\n")
            for row in chop_cells(line, self._console.width) or [""]
        ]
        return [(f"{_DIM} italic", row) for row in rows[-room:]] if text else []

    def _lines(self, passage: Passage) -> list[_Line]:
        """The lines of a finished passage, or of any text."""
        if passage.kind == "text":
            text = self._text(passage).rstrip()
            return [("", line) for line in text.split("\n")] if text else []
        if passage.kind == "other":
            return [(_DIM, line) for line in passage.lines(self._show)]
        thought = passage.thought(self._show) if self._show != "none" else None
        if thought is None:
            return []
        outcome = (_DIM, self._transcript.outcome(passage, self._show) or "")
        if not self._keep or not thought.text:
            return [outcome]
        text = visible(thought.text).replace("\t", _TAB).strip("\n")
        return [*((f"{_DIM} italic", line) for line in text.split("\n")), outcome]

    def _text(self, passage: Passage) -> str:
        """The text of a passage that is not yet printed."""
        if passage.first == self._next and self._offset:
            return self._whole(passage)[self._offset :]
        return without_blank_lines(self._whole(passage))

    def _whole(self, passage: Passage) -> str:
        return "".join(slot.text for slot in passage.slots).replace("\t", _TAB)

    def _is_apart(self, passage: Passage, above: str | None) -> bool:
        """Whether a blank line comes before a passage."""
        if above is None or (passage.first == self._next and self._offset):
            return False
        return not (above == passage.kind == "other")

    def _room(self) -> int:
        return max(4, self._console.height - 2)


def _rich(lines: Iterable[_Line]) -> Text:
    return Text("\n", no_wrap=True, end="").join([Text(line, style) for style, line in lines])
