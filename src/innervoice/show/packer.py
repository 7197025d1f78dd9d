"""Sections of text, some of them wrapped -> messages of a limited size.

A message that ends inside a wrapper closes it, and the next message opens it again. Text is split between
lines if possible, else between words, else between characters, and never inside an escape.
"""

from __future__ import annotations

import re

from innervoice.canon.value import Value

__all__ = ["LEAST", "Packer", "Wrapper"]

LEAST = 120
"""The smallest limit: a message must have room for a short code span, or for a character in any wrapper."""

# Units that are not split: an escape, a silenced `@`, a code span, white space, a word.
_ATOM = re.compile(
    "\\\\[^0-9A-Za-z\\s]|@\N{ZERO WIDTH SPACE}|(`+)(?:[^`]|[^`].*?[^`])\\1(?!`)|\\s+|[^\\s\\\\@`]+|."
)


class Wrapper(Value, frozen=True):
    """The text before and after a section, in every message that has a piece of it."""

    opening: str = ""
    closing: str = ""
    must_not_precede: str = ""
    """A character that must not come right before `closing`; a space is put between them."""


class Packer:
    """Splits text into messages."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._messages: list[str] = []
        self._pieces: list[str] = []
        self._size = 0
        self._breaks = 0
        """Line feeds that are written once more text follows in the same message."""
        self._wrapper = Wrapper()
        self._is_open = False

    def add(self, text: str, wrapper: Wrapper) -> None:
        """Appends a section."""
        self._wrapper = wrapper
        first, *others = text.split("\n")
        self._add_line(first)
        for line in others:
            self._breaks += 1
            self._add_line(line)
        self._close()

    def end_line(self) -> None:
        """Starts the next section on a new line."""
        self._breaks = max(self._breaks, 1)

    def end_message(self) -> None:
        """Starts the next section in a new message."""
        self._close()
        if self._pieces:
            self._messages.append("".join(self._pieces))
        self._pieces.clear()
        self._size = 0
        self._breaks = 0

    def end(self) -> list[str]:
        """All messages."""
        self.end_message()
        return self._messages

    def _add_line(self, line: str) -> None:
        if not line or line.isspace():
            return
        if self._fits(line) or self._fits_alone(line):
            self._put(line)
            return
        for atom in _ATOM.finditer(line):
            for piece in [atom[0]] if self._fits_alone(atom[0]) else atom[0]:
                self._put(piece)

    def _put(self, piece: str) -> None:
        if not self._fits(piece):
            self.end_message()
        if not self._is_open:
            # Neither a message nor a wrapper begins with white space; it would be empty.
            if piece.isspace() and (self._wrapper.opening or not self._pieces):
                return
            self._append(self._due_breaks() + self._wrapper.opening)
            self._is_open = True
        else:
            self._append(self._due_breaks())
        self._breaks = 0
        self._append(piece)

    def _append(self, piece: str) -> None:
        if piece:
            self._pieces.append(piece)
            self._size += _units(piece)

    def _close(self) -> None:
        if self._is_open:
            guard = (
                " "
                if self._wrapper.must_not_precede
                and self._pieces[-1].endswith(self._wrapper.must_not_precede)
                else ""
            )
            self._append(guard + self._wrapper.closing)
        self._is_open = False

    def _due_breaks(self) -> str:
        return "\n" * self._breaks if self._pieces else ""

    def _fits(self, piece: str) -> bool:
        before = self._due_breaks() + ("" if self._is_open else self._wrapper.opening)
        return self._size + _units(before + piece) + self._reserve() <= self._limit

    def _fits_alone(self, piece: str) -> bool:
        return _units(self._wrapper.opening + piece) + self._reserve() <= self._limit

    def _reserve(self) -> int:
        return len(self._wrapper.closing) + len(self._wrapper.must_not_precede)


def _units(text: str) -> int:
    """The length in UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2
