"""Where files are read: beside the event loop, in few threads.

Reading is serial anyway, and each thread that reads keeps some memory to itself. A search takes seconds, so it has a thread of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

__all__ = ["Threads"]

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Threads:
    """One thread for what a page waits for, and one for what takes its time."""

    def __init__(self) -> None:
        self._reading = ThreadPoolExecutor(1, "view-reading")
        self._searching = ThreadPoolExecutor(1, "view-searching")

    async def read(
        self,
        function: Callable[Arguments, Result],
        *arguments: Arguments.args,
        **more: Arguments.kwargs,
    ) -> Result:
        """What a function gives that reads a conversation."""
        return await self._run(self._reading, lambda: function(*arguments, **more))

    async def search(
        self,
        function: Callable[Arguments, Result],
        *arguments: Arguments.args,
        **more: Arguments.kwargs,
    ) -> Result:
        """What a function gives that looks at many."""
        return await self._run(self._searching, lambda: function(*arguments, **more))

    async def _run(self, pool: ThreadPoolExecutor, function: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(pool, function)

    def close(self) -> None:
        """Ends the threads when they have nothing left to do."""
        self._reading.shutdown(wait=False)
        self._searching.shutdown(wait=False)
