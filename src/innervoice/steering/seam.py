"""The text of a second answer -> what goes on behind the text of the first, to the character.

A model that continues its own last message begins with the next character. Any other was asked to repeat the last characters first: they
are looked for near the beginning of what it writes, whatever it made of white space and quotation marks, and left out. White space that
the first text ended with is not written twice.
"""

from __future__ import annotations

from itertools import takewhile

__all__ = ["ANCHOR", "Seam", "anchor_of"]

ANCHOR = 40
"""So many characters of the text are to be repeated."""
_SHORTER = (32, 24, 16, 12)
"""So many of them are looked for if a model repeats fewer."""
_NEAR = 80
"""They must begin within so many characters."""
_HELD = 240
"""So many characters are held back until they are found."""
_STRAIGHT = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u00ab": '"', "\u00bb": '"'})  # fmt: skip


def anchor_of(text: str) -> str:
    """The end of a text that another answer has to begin with."""
    return text.rstrip()[-ANCHOR:].lstrip()


class Seam:
    """One seam between two texts."""

    def __init__(self, text: str, *, is_repeated: bool) -> None:
        """`is_repeated`: the second text begins with the end of the first."""
        bare = text.rstrip()
        self._blanks = text[len(bare) :]
        self._anchor = _folded(anchor_of(bare))[0] if is_repeated else ""
        self._is_all = len(bare) <= ANCHOR
        """Whether the first text is so short that the second has to begin with all of it."""
        self._held = ""
        self.is_closed = False
        """Whether everything from here on goes on directly."""
        self.has_failed = False
        """Whether the end of the first text was not repeated."""

    def feed(self, piece: str, *, is_last: bool = False) -> str:
        """The text that goes on, as far as it is certain."""
        if self.is_closed or self.has_failed:
            return "" if self.has_failed else piece
        self._held += piece
        place = self._place(is_last=is_last) if self._anchor else 0
        if place is None:
            self.has_failed = len(self._held) > _HELD or (is_last and bool(self._held.strip()))
            return ""
        rest, blanks = self._held[place:], self._blanks
        if not is_last and len(rest) < len(blanks) and blanks.startswith(rest):
            return ""
        self.is_closed, self._held = True, ""
        is_same = (one == other for one, other in zip(rest, blanks, strict=False))
        return rest[sum(takewhile(bool, is_same)) :]

    def _place(self, *, is_last: bool) -> int | None:
        """Where the text goes on, behind what was repeated; None if that has not come."""
        folded, places = _folded(self._held)
        if self._is_all:
            return places[len(self._anchor)] if folded.startswith(self._anchor) else None
        at = folded.find(self._anchor)
        if 0 <= at <= _NEAR:
            return places[at + len(self._anchor)]
        if not is_last and len(self._held) <= _HELD:
            return None
        for size in _SHORTER:
            tail = self._anchor[-size:]
            if folded.count(tail, 0, _NEAR + size) == 1:
                return places[folded.find(tail) + size]
        return None


def _folded(text: str) -> tuple[str, list[int]]:
    """The text with one space for each run of white space, none in front, and straight quotation marks; and where each character ends."""
    folded: list[str] = []
    places = [0]
    for index, character in enumerate(text, start=1):
        is_blank = character.isspace()
        if is_blank and (not folded or folded[-1] == " "):
            continue
        folded.append(" " if is_blank else character.translate(_STRAIGHT))
        places.append(index)
    return "".join(folded), places
