"""Where a text is code, in which markers are text (rule S3).

A run of three or more backticks, or of tildes at the start of a line, opens a fence; a run of the same
character at least as long closes it, wherever it stands for backticks, at the start of a line for
tildes. One or two backticks open a span, which an equal run closes on the same line. A span that its
line does not close was no code at all: its backticks are plain characters, and what follows them is
looked at again.
"""

from __future__ import annotations

import re

__all__ = ["CodeTracker", "closing_run"]

_RUNS = re.compile(r"(?P<ticks>`+)|^[ \t]*(?P<tildes>~{3,})|(?P<line>\n)", re.MULTILINE)


class CodeTracker:
    """Reads a text piece by piece and says whether what comes next is code.

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
        """What was read since the span opened."""

    @property
    def in_fence(self) -> bool:
        """Whether a fence is open."""
        return bool(self._fence)

    def read(self, text: str) -> None:
        """Reads on."""
        if not text:
            return
        position = 0
        for run in _RUNS.finditer(text):
            if run["tildes"] and run.start() == 0 and not self.at_line_start:
                continue
            if self.span:
                self._line.append(text[position : run.end()])
                position = run.end()
            if run["line"]:
                if self.span:
                    self.forget_span()
            else:
                self._meet(run["ticks"] or run["tildes"])
                position = run.end()
        if self.span:
            self._line.append(text[position:])
        self.at_line_start = text.endswith("\n")

    def _meet(self, run: str) -> None:
        """Takes a run of backticks or tildes: it opens, closes or is nothing."""
        if self._fence:
            if run[0] == self._fence[0] and len(run) >= len(self._fence):
                self._fence = ""
        elif self.span:
            if len(run) == self.span and run[0] == "`":
                self.span = 0
                self._line.clear()
        elif len(run) >= 3:
            self._fence = run
        else:
            self.span = len(run)
            self._line.clear()

    def forget_span(self) -> None:
        """The span was not closed on its line: reads that line again without it."""
        again = "".join(self._line)
        self.span = 0
        self._line.clear()
        # Of the runs left on this line none is as long as this one, so this ends after one more.
        at_line_start, self.at_line_start = self.at_line_start, False
        self.read(again)
        self.at_line_start = at_line_start


def closing_run(text: str, start: int, length: int) -> tuple[int, bool]:
    """Looks for the run that closes a span, from `start` to the end of the line.

    Gives where the search ended and whether that is behind a closing run. It ends at the line break
    that makes the span no span, or at the end of the text, where more may come.
    """
    for run in _CLOSERS.finditer(text, start):
        if run[0] == "\n":
            return run.start(), False
        if len(run[0]) == length:
            return run.end(), True
    return len(text), False


_CLOSERS = re.compile(r"`+|\n")
