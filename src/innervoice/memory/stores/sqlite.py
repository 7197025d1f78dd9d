"""Items in a SQLite file, which several processes on one machine may share.

Reads and writes have separate threads: `sqlite_threads.py`. Deleted data is overwritten, in the file and in its log.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from os import PathLike
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from innervoice.memory.stores.sqlite_file import connect, empty_log
from innervoice.memory.stores.sqlite_items import SqliteItems
from innervoice.memory.stores.sqlite_threads import ReaderThreads, WriterThread
from innervoice.memory.stores.store import FoundItem, Retention, StoredItem, TenantUsage

__all__ = ["SqliteStore"]

# So much is deleted in one transaction: other processes can write between two.
_BATCH = 500


class SqliteStore:
    """A store in a file. A call that waits longer than `busy_seconds` for another process raises `StoreError`."""

    def __init__(
        self,
        path: str | PathLike[str],
        retention: Retention | None = None,
        now: Callable[[], float] = time.time,
        *,
        busy_seconds: float = 2.0,
    ) -> None:
        self.path = Path(path)
        self._now = now
        self._items = SqliteItems(retention or Retention(), now)
        self._readers = ReaderThreads(lambda: connect(self.path, busy_seconds))
        self._writer = WriterThread(lambda: connect(self.path, busy_seconds), self._items.tidy)
        self._busy_seconds = busy_seconds
        self._overwriting = asyncio.Lock()
        self._deleted = False

    async def put(self, item: StoredItem, keys: Sequence[bytes]) -> None:
        """Stores an item under its keys."""
        await _done(self._writer.submit(lambda file: self._items.put(file, item, keys)))

    async def get(
        self, tenant: str, keys: Sequence[bytes], known: Collection[str] = ()
    ) -> list[FoundItem]:
        """The items of a tenant under any of these keys."""
        found, used = await _done(
            self._readers.submit(lambda file: self._items.get(file, tenant, keys, known))
        )
        if used:
            # Nobody waits for this.
            now = self._now()
            self._writer.submit(lambda file: self._items.use(file, used, now))
        items: list[FoundItem] = found
        return items

    async def items(self, tenant: str, kind: str) -> list[StoredItem]:
        """All items of one kind."""
        items: list[StoredItem] = await _done(
            self._readers.submit(lambda file: self._items.items(file, tenant, kind))
        )
        return items

    async def delete(self, tenant: str, keys: Sequence[bytes]) -> int:
        """Deletes the items under any of these keys."""
        count: int = await _done(
            self._writer.submit(lambda file: self._items.delete(file, tenant, keys))
        )
        self._deleted = self._deleted or count > 0
        await self._overwrite()
        return count

    async def forget(self, tenant: str | None = None) -> int:
        """Deletes all items of a tenant, or of all."""
        count = await self._repeat(lambda file: self._items.forget(file, tenant, _BATCH))
        self._deleted = True
        await self._overwrite()
        return count

    async def vacuum(self) -> int:
        """Deletes items that are too old or exceed the limits, and shrinks the file."""
        count = await self._repeat(lambda file: self._items.sweep_all(file, _BATCH))
        count += await self._repeat(self._items.make_room)
        left = -1
        while left:
            before = left
            left = await _done(self._writer.submit(self._items.free_pages))
            if left == before:
                break
        self._deleted = True
        await self._overwrite()
        return count

    async def usage(self) -> list[TenantUsage]:
        """The usage of each tenant."""
        usage: list[TenantUsage] = await _done(self._readers.submit(self._items.usage))
        return usage

    async def count(self, amounts: Mapping[str, float], seconds: float) -> dict[str, float]:
        """Adds to counters, and returns their sums."""
        threads = self._writer if any(amounts.values()) else self._readers
        sums: dict[str, float] = await _done(
            threads.submit(lambda file: self._items.count(file, amounts, seconds))
        )
        return sums

    async def close(self) -> None:
        """Ends the threads, after they have finished their work."""
        await asyncio.to_thread(self._readers.stop)
        await asyncio.to_thread(self._writer.stop)

    async def _repeat(self, work: Callable[[Any], int]) -> int:
        """Repeats work until nothing is left to do; returns how much was done."""
        count = 0
        while done := await _done(self._writer.submit(work)):
            count += done
        return count

    async def _overwrite(self) -> None:
        """Removes deleted data from the log; if that fails, the next deletion tries again."""
        # One more run is enough for all that deleted while another run was in progress.
        async with self._overwriting:
            if not self._deleted:
                return
            self._deleted = False
            try:
                await _done(self._readers.submit(self._empty_log, in_transaction=False))
            except BaseException:
                self._deleted = True
                raise

    def _empty_log(self, connection: Connection) -> None:
        empty_log(connection, self._busy_seconds)


async def _done(future: Future[Any]) -> Any:
    return await asyncio.wrap_future(future)
