"""Where files are read: outside the event loop, in few threads.

Reading is serial anyway, and each thread that reads keeps some memory to itself. A request for rows does not wait for a search, or for the scan
of a folder, which take seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, TypeAlias, TypeVar

__all__ = ["Task", "Threads"]

Task: TypeAlias = Literal["read", "list", "search"]
Result = TypeVar("Result")


class Threads:
    """One thread for each kind of work."""

    def __init__(self) -> None:
        tasks: tuple[Task, ...] = ("read", "list", "search")
        self._pools = {task: ThreadPoolExecutor(1, f"view-{task}") for task in tasks}

    async def run(self, task: Task, function: Callable[[], Result]) -> Result:
        """The result of a function that blocks."""
        return await asyncio.get_running_loop().run_in_executor(self._pools[task], function)
