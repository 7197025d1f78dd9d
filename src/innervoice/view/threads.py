"""Where files are read: beside the event loop, in few threads.

Reading is serial anyway, and each thread that reads keeps some memory to itself. Nobody who waits for rows waits for a search, or for a look into
a folder, which take seconds.
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
        """What a function gives that blocks."""
        return await asyncio.get_running_loop().run_in_executor(self._pools[task], function)
