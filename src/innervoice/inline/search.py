"""How the texts of an answer are searched: by a splitter, or, for the usual whole text, by three look-ups.

A text that comes whole nearly always has no marker at all, or is one block of tags and the answer behind it. Its parts can be read off
the markers; all other texts go through the splitter, which would give the same.
"""

from __future__ import annotations

from collections.abc import Callable

from innervoice.canon.origin import Markup, Origin
from innervoice.canon.parts import Text, Thinking
from innervoice.inline.machine import SplitMachine
from innervoice.inline.marks import Prefix
from innervoice.inline.pattern import LONGEST_TAG
from innervoice.inline.vocabulary import Vocabulary

__all__ = ["TextSearch"]


class TextSearch:
    """The markers to look for, and what is known about the texts; `origin` gives that of the answer."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        origin: Callable[[], Origin],
        *,
        prefix: Prefix = "no",
        stutter: bool = False,
        head_only: bool = False,
    ) -> None:
        self._vocabulary = vocabulary
        self._origin = origin
        self._prefix: Prefix = prefix
        self._stutter = stutter
        self._head_only = head_only

    def splitter(self, number: int, *, goes_on: bool) -> SplitMachine:
        """A splitter for the text with this number, which may go on with an answer that has begun."""
        return SplitMachine(
            self._vocabulary,
            prefix="no" if goes_on else self._prefix,
            stutter=self._stutter,
            off=self._head_only and goes_on,
            head_only=self._head_only,
            goes_on=goes_on,
            origin=self._origin_of(number),
        )

    def plain_parts(self, number: int, text: str) -> list[Text | Thinking] | None:
        """The parts of a whole text that begins the answer; None if it takes a splitter to tell."""
        search = self._vocabulary.search.search
        opener = search(text)
        if opener is None:
            return [Text(text, origin=self._origin_of(number))] if self._prefix == "no" else None
        inside, is_block = opener.end(), opener.lastgroup == "tag" and not opener["slash"]
        closer = search(text, inside) if is_block and not opener.start() else None
        if closer is None or closer.lastgroup != "tag" or not closer["slash"]:
            return None
        end, answer = closer.start(), closer.end()
        if end == inside or max(inside, answer - end) > LONGEST_TAG or search(text, answer):
            return None
        origin = self._origin_of(number)
        markup = (Markup(0, text[:inside]), Markup(end - inside, text[end:answer]))
        thinking = Thinking(text[inside:end], origin=origin.replace(markup=markup))
        return [thinking, Text(text[answer:], origin=origin)] if answer < len(text) else [thinking]

    def _origin_of(self, number: int) -> Origin:
        return self._origin().replace(item=f"text_{number}")
