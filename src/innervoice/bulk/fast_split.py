"""Texts -> columns of answers and reasoning, as `split` returns them; usual texts are read without a splitter.

A text without a marker is its own answer; the usual markers are read by `marker_scan.py`; the rest, and texts with hints about the model, go through
the splitter. Tests with every corpus text and with generated ones check that all ways give the same (answer, reasoning, status, notes).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from innervoice.bulk.marker_scan import ends_in_token, scan
from innervoice.bulk.split_text import SplitText, status_of
from innervoice.canon.parts import Thinking
from innervoice.canon.response import FinishReason, Response
from innervoice.inline.formats import DEFAULT_TAGS
from innervoice.inline.vocabulary import vocabulary
from innervoice.splitting import Splitter

__all__ = ["TextSplitter"]


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

    def _name(self, found: re.Match[str]) -> str | None:
        """The name of the markup that a marker begins or ends; None for a wrapper, which may come before it."""
        if found.lastgroup == "tag":
            return found["name"].lower()
        token = self._vocabulary.tokens[found.lastgroup or ""]
        return token.row.name if token.row and token.role != "wrapper" else None
