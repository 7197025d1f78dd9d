"""The progress of a run: rows, MB/s and the time left, on one line of a terminal."""

from __future__ import annotations

import sys
import time
from typing import TextIO

__all__ = ["Progress"]

_EVERY = 0.2
_WIDTH = 24


class Progress:
    """Shows the progress of a run; without a terminal it shows nothing."""

    def __init__(self, total: int | None, stream: TextIO | None = None) -> None:
        self._total = total
        self._stream = stream or sys.stderr
        self._is_shown = self._stream.isatty()
        self._begun = self._last = time.monotonic()
        self._skipped = 0

    def skip(self, size: int) -> None:
        """Adds bytes that an earlier run has done."""
        self._skipped += size

    def show(self, rows: int, done: int, *, final: bool = False) -> None:
        """Shows rows and bytes of this run."""
        now = time.monotonic()
        if not self._is_shown or (now - self._last < _EVERY and not final):
            return
        self._last = now
        self._stream.write(
            f"\r\x1b[K{self.line(rows, done, now - self._begun)}" + ("\n" if final else "")
        )
        self._stream.flush()

    def line(self, rows: int, done: int, seconds: float) -> str:
        """The line after this many seconds."""
        speed = done / seconds if seconds > 0 else 0.0
        facts = f"{rows:,} rows  {done / 1e6:,.0f} MB  {speed / 1e6:,.1f} MB/s"
        if not self._total:
            return facts
        share = min((done + self._skipped) / self._total, 1.0)
        bar = "█" * int(share * _WIDTH)
        left = max(self._total - self._skipped - done, 0) / speed if speed else 0.0
        return f"{bar:·<{_WIDTH}} {share:>4.0%}  {facts}  {_clock(left)} left"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
