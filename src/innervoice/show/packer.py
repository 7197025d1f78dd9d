"""Stretches of text, some of them wrapped -> messages of a limited size.

A message that ends within a wrapper closes it, and the next opens it again. Text is parted between
lines where possible, else between words, else between characters; never within an escape.
"""

from __future__ import annotations

import re

from innervoice.canon.value import Value

__all__ = ["LEAST", "Packer", "Wrapper"]

LEAST = 120
"""No message can be smaller: it must hold a small span of code, or a character in any wrapper."""

# What is not to be parted: an escape, a silenced `@`, a span of code, blanks, a word.
_ATOM = re.compile(
    "\\\\[^0-9A-Za-z\\s]|@\N{ZERO WIDTH SPACE}|(`+)(?:[^`]|[^`].*?[^`])\\1(?!`)|\\s+|[^\\s\\\\@`]+|."
)


class Wrapper(Value, frozen=True):
    """What stands before and behind a stretch, in every message that has some of it."""

    opening: str = ""
    closing: str = ""
    foe: str = ""
    """The character that must not stand before the closing; a blank is put between them."""


class Packer:
    """Fills messages."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._messages: list[str] = []
        self._pieces: list[str] = []
        self._size = 0
        self._breaks = 0
        """Line feeds that are written as soon as something follows them in the message."""
        self._wrapper = Wrapper()
        self._is_open = False

    def add(self, text: str, wrapper: Wrapper) -> None:
        """Adds a stretch behind what is there."""
        self._wrapper = wrapper
        first, *others = text.split("\n")
        self._add_line(first)
        for line in others:
            self._breaks += 1
            self._add_line(line)
        self._close()

    def end_line(self) -> None:
        """Lets what comes next begin on a line of its own."""
        self._breaks = max(self._breaks, 1)

    def end_message(self) -> None:
        """Lets what comes next begin in a message of its own."""
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
            # Neither a message nor a wrapper begins with a blank piece: there would be nothing to see.
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
                " " if self._wrapper.foe and self._pieces[-1].endswith(self._wrapper.foe) else ""
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
        return len(self._wrapper.closing) + len(self._wrapper.foe)


def _units(text: str) -> int:
    """The length in UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2
