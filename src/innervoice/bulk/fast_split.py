"""Texts -> columns of answers and reasoning, as `split` gives them; the usual texts without a splitter.

Four shapes are read off the markers: a text without any, a block of tags at the head and the answer behind it, a block that was never closed,
and a closing tag whose opener stood in the prompt. Every other text, and every hint about the model, goes through the splitter. That both ways
give the same (answer, reasoning, status, notes) is tested with every corpus text and with generated ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from innervoice.canon.parts import Thinking
from innervoice.canon.response import FinishReason, Response, Status
from innervoice.canon.views import BLANKS, is_blank, without_head
from innervoice.inline.actions import ORPHAN_MINIMUM
from innervoice.inline.code import CodeTracker
from innervoice.inline.formats import DEFAULT_TAGS
from innervoice.inline.pattern import LONGEST_MARKER, LONGEST_TAG
from innervoice.inline.vocabulary import vocabulary
from innervoice.splitting import Splitter

__all__ = ["SplitText", "TextSplitter", "status_of"]

_NO_BLANKS = dict.fromkeys(map(ord, BLANKS))
_HEAD = 256  # enough of a text to count the characters that an orphan closer needs


class SplitText(NamedTuple):
    """What a text says, by column."""

    answer: str | None
    """None only where there is no text at all, as in a row that cannot be read."""
    reasoning: str | None
    status: str
    notes: tuple[str, ...] = ()
    markup: str | None = None
    """The name of the tag, or of the row of `inline/formats.py`."""


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
        # What a card or a prefix changes is left to the splitter.
        self._is_plain = model is None and not prefix_open

    def split(self, text: str, finish: FinishReason | None = None) -> SplitText:
        """Splits a text; equal to `split(text, ...)` with these hints."""
        found = self._fast(text, finish) if self._is_plain else None
        return found or self.columns_of(self.response(text, finish))

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
        """Splits a text by the splitter; `elsewhere` says that a field beside it has reasoning (rule S5)."""
        splitter = Splitter(**self._hints, finish_reason=finish)  # type: ignore[arg-type]
        if elsewhere:
            splitter.reasoning_elsewhere()
        splitter.feed(text)
        splitter.finish()
        return splitter.response

    def has_marker(self, text: str) -> bool:
        """Whether the text has anything to decide."""
        return not self._is_plain or self._vocabulary.find(text, 0) is not None

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
            if found := self._vocabulary.find(mark.text, 0):
                return self._name(found)
        return None

    def _name(self, found: re.Match[str]) -> str | None:
        if found.lastgroup == "tag":
            return found["name"].lower()
        row = self._vocabulary.tokens[found.lastgroup or ""].row
        return row.name if row else None

    # ---- without a splitter ----------------------------------------------------------------------

    def _fast(self, text: str, finish: FinishReason | None) -> SplitText | None:  # noqa: PLR0911 - a return for each shape
        """The columns of a text of a usual shape; None if it takes a splitter to tell."""
        if finish == "length" and "<|" in text[-LONGEST_MARKER:]:
            return None  # a control token may have been cut off
        find = self._vocabulary.find
        first = find(text, 0)
        if first is None:
            return _without_markers(text, finish)
        start, inside = first.span()
        if first.lastgroup != "tag" or inside - start > LONGEST_TAG:
            return None
        if first["slash"]:
            return None if find(text, inside) else _orphan(text, first, finish)
        if start and not text[:start].isspace():
            return None
        name = first["name"].lower()
        closer = find(text, inside)
        if closer is None:
            return _unclosed(text[inside:], name, finish)
        end, behind = closer.span()
        if closer.lastgroup != "tag" or not closer["slash"] or behind - end > LONGEST_TAG:
            return None
        if find(text, behind):
            return None
        return _block(text[inside:end], text[behind:], ("inline_thinking",), name, finish)


def status_of(
    finish: str | None, *, answered: bool, is_open: bool = False, calls: bool = False
) -> Status:
    """The status of a text that came whole, as `Response.status` has it."""
    if finish == "refusal":
        return "refused"
    if finish == "length":
        return "truncated" if answered or calls else "budget_exhausted"
    if calls:
        return "tool_calls"
    if answered:
        return "answered"
    return "stopped_inside_thinking" if is_open else "empty"


def _without_markers(text: str, finish: FinishReason | None) -> SplitText | None:
    said = text.lstrip()
    if said[:1] == "<":
        return None  # perhaps a call that was written out, which gets a note
    return SplitText(text, None, status_of(finish, answered=bool(said)))


def _unclosed(inside: str, name: str, finish: FinishReason | None) -> SplitText | None:
    if "tool_call" in inside:
        return None
    status = status_of(finish, answered=False, is_open=True)
    return SplitText("", inside.strip() or None, status, _UNCLOSED, name)


_UNCLOSED = ("unclosed_thinking", "inline_thinking")


def _orphan(text: str, closer: re.Match[str], finish: FinishReason | None) -> SplitText | None:
    """Reasoning whose opener stood in the prompt (S5), where its closer is not code (S3) and the text no JSON (S2)."""
    head = text[: closer.start()]
    beginning = head[:_HEAD].translate(_NO_BLANKS)
    if len(beginning) < ORPHAN_MINIMUM or beginning[0] in "{[":
        return None
    if "`" in head or "~~~" in head:
        code = CodeTracker(at_line_start=True)
        code.read(head)
        if code.span or code.in_fence:
            return None
    notes = ("orphan_closer", "inline_thinking")
    return _block(head, text[closer.end() :], notes, closer["name"].lower(), finish)


def _block(
    inside: str, behind: str, notes: tuple[str, ...], name: str, finish: FinishReason | None
) -> SplitText | None:
    """Reasoning that was closed, and what stands behind it."""
    reasoning = inside.strip() or None
    first = behind.lstrip()[:1]
    if first == "<" or (not first and "tool_call" in inside):
        return None
    answer = "" if is_blank(behind) else without_head(behind)
    status = status_of(finish, answered=bool(answer))
    if status == "empty" and reasoning:
        notes = (*notes, "answer_in_reasoning")
    return SplitText(answer, reasoning, status, notes, name)
