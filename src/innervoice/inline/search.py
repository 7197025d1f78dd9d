"""How the texts of an answer are searched: by a splitter, or, for the usual whole text, by three look-ups.

A text that arrives whole nearly always has no marker at all, or is one block of tags followed by the answer. Its parts can be read from
the markers; all other texts go through the splitter, which would give the same result.
"""

from __future__ import annotations

from innervoice.canon.origin import Markup, Origin
from innervoice.canon.parts import Text, Thinking
from innervoice.inline.machine import SplitMachine
from innervoice.inline.marks import Prefix
from innervoice.inline.pattern import LONGEST_MARKER, LONGEST_TAG
from innervoice.inline.vocabulary import Vocabulary

__all__ = ["TextSearch"]


class TextSearch:
    """The markers to search for, and what is known about the texts. It stores nothing of an answer, so answers share it."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        prefix: Prefix = "no",
        stutter: bool = False,
        head_only: bool = False,
    ) -> None:
        self._vocabulary = vocabulary
        self._prefix: Prefix = prefix
        self._stutter = stutter
        self._head_only = head_only

    def splitter(self, origin: Origin, *, goes_on: bool) -> SplitMachine:
        """A splitter for a text of this origin, which may continue an answer that has begun."""
        return SplitMachine(
            self._vocabulary,
            prefix="no" if goes_on else self._prefix,
            stutter=self._stutter,
            off=self._head_only and goes_on,
            head_only=self._head_only,
            goes_on=goes_on,
            origin=origin,
        )

    def plain_parts(self, origin: Origin, text: str) -> list[Text | Thinking] | None:
        """The parts of a whole text that begins the answer; None if a splitter must decide."""
        opener = self._vocabulary.find(text, 0)
        if opener is None:
            is_cut = "<|" in text[-LONGEST_MARKER:]  # perhaps in a control token
            return [Text(text, origin=origin)] if self._prefix == "no" and not is_cut else None
        inside, is_block = opener.end(), opener.lastgroup == "tag" and not opener["slash"]
        closer = self._vocabulary.find(text, inside) if is_block and not opener.start() else None
        if closer is None or closer.lastgroup != "tag" or not closer["slash"]:
            return None
        end, answer = closer.span()
        is_odd = max(inside, answer - end) > LONGEST_TAG or "<|" in text[-LONGEST_MARKER:]
        if is_odd or end == inside or self._vocabulary.find(text, answer):
            return None
        markup = (Markup(0, text[:inside]), Markup(end - inside, text[end:answer]))
        thinking = Thinking(text[inside:end], origin=origin.replace(markup=markup))
        return [thinking, Text(text[answer:], origin=origin)] if answer < len(text) else [thinking]
