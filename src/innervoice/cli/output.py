"""Writing to a terminal or a pipe: the answer to stdout, the reasoning dimmed to stderr.

A pipe gets the text byte for byte. A terminal gets control characters as visible ones, so that no
text can move the cursor, set a title or hide what stands before it.
"""

from __future__ import annotations

import os
import sys
from typing import TextIO

__all__ = ["Output"]

_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"
_KEPT = {ord(character) for character in "\t\n\r"}
_VISIBLE = {
    code: chr(0x2400 + code)
    if code < 0x20
    else "\N{SYMBOL FOR DELETE}"
    if code == 0x7F
    else "\N{REPLACEMENT CHARACTER}"
    for code in [*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
    if code not in _KEPT
}


class Output:
    """Where answer and reasoning go."""

    def __init__(self, *, hide_thinking: bool = False) -> None:
        self._hide_thinking = hide_thinking
        self._answered = ""
        self._thought = ""

    def answer(self, text: str) -> None:
        """Writes some of the answer."""
        if text:
            _write(sys.stdout, text)
            self._answered = text

    def thinking(self, text: str) -> None:
        """Writes some of the reasoning, unless it is to be hidden."""
        if text and not self._hide_thinking:
            _write(sys.stderr, text, dim=True)
            self._thought = text

    def end_thinking(self) -> None:
        """Ends the reasoning with a line break."""
        if self._thought and not self._thought.endswith("\n"):
            _write(sys.stderr, "\n")
        self._thought = ""

    def end(self) -> None:
        """Ends both with a line break."""
        self.end_thinking()
        if self._answered and not self._answered.endswith("\n"):
            _write(sys.stdout, "\n")

    def remark(self, text: str) -> None:
        """Tells a person something; pipes and files do not get it."""
        if sys.stderr.isatty():
            _write(sys.stderr, f"{text}\n", dim=True)


def _write(stream: TextIO, text: str, *, dim: bool = False) -> None:
    if stream.isatty():
        text = text.translate(_VISIBLE)
        if dim and not os.environ.get("NO_COLOR"):
            text = f"{_DIM}{text}{_PLAIN}"
    stream.flush()
    # By bytes: a text may hold characters that the stream's own encoding refuses.
    stream.buffer.write(text.encode("utf-8", "replace"))
    stream.buffer.flush()
