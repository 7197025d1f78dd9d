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

# Text in which nothing stays open: neither backticks nor tildes, spans of one backtick, fences of three, a few tildes.
_CLOSED = re.compile(r"(?:[^`~]++|`[^`\n]++`(?!`)|`{3}(?!`)[^`]*+`{3,}+|~{1,2}+(?!~))*+")
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
        position = 0
        last_fence = max(text.rfind("```"), text.rfind("~~~"))
        while position < len(text):
            if self._fence:
                position = self._read_fence(text, position)
            elif self.span:
                position = self._read_span(text, position)
            else:
                position = self._read_prose(text, position, last_fence)
        self.at_line_start = text[-1] == "\n"

    def _read_prose(self, text: str, position: int, last_fence: int) -> int:
        """Reads outside code, up to what may be code; returns where to continue."""
        if position > last_fence:
            # Without a further fence, only the last line can leave something open.
            position = max(position, text.rfind("\n") + 1)
            if text.find("``", position) < 0:
                if text.count("`", position) % 2 == 0:
                    return len(text)
                self.span = 1
                return text.rfind("`") + 1
        if "~" in text and "~~~" in text:
            closed = _CLOSED.match(text, position)
            position = closed.end() if closed else position
        else:
            position = _closed_end(text, position)
        run = _RUN.match(text, position)
        if run is None:
            return position
        if run[0][0] == "~":
            if self._starts_line(text, position):
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


def _closed_end(text: str, position: int) -> int:
    """Where the text begins that may leave something open, in one without tilde fences; much faster than an expression that reads all of it."""
    for run in _TICKS.finditer(text, position):
        start, end = run.span()
        if start < position:
            continue  # closes what an earlier run opened
        if end - start == 1:
            closer = text.find("`", end)
            if closer < 0 or text.startswith("`", closer + 1) or text.find("\n", end, closer) >= 0:
                return start
            position = closer + 1
        elif end - start == 3:
            closer = text.find("```", end)
            closing = _TICKS.match(text, closer) if closer >= 0 else None
            if closing is None:
                return start
            position = closing.end()
        else:
            return start
    return len(text)


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
