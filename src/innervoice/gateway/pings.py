"""One timer for all open answers: it checks each of them, and they send their keep-alives and check their time limits."""

from __future__ import annotations

import asyncio
from typing import Protocol

__all__ = ["Pings", "Watched"]

_STEP = 0.5
"""How often the timer checks, in seconds."""


class Watched(Protocol):
    """An open answer."""

    def look(self, now: float) -> None:
        """Does what is due, without waiting."""
        ...


class Pings:
    """The timer; it runs only while there are answers."""

    def __init__(self, step: float = _STEP) -> None:
        self._step = step
        self._open: set[Watched] = set()
        self._timer: asyncio.TimerHandle | None = None

    def now(self) -> float:
        """The time of the event loop."""
        return asyncio.get_running_loop().time()

    def add(self, answer: Watched) -> None:
        """Starts checking this answer."""
        self._open.add(answer)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._step, self._look)

    def remove(self, answer: Watched) -> None:
        """Stops checking it."""
        self._open.discard(answer)

    def __len__(self) -> int:
        return len(self._open)

    def _look(self) -> None:
        self._timer = None
        now = self.now()
        for answer in list(self._open):
            answer.look(now)
        if self._open:
            self._timer = asyncio.get_running_loop().call_later(self._step, self._look)
