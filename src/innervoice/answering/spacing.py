"""White space next to reasoning that was cut out of a text, in an answer that is written as it arrives (rule S7).

The views of a whole response know what follows (`canon/views.py`). Here only the text after a cut is known: white space before it
has already been written.
"""

from __future__ import annotations

from innervoice.canon.views import BLANKS

__all__ = ["AnswerSpacing", "ReasoningSpacing"]


class AnswerSpacing:
    """The text of one answer, piece by piece."""

    _held = (
        ""  # white space at the beginning of the answer or after a cut, until something follows it
    )
    _last = ""  # the last character that was written
    _is_cut = False  # reasoning was cut out since

    def cut(self) -> None:
        """Reasoning was cut out here."""
        self._is_cut = True

    def feed(self, text: str, *, has_gap: bool = False) -> str:
        """What is written of a piece now; with a gap, a part before it was left out."""
        if has_gap and self._last and not self._last.isspace() and not text[:1].isspace():
            text = f"\n\n{text}"
        if self._is_cut or not self._last:
            text = self._held + text
            self._held = "" if text.strip(BLANKS) else text
            if self._held:
                return ""
            if self._is_cut:
                text, self._is_cut = self._behind_cut(text), False
        self._last = text[-1:] or self._last
        return text

    def rest(self) -> str:
        """The white space of an answer that has nothing else."""
        return "" if self._is_cut or self._last else self._held

    def passes(self, text: str, has_gap: bool) -> bool:
        """Whether a piece is written unchanged."""
        if has_gap or self._is_cut or not self._last or not text:
            return False
        self._last = text[-1]
        return True

    def _behind_cut(self, text: str) -> str:
        if not self._last:
            body = text.lstrip(BLANKS)
            # Only the indentation of the first line stays.
            line_start = text[: len(text) - len(body)].rfind("\n") + 1
            return text[line_start:] if line_start else body
        touching = not self._last.isspace() and not text[0].isspace()
        return f" {text}" if touching and text[0].isalnum() else text


class ReasoningSpacing:
    """Reasoning that was cut out of a text: white space at its ends is not written."""

    _held = ""
    _has_begun = False

    def feed(self, text: str) -> str:
        """What is written of a piece now."""
        text = self._held + text
        if not self._has_begun:
            text = text.lstrip()
        body = text.rstrip()
        self._held = text[len(body) :]
        self._has_begun = self._has_begun or bool(body)
        return body
