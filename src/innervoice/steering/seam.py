"""The text of a second answer -> what goes on behind the text of the first, to the character.

A model that continues its own last message begins with the next character. Any other was asked to repeat the last characters first: its text
has to begin with them, or with more of the first text, whatever it made of white space and quotation marks; they are left out. White space
that the first text ended with is not written twice.

What was repeated shows where the second text goes on only if a text that repeats less, or nothing, could not begin in the same way. In a text
with equal rows it could, so the repetition begins inside a line, in a word or behind one, occurs once, and does not end as it begins: the next
of equal rows is then never taken for it. Nothing may stand before it: a quotation mark or a fence would have its other half
behind it. Where no such repetition exists, no answer goes on with the text.
"""

from __future__ import annotations

import re
from itertools import takewhile

__all__ = ["ANCHOR", "Seam", "anchor_of"]

ANCHOR = 40
"""So many characters of the text are repeated at least."""
_LONGEST = 240
"""So many at most."""
_STRAIGHT = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u00ab": '"', "\u00bb": '"'})  # fmt: skip
_ENCLOSING = "\"'`~>*_<([\u2039\u203a\u201a\u201e\u300c\u300e"
"""What a repetition may be enclosed in, once quotation marks are straight."""
_BEHIND_LETTER = re.compile(r"(?:[^\W\d_] |.[^\W\d_])[^\W\d_]", re.DOTALL)
_TWO_WORDS = re.compile(r"[^\W\d_]{2,}.*?\s.*?[^\W\d_]{2,}", re.DOTALL)


def anchor_of(text: str) -> str | None:
    """The end of a text that another answer has to begin with; None if none shows where that goes on."""
    bare = text.rstrip()
    starts = _starts(bare, has_blanks=bare != text)
    return bare[starts[0] :] if starts else None


def _starts(bare: str, *, has_blanks: bool) -> list[int]:
    """The places of a text from which a repetition of its end may begin: the one to ask for, and those before it."""
    squeezed = _squeezed(bare)
    starts = [
        at
        for at in range(len(bare) - ANCHOR, max(len(bare) - _LONGEST, 2) - 1, -1)
        if _BEHIND_LETTER.match(bare, at - 2)
        and not _ends_as_it_begins(_squeezed(bare[at - 2 : at])[-1] + _squeezed(bare[at:]))
        and squeezed.find(end := _squeezed(bare[at:])) == len(squeezed) - len(end)
    ]
    # A model finds it easier to begin with a whole word.
    at_word = next((n for n, at in enumerate(starts) if bare[at - 1] == " "), 0)
    del starts[:at_word]
    if _may_be_whole(bare) and not has_blanks:
        starts.append(0)
    return starts


def _may_be_whole(bare: str) -> bool:
    """Whether all of a text may be repeated: another answer seldom begins with the same two words by chance."""
    begin = bare[:1].translate(_STRAIGHT)
    if len(bare) > _LONGEST or not begin.strip() or begin in _ENCLOSING:
        return False
    return bool(_TWO_WORDS.search(bare)) and not _ends_as_it_begins(_squeezed(bare))


def _ends_as_it_begins(text: str) -> bool:
    return any(text.startswith(text[size:]) for size in range(1, len(text)))


def _squeezed(text: str) -> str:
    """The text without white space and with straight quotation marks."""
    return "".join(text.split()).translate(_STRAIGHT)


class Seam:
    """One seam between two texts."""

    def __init__(self, text: str, *, is_repeated: bool) -> None:
        """`is_repeated`: the second text begins with the end of the first."""
        bare = text.rstrip()
        self._blanks = text[len(bare) :]
        self._is_repeated = is_repeated
        starts = _starts(bare, has_blanks=bool(self._blanks)) if is_repeated else []
        self._ends = {_folded(bare[at:])[0]: at for at in starts}
        """What the second text may begin with, and where that begins in the first."""
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
        place = self._place(is_last=is_last) if self._is_repeated else 0
        if place is None:
            return ""
        rest, blanks = self._held[place:], self._blanks
        if not is_last and len(rest) < len(blanks) and blanks.startswith(rest):
            return ""
        self.is_closed, self._held = True, ""
        is_same = (one == other for one, other in zip(rest, blanks, strict=False))
        return rest[sum(takewhile(bool, is_same)) :]

    def _place(self, *, is_last: bool) -> int | None:
        """Where the text goes on, behind what was repeated; None if that has not come, or will not come."""
        folded, places = _folded(self._held)
        for end, start in self._ends.items():
            if folded.startswith(end):
                place = places[len(end)]
                if start or self._goes_on_in_line(place):
                    return place
                self.has_failed = is_last or place < len(self._held)
                return None
        may_come = any(end.startswith(folded) for end in self._ends)
        self.has_failed = is_last or not may_come
        return None

    def _goes_on_in_line(self, place: int) -> bool:
        """Whether the text goes on in the line, and not with another row that is equal to all of the first text."""
        if self._held[:1].isspace():
            return False
        following = self._held[place : place + 1]
        return bool(following) and (following == " " or not following.isspace())


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
