"""Calls of a store that a request waits for: for a while, and not again and again if the store does not answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from innervoice.memory.stores.store import StoreError

__all__ = ["SlowStoreError", "StoreCalls"]

Result = TypeVar("Result")

_REST_SECONDS = 1.0


class SlowStoreError(StoreError):
    """A call takes too long; it may still succeed."""


class StoreCalls:
    """Waits for a store. After a failure the store is left alone for a second, so that not every request waits for it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._rests_until = float("-inf")
        self._tasks: set[asyncio.Task[Any]] = set()

    async def wait(self, work: Callable[[], Coroutine[Any, Any, Result]], seconds: float) -> Result:
        """The result of a call; raises `StoreError` if it fails, or takes longer: then it goes on behind, since half a call helps nobody."""
        if self.clock() < self._rests_until:
            raise StoreError("it failed a moment ago")
        task = asyncio.get_running_loop().create_task(work())
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        await asyncio.wait({task}, timeout=seconds)
        if not task.done():
            self._rests_until = self.clock() + _REST_SECONDS
            raise SlowStoreError(f"no answer within {seconds:g} s")
        return task.result()

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._rests_until = self.clock() + _REST_SECONDS
