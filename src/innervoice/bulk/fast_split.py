"""Texts -> columns of answers and reasoning, as `split` returns them; usual texts are read without a splitter.

A text without a marker is its own answer; the usual markers are read by `scan` (below); the rest, and texts with hints about the model, go through
the splitter. Tests with every corpus text and with generated ones check that all ways give the same (answer, reasoning, status, notes).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from innervoice.canon.parts import Thinking
from innervoice.canon.response import FinishReason, Response, Status
from innervoice.canon.views import BLANKS, CUT, NOTHING, is_blank, joined
from innervoice.inline.actions import ORPHAN_MINIMUM
from innervoice.inline.code import CodeTracker, closing_run
from innervoice.inline.formats import DEFAULT_TAGS, Format
from innervoice.inline.pattern import LONGEST_MARKER, LONGEST_TAG
from innervoice.inline.vocabulary import Vocabulary, vocabulary
from innervoice.splitting import Splitter

__all__ = ["SplitText", "TextSplitter", "scan", "status_of"]


class TextSplitter:
    """Splits texts with one set of hints, which are those of `innervoice.split`."""

    def __init__(
        self,
        model: str | None = None,
        prefix_open: bool | None = None,
        markup: Iterable[str] = (),
    ) -> None:
        self._hints = {"model": model, "prefix_open": prefix_open, "markup": tuple(markup)}
        Splitter(**self._hints)  # type: ignore[arg-type] # wrong hints fail here, not in a row
        self._vocabulary = vocabulary(DEFAULT_TAGS, tuple(dict.fromkeys(markup)))
        # Hints such as a card or a prefix are left to the splitter.
        self._is_plain = model is None and not prefix_open

    def split(self, text: str, finish: FinishReason | None = None) -> SplitText:
        """Splits a text; equal to `split(text, ...)` with these hints."""
        columns = scan(text, self._vocabulary, finish) if self._is_plain else None
        return columns or self.columns_of(self.response(text, finish))

    def split_all(
        self, texts: Sequence[str], finishes: Sequence[FinishReason | None] | None = None
    ) -> list[SplitText]:
        """Splits many texts."""
        if finishes is None:
            return [self.split(text) for text in texts]
        return [self.split(text, finish) for text, finish in zip(texts, finishes, strict=True)]

    def response(
        self, text: str, finish: FinishReason | None = None, *, elsewhere: bool = False
    ) -> Response:
        """Splits a text with the splitter; `elsewhere` says that a separate field has reasoning (rule S5)."""
        splitter = Splitter(**self._hints, finish_reason=finish)  # type: ignore[arg-type]
        if elsewhere:
            splitter.reasoning_elsewhere()
        splitter.feed(text)
        splitter.finish()
        return splitter.response

    def has_marker(self, text: str) -> bool:
        """Whether the text contains a marker, or half of one at its end, or hints must be applied."""
        if not self._is_plain or self._vocabulary.find(text, 0) is not None:
            return True
        return ends_in_token(text, self._vocabulary)

    def ends_thought(self, text: str) -> bool:
        """Whether the first marker of a text ends reasoning, which the text did not begin."""
        marker = self._vocabulary.find(text, 0)
        if marker is None:
            return False
        if marker.lastgroup == "tag":
            return bool(marker["slash"])
        return self._vocabulary.tokens[marker.lastgroup or ""].role == "close"

    def columns_of(self, response: Response) -> SplitText:
        """The columns of a text that was split."""
        answer = response.text
        thoughts = [part for part in response.parts if type(part) is Thinking]
        notes = tuple(note.code for note in response.notes)
        status = status_of(
            response.finish_reason,
            answered=bool(answer.strip()),
            is_open=bool(thoughts) and not thoughts[-1].complete,
        )
        markup = self._markup_of(thoughts[0]) if thoughts else None
        return SplitText(answer, response.thinking, status, notes, markup)

    def _markup_of(self, thought: Thinking) -> str | None:
        removed = (thought.origin.markup if thought.origin else None) or ()
        for mark in removed:
            position = 0
            while marker := self._vocabulary.find(mark.text, position):
                if name := self._name(marker):
                    return name
                position = marker.end()
        return None

    def _name(self, marker: re.Match[str]) -> str | None:
        """The name of the markup that a marker begins or ends; None for a wrapper, which may come before it."""
        if marker.lastgroup == "tag":
            return marker["name"].lower()
        token = self._vocabulary.tokens[marker.lastgroup or ""]
        return token.row.name if token.row and token.role != "wrapper" else None


# ---- A whole text -> its answer and its reasoning, by the markers alone, for the usual output of models.
#
# This is the splitter of `inline/` without events, chunks and corrections: blocks of tags or tokens, a closer whose opener was in the
# prompt, wrappers around the answer, and markers in code. Where rules S1-S10 need more than that, it gives up (`None`), and the text goes
# through the splitter. Its results are those of the splitter; a property test compares the two.


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
    token = words.tokens.get(marker.lastgroup or "")
    if token is not None and token.row is not None and token.row.channel:
        if marker.start():
            return None
        return _Scan(text, words).columns_of_channels(marker, token.row, finish)
    return _Scan(text, words).columns(marker, finish)


def ends_in_token(text: str, words: Vocabulary) -> bool:
    """Whether a text may end in a control token that was cut off."""
    tail = text[-LONGEST_MARKER:]
    half = words.half.search(tail) if "<|" in tail else None
    whole = words.search.match(tail, half.start()) if half else None
    return half is not None and (whole is None or whole.end() < len(tail))


_CHANNELS = re.compile("T-?(?:E?A-?E*)?")
"""The markers of a text with channels, and where it has something between them."""
_MOST_OF_CHANNELS = 8
"""Two channels have four markers, and a few more may end the text."""


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

    def columns_of_channels(
        self, marker: re.Match[str], row: Format, finish: FinishReason | None
    ) -> SplitText | None:
        """The columns of a text that is one channel of reasoning and one of the answer, or has only the first; None for all others."""
        text, found, shape = self._text, [marker], self._letter(marker, row)
        is_over = False
        while not is_over and shape[-1] != "?":
            if len(found) > _MOST_OF_CHANNELS:
                return None
            end = found[-1].end()
            later = self._words.find(text, end)
            is_over = later is None
            if (later.start() if later else len(text)) > end:
                shape += "-"
            if later:
                shape += self._letter(later, row)
                found.append(later)
        if not _CHANNELS.fullmatch(shape):
            return None
        inside = marker.end()
        if len(found) == 1:
            self._notes["unclosed_thinking"] = None
            self._is_open = True
            self._add(text[inside:], row.name, "", len(text))
            return self._whole(finish)
        at = shape.replace("-", "").index("A")
        self._add(text[inside : found[1].start()], row.name, "", found[at].end())
        return self._answer_of_channel(found[at + 1 :], finish)

    def _answer_of_channel(
        self, ends: list[re.Match[str]], finish: FinishReason | None
    ) -> SplitText | None:
        """The same from the answer on, with what ends it at the end of the text."""
        if not ends:
            self._say(self._text[self._start :])
            return self._whole(finish)
        start = ends[0].start()
        answer = self._text[self._start : start]
        # JSON is left alone, and a marker in code is text.
        if answer.lstrip(BLANKS)[:1] in ("{", "[") or self._code_end(start, ends[0].end()):
            return None
        self._notes["wrapper_removed"] = None
        self._cut(answer)
        return self._whole(finish)

    def _letter(self, marker: re.Match[str], row: Format) -> str:
        """What a marker is in a channel: T and A begin reasoning and the answer, E ends them; anything else is not read here."""
        token = self._words.tokens.get(marker.lastgroup or "")
        if token is None or token.row is not row or token.bare or token.head or token.grows:
            return "?"
        if token.role == "header":
            return {"thinking": "T", "text": "A"}.get(token.kind(marker[0]), "?")
        return "E" if token.role == "end" else "?"

    def _meet(self, marker: re.Match[str]) -> int:
        """Handles a marker in the answer; returns where to continue, `_GIVE_UP` if that is unknown."""
        role, row, name = self._meaning(marker)
        start, end = marker.span()
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
            return self._think(row, name, marker[0], end)
        if role == "close":
            return self._close_orphan(before, name, end)
        self._notes["wrapper_removed"] = None
        self._cut(before)
        # The part continues after a wrapper, and its code with it.
        self._start = self._read = end
        return end

    def _meaning(self, marker: re.Match[str]) -> tuple[str | None, Format | None, str]:
        group = marker.lastgroup or ""
        if group == "tag":
            name = marker["name"].lower()
            return "close" if marker["slash"] else "open", None, name
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
        while marker := find(text, position, inside=True):
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


# ---- The columns of a text, and its status.


class SplitText(NamedTuple):
    """The columns of a text."""

    answer: str | None
    """None only where there is no text at all, as in a row that cannot be read."""
    reasoning: str | None
    status: str
    notes: tuple[str, ...] = ()
    markup: str | None = None
    """The name of the tag, or of the row of `inline/formats.py`."""


def status_of(
    finish: str | None, *, answered: bool, is_open: bool = False, calls: bool = False
) -> Status:
    """The status of a complete text, as in `Response.status`."""
    if finish == "refusal":
        return "refused"
    if finish == "length":
        return "truncated" if answered or calls else "budget_exhausted"
    if calls:
        return "tool_calls"
    if answered:
        return "answered"
    return "stopped_inside_thinking" if is_open else "empty"
