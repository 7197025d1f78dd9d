"""Where a text is code, in which markers are text (rule S3).

A run of three or more backticks, or of tildes at the start of a line, opens a fence; a run of the same
character at least as long closes it, anywhere for backticks, at the start of a line for
tildes. One or two backticks open a span, which an equal run closes on the same line. A span that its
line does not close is not code: its backticks are plain characters, and the text after them is
read again.
"""

from __future__ import annotations

import re

__all__ = ["CodeTracker", "closing_run"]

_RUN = re.compile(r"`+|~+")
_TICKS = re.compile(r"``*")  # not `+: with a literal at its start the search skips to the next one


class CodeTracker:
    """Reads a text piece by piece and tells whether the next character is code.

    It is read lazily, only when a marker was found: a text without markers is never scanned for code.
    A piece must end before a character that continues no run, which a marker's first never does.
    """

    __slots__ = ("_fence", "_line", "at_line_start", "span")

    def __init__(self, *, at_line_start: bool) -> None:
        self.at_line_start = at_line_start
        self.span = 0
        """Length of the run that may have opened a span on the line being read."""
        self._fence = ""
        """The run that opened the fence."""
        self._line: list[str] = []
        """The text since the span opened."""

    @property
    def in_fence(self) -> bool:
        """Whether a fence is open."""
        return bool(self._fence)

    def read(self, text: str) -> None:
        """Reads the next piece."""
        if not text:
            return
        # Looked up once, or once for each stretch, so that every step costs only what it reads.
        position, tildes = 0, -1
        last_fence = max(text.rfind("```"), text.rfind("~~~"))
        last_line = text.rfind("\n") + 1
        while position < len(text):
            if self._fence:
                position = self._read_fence(text, position)
            elif self.span:
                position = self._read_span(text, position)
            elif position > last_fence:
                # Without a further fence, only the last line can leave something open.
                position = self._read_last_line(text, max(position, last_line))
            else:
                if tildes < position:
                    tildes = text.find("~~~", position)
                    tildes = len(text) if tildes < 0 else tildes
                position = self._read_prose(text, position, tildes)
        self.at_line_start = text[-1] == "\n"

    def _read_last_line(self, text: str, position: int) -> int:
        """Reads outside code where no fence follows; returns where to continue."""
        if text.find("``", position) >= 0:
            return self._read_prose(text, position, len(text))
        if text.count("`", position) % 2 == 0:
            return len(text)
        self.span = 1
        return text.rfind("`") + 1

    def _read_prose(self, text: str, position: int, tildes: int) -> int:
        """Reads outside code, up to what may be code, or to the next tildes that may be a fence; returns where to continue."""
        position = _closed_end(text, position, tildes)
        run = _RUN.match(text, position)
        if run is None:
            return position
        if run[0][0] == "~":
            if len(run[0]) >= 3 and self._starts_line(text, position):
                self._fence = run[0]
        elif len(run[0]) >= 3:
            self._fence = run[0]
        else:
            self.span = len(run[0])
        return run.end()

    def _read_fence(self, text: str, position: int) -> int:
        """Reads in a fence, up to the end of a run that may close it; returns where to continue."""
        start = text.find(self._fence, position)
        run = _RUN.match(text, start) if start >= 0 else None
        if run is None:
            return len(text)
        if run[0][0] == "`" or self._starts_line(text, start):
            self._fence = ""
        return run.end()

    def _read_span(self, text: str, position: int) -> int:
        """Reads in a span, to its end or that of its line; returns where to continue."""
        end, closed = closing_run(text, position, self.span)
        if closed:
            self.span = 0
            self._line.clear()
            return end
        end = min(end + 1, len(text))
        self._line.append(text[position:end])
        if text[end - 1] == "\n":
            self.forget_span()
        return end

    def _starts_line(self, text: str, position: int) -> bool:
        """Whether there is only white space before this place on its line."""
        while position and text[position - 1] in " \t":
            position -= 1
        return text[position - 1] == "\n" if position else self.at_line_start

    def forget_span(self) -> None:
        """The span was not closed on its line: reads that line again without it."""
        again = "".join(self._line)
        self.span = 0
        self._line.clear()
        # None of the other runs on this line is as long as this one, so this ends after one more.
        at_line_start, self.at_line_start = self.at_line_start, False
        self.read(again)
        self.at_line_start = at_line_start


def _closed_end(text: str, position: int, end: int) -> int:
    """Where the text begins that may leave something open; no run from `end` on opens anything. An expression for all of it is much slower."""
    for run in _TICKS.finditer(text, position, end):
        start, after = run.span()
        if start < position:
            continue  # closes what an earlier run opened
        if after - start == 1:
            closer = text.find("`", after)
            if (
                closer < 0
                or text.startswith("`", closer + 1)
                or text.find("\n", after, closer) >= 0
            ):
                return start
            position = closer + 1
        elif after - start == 3:
            closer = text.find("```", after)
            closing = _TICKS.match(text, closer) if closer >= 0 else None
            if closing is None:
                return start
            position = closing.end()
        else:
            return start
    return max(position, end)


def closing_run(text: str, start: int, length: int) -> tuple[int, bool]:
    """Searches for the run that closes a span, from `start` to the end of the line.

    Returns where the search ended and whether that is after a closing run. It ends at the line break
    that makes it not a span, or at the end of the text, where more may follow.
    """
    for run in _CLOSERS.finditer(text, start):
        if run[0] == "\n":
            return run.start(), False
        if len(run[0]) == length:
            return run.end(), True
    return len(text), False


_CLOSERS = re.compile(r"`+|\n")
