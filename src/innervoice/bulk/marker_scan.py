"""A whole text -> its answer and its reasoning, by the markers alone, for the usual output of models.

This is the splitter of `inline/` without events, chunks and corrections: blocks of tags or tokens, a closer whose opener was in the
prompt, wrappers around the answer, and markers in code. Where rules S1-S10 need more than that, it gives up (`None`), and the text goes
through the splitter. Its results are those of the splitter; a property test compares the two.
"""

from __future__ import annotations

import re

from innervoice.bulk.split_text import SplitText, status_of
from innervoice.canon.response import FinishReason
from innervoice.canon.views import BLANKS, CUT, NOTHING, is_blank, joined
from innervoice.inline.actions import ORPHAN_MINIMUM
from innervoice.inline.code import CodeTracker, closing_run
from innervoice.inline.formats import Format
from innervoice.inline.pattern import LONGEST_MARKER, LONGEST_TAG
from innervoice.inline.vocabulary import Vocabulary

__all__ = ["ends_in_token", "scan"]

_NO_BLANKS = dict.fromkeys(map(ord, BLANKS))
_HEAD = 256  # enough of a text to count the characters that an orphan closer needs
_GIVE_UP = -1


def scan(text: str, words: Vocabulary, finish: FinishReason | None) -> SplitText | None:
    """The columns of a text; None if the splitter must decide."""
    marker = words.find(text, 0)
    if marker is None:
        body = text.lstrip()
        if body[:1] == "<" or ends_in_token(text, words):
            return None  # perhaps a call that was written out, or a token that was cut off
        return SplitText(text, None, status_of(finish, answered=bool(body)))
    if ends_in_token(text, words):
        return None
    return _Scan(text, words).columns(marker, finish)


def ends_in_token(text: str, words: Vocabulary) -> bool:
    """Whether a text may end in a control token that was cut off."""
    tail = text[-LONGEST_MARKER:]
    half = words.half.search(tail) if "<|" in tail else None
    whole = words.search.match(tail, half.start()) if half else None
    return half is not None and (whole is None or whole.end() < len(tail))


class _Scan:
    """One text."""

    __slots__ = (
        "_blank",
        "_code",
        "_gaps",
        "_is_open",
        "_markup",
        "_notes",
        "_read",
        "_row",
        "_runs",
        "_start",
        "_text",
        "_thoughts",
        "_words",
    )

    def __init__(self, text: str, words: Vocabulary) -> None:
        self._text = text
        self._words = words
        self._runs: list[str] = []
        self._gaps = [NOTHING]
        self._thoughts: list[str] = []
        self._notes: dict[str, None] = {}
        self._markup: str | None = None
        self._row: Format | None = None
        self._is_open = False  # reasoning was never closed
        self._blank = True  # only white space in the answer so far
        self._start = 0  # where the text begins that was not added yet
        self._code: CodeTracker | None = None
        self._read = 0  # how far that text was read for code

    def columns(
        self, marker: re.Match[str] | None, finish: FinishReason | None
    ) -> SplitText | None:
        """The columns; None if the splitter must decide."""
        while marker:
            position = self._meet(marker)
            if position == _GIVE_UP:
                return None
            marker = self._words.find(self._text, position)
        self._say(self._text[self._start :])
        return self._whole(finish)

    def _meet(self, found: re.Match[str]) -> int:
        """Handles a marker in the answer; returns where to continue, `_GIVE_UP` if that is unknown."""
        role, row, name = self._meaning(found)
        start, end = found.span()
        if role is None or (row is None and end - start > LONGEST_TAG):
            return _GIVE_UP
        code_end = self._code_end(start, end)
        if code_end:
            return code_end
        before = self._text[self._start : start]
        if self._blank and (first := before.lstrip(BLANKS)[:1]) and first in "{[":
            return _GIVE_UP  # perhaps JSON
        if role == "open":
            self._cut(before)
            return self._think(row, name, found[0], end)
        if role == "close":
            return self._close_orphan(before, name, end)
        self._notes["wrapper_removed"] = None
        self._cut(before)
        # The part continues after a wrapper, and its code with it.
        self._start = self._read = end
        return end

    def _meaning(self, found: re.Match[str]) -> tuple[str | None, Format | None, str]:
        group = found.lastgroup or ""
        if group == "tag":
            name = found["name"].lower()
            return "close" if found["slash"] else "open", None, name
        token = self._words.tokens[group]
        row = token.row
        if (
            row is None
            or token.head
            or token.bare
            or token.grows
            or row.channel
            or row.label
            or row.paired
        ):
            return None, None, ""
        return token.role if token.role in ("open", "close", "wrapper") else None, row, row.name

    def _think(self, row: Format | None, name: str, opener: str, inside: int) -> int:
        """Reads reasoning to its closer; returns where to continue."""
        text, find = self._text, self._words.find
        at_head, position = self._blank, inside
        while marker := find(text, position):
            role, other, is_own = self._meaning(marker)
            start, position = marker.span()
            if role is None or position - start > LONGEST_TAG:
                return _GIVE_UP
            if other is not row or role == "wrapper":
                continue  # text
            if role == "close":
                return self._add(text[inside:start], name, opener, position)
            if row is not None or is_own == name:
                return _GIVE_UP  # a repeated opener
        if not at_head:
            return _GIVE_UP
        self._notes["unclosed_thinking"] = None
        self._is_open = True
        return self._add(text[inside:], name, opener, len(text))

    def _close_orphan(self, before: str, name: str, end: int) -> int:
        """A closer whose opener was in the prompt (S5)."""
        if self._thoughts or self._markup or self._notes or self._runs:
            return _GIVE_UP
        if len(before[:_HEAD].translate(_NO_BLANKS)) < ORPHAN_MINIMUM:
            return _GIVE_UP
        self._notes["orphan_closer"] = None
        return self._add(before, name, "", end)

    def _add(self, thought: str, name: str, opener: str, end: int) -> int:
        """Adds reasoning that ends here."""
        stripped = thought.strip()
        if self._thoughts and opener.endswith(self._thoughts[-1]):
            return _GIVE_UP  # looks as if a field went on here
        self._markup = self._markup or name
        if stripped:
            self._thoughts.append(stripped)
        self._gaps[-1] |= CUT
        self._start, self._code, self._read = end, None, end
        return end

    def _cut(self, before: str) -> None:
        self._say(before)
        self._gaps[-1] |= CUT

    def _say(self, text: str) -> None:
        if text:
            self._runs.append(text)
            self._gaps.append(NOTHING)
            self._blank = self._blank and is_blank(text)

    def _code_end(self, start: int, end: int) -> int | None:
        """Where the code around a marker ends; None outside code."""
        text = self._text
        if self._read == start:
            return None
        piece = text[self._read : start]
        if self._code is None:
            self._code = CodeTracker(at_line_start=self._blank)
        self._read = start
        self._code.read(piece)
        if self._code.span:
            stop, closed = closing_run(text, start, self._code.span)
            return stop if closed else _GIVE_UP
        return end if self._code.in_fence else None

    def _whole(self, finish: FinishReason | None) -> SplitText | None:
        reasoning = "\n\n".join(self._thoughts) or None
        first = next((run.lstrip()[0] for run in self._runs if not run.isspace()), "")
        if first == "<" or (not first and "tool_call" in self._text):
            return None  # perhaps a call that was written out, which gets a note
        answer = joined(self._runs, self._gaps)
        status = status_of(finish, answered=bool(answer.strip()), is_open=self._is_open)
        if self._markup:
            self._notes["inline_thinking"] = None
        if self._blank and status == "empty" and reasoning:
            self._notes["answer_in_reasoning"] = None
        return SplitText(answer, reasoning, status, tuple(self._notes), self._markup)
