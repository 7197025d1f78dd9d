"""How long a call may wait: in all, for a connection, and for the next byte.

Only waiting for the host counts, pauses before another try included: the time that a reader takes between two events of a
stream is its own. Any byte ends a silence, also one of a comment that says "still thinking".
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType

from innervoice.errors import TimedOutError

__all__ = ["Patience"]


class Patience:
    """The time that is left of one call; `with patience:` around a wait counts it."""

    def __init__(
        self,
        total: float | None,
        connect: float | None,
        idle: float | None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._total = total
        self._connect = connect
        self._idle = idle
        self._clock = clock
        self._spent = 0.0
        self._since = 0.0
        self._silent = False  # the next wait ends by the limit on a silence

    @property
    def left(self) -> float:
        """Seconds of waiting that are left."""
        return float("inf") if self._total is None else max(0.0, self._total - self._spent)

    def limit(self) -> float | None:
        """How long the next wait may be; None for ever, 0 if the time is up."""
        self._silent = self._idle is not None and self._idle < self.left
        if self._silent:
            return self._idle
        return None if self._total is None else self.left

    def timeouts(self) -> dict[str, float | None]:
        """The limits as httpx takes them."""
        limit = self.limit()
        connect = min(
            (seconds for seconds in (self._connect, limit) if seconds is not None), default=None
        )
        return {"connect": connect, "read": limit, "write": limit, "pool": limit}

    def timed_out(self, *, connecting: bool) -> TimedOutError:
        """What to raise when the last limit was reached."""
        if connecting:
            seconds = self._connect or self._total or 0
            return TimedOutError(f"no connection within {seconds:g} s", "connect")
        if self._silent:
            return TimedOutError(f"nothing came for {self._idle or 0:g} s", "idle")
        return TimedOutError(f"not done within {self._total or 0:g} s", "total")

    def spend(self, seconds: float) -> None:
        """Counts a pause."""
        self._spent += seconds

    def __enter__(self) -> None:
        self._since = self._clock()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._spent += self._clock() - self._since
