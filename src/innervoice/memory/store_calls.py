"""Calls of a store that a request waits for: with a timeout, and not again and again if the store does not respond.

All calls of a process to one store go through one `StoreCalls`, so that a request benefits from what earlier ones learnt about the store.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from innervoice.memory.stores.store import StoreError

__all__ = ["SlowStoreError", "StoreCalls"]

Result = TypeVar("Result")

_FAILURES = 3
_REST_SECONDS = 1.0
_LONGEST_REST = 5.0


class SlowStoreError(StoreError):
    """A call takes too long; it may still succeed."""


class StoreCalls:
    """Waits for a store. After several failures in a row the store is not called for a while, so that not every request waits for it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._failures = 0
        self._rests_until = float("-inf")
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def is_resting(self) -> bool:
        """Whether the store is not called at the moment."""
        return self.clock() < self._rests_until

    async def wait(self, work: Callable[[], Coroutine[Any, Any, Result]], seconds: float) -> Result:
        """The result of a call; raises `StoreError` if it fails or takes longer. A slow call continues in the background: half a call would help nobody."""
        if self.is_resting:
            raise StoreError("the store failed a moment ago")
        task = self.start(work)
        await asyncio.wait({task}, timeout=seconds)
        if not task.done():
            self._failed()
            raise SlowStoreError(f"no answer within {seconds:g} s")
        try:
            return task.result()
        except StoreError:
            raise
        except Exception as error:
            raise StoreError(type(error).__name__) from error

    def start(self, work: Callable[[], Coroutine[Any, Any, Result]]) -> asyncio.Task[Result]:
        """Starts a call in the background."""
        task = asyncio.get_running_loop().create_task(work())
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def close(self, seconds: float) -> None:
        """Waits a moment for calls that are still running."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        if task.exception() is None:
            self._failures, self._rests_until = 0, float("-inf")
        else:
            self._failed()

    def _failed(self) -> None:
        self._failures += 1
        if self._failures >= _FAILURES:
            rest = _REST_SECONDS * 2 ** min(self._failures - _FAILURES, 8)
            self._rests_until = self.clock() + min(rest, _LONGEST_REST)
