"""How long a call may take: in total, for a connection, and for the next byte.

The time spent waiting for the host and reading its bytes counts, and so do pauses before a retry; the time that the caller takes
between two events of a stream does not. Any byte ends a silence, even that of a comment such as "still thinking".
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf
from types import TracebackType

from innervoice.errors import TimedOutError

__all__ = ["Deadline", "Limit"]


class Limit(float):
    """The limit of one operation in seconds, with the deadline of its call.

    httpx passes the number on unchanged, so that a connection can ask how much time is left (`network.py`).
    """

    __slots__ = ("deadline",)

    deadline: Deadline


class Deadline:
    """The remaining time of one call; time inside `with deadline:` is counted."""

    is_for_silence = False
    """Whether the last limit was `idle_timeout`, which is the same for every wait."""
    since = 0.0
    """When the wait began that is under way."""

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
        self.clock = clock
        self.left = inf if total is None else total
        """Remaining seconds when the last wait ended; the time is up at 0 or below."""

    def limit(self) -> float | None:
        """How long the next wait may take; None for no limit, 0 if the time is up."""
        idle, seconds = self._idle, self.left
        self.is_for_silence = idle is not None and idle < seconds
        if self.is_for_silence:
            return idle
        return None if seconds == inf else max(0.0, seconds)

    def remaining(self) -> float:
        """Remaining seconds, during a wait; at most 0 if the time is up."""
        seconds = self.left - (self.clock() - self.since)
        if self._idle is not None and seconds <= self._idle:
            self.is_for_silence = False
        return seconds

    def timeouts(self) -> dict[str, float | None]:
        """The limits in the form that httpx expects."""
        limit, connect = self.limit(), self._connect
        if limit is not None:
            limit = Limit(limit)
            limit.deadline = self
        if connect is None or (limit is not None and limit < connect):
            connect = limit
        return {"connect": connect, "read": limit, "write": limit, "pool": limit}

    def timed_out(self, *, connecting: bool) -> TimedOutError:
        """The error to raise after the last limit was reached."""
        if connecting and self._connect is not None and self.left > 0:
            return TimedOutError(f"no connection within {self._connect:g} s", "connect")
        if self.is_for_silence and self.left > 0:
            return TimedOutError(f"no data for {self._idle or 0:g} s", "idle")
        return TimedOutError(f"not finished within {self._total or 0:g} s", "total")

    def spend(self, seconds: float) -> None:
        """Counts the seconds of a wait or pause."""
        self.left -= seconds

    def __enter__(self) -> None:
        self.since = self.clock()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.left -= self.clock() - self.since
