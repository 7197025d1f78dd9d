"""Writing to a terminal or a pipe: the answer to stdout, the reasoning dimmed to stderr.

A pipe gets the text byte for byte. On a terminal, control characters are replaced by visible ones, so that
no text can move the cursor, set a title or hide other text.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TextIO

from innervoice.canon.events import Event, Finish
from innervoice.show.live import Live
from innervoice.show.policy import Policy
from innervoice.show.visible import visible

__all__ = ["Output", "show_events"]

_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"


class Output:
    """Writes the answer to stdout and the reasoning to stderr."""

    def __init__(self, *, hide_thinking: bool = False) -> None:
        self._hide_thinking = hide_thinking
        self._answered = ""
        self._thought = ""

    def answer(self, text: str) -> None:
        """Writes a piece of the answer."""
        if text:
            _write(sys.stdout, text)
            self._answered = text

    def thinking(self, text: str) -> None:
        """Writes a piece of the reasoning, unless it is hidden."""
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

    def aside(self, text: str) -> None:
        """Writes a line beside the answer, to stderr."""
        _write(sys.stderr, f"{text}\n", dim=True)

    def remark(self, text: str) -> None:
        """Writes a remark to a terminal; pipes and files do not get it."""
        if sys.stderr.isatty():
            _write(sys.stderr, f"{text}\n", dim=True)


def _write(stream: TextIO, text: str, *, dim: bool = False) -> None:
    if stream.isatty():
        text = visible(text)
        if dim and not os.environ.get("NO_COLOR"):
            text = f"{_DIM}{text}{_PLAIN}"
    stream.flush()
    # As bytes: a text may contain characters that the stream's own encoding refuses.
    stream.buffer.write(text.encode("utf-8", "replace"))
    stream.buffer.flush()


def show_events(events: Iterable[Event], show: Policy = "full", *, keep: bool) -> None:
    """Shows a stream live, with a display for each round of tools; an interruption also ends the display."""
    live = Live(show=show, keep=keep)
    try:
        for event in events:
            live.feed(event)
            if isinstance(event, Finish):
                live.close()
                live = Live(show=show, keep=keep)
    finally:
        live.close()
