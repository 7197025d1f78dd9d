"""Puts into a SQLite file from an event loop, all that wait in one transaction, without a thread.

A thread for each put costs more than the put: it has to be woken, and so has the loop when it is done. A transaction on a file that nobody
locks takes less than a millisecond, so it is done on the loop itself, as long as it is that fast. The first one that is not, or that finds
the file damaged, is left to the thread of the store, which may wait, and so are all others for a while, which grows with each. A file that
somebody else writes to is tried again for a moment: other workers, and the thread, write for as short a time.

Most of a transaction costs the same for one put and for ten: rows that are added at the end of a table or of an index share its last page.
So a put that comes right after a transaction waits a few milliseconds for others; one that comes alone does not wait.

    put ──► the group of the last milliseconds ──► one transaction ──► all of them are answered
                                               ├─► locked: once more, soon
                                               └─► locked for long, full, slow: the thread
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from sqlite3 import Connection
from typing import TYPE_CHECKING, NamedTuple

from innervoice.memory.stores.sqlite_items import is_locked
from innervoice.memory.stores.store import StoredItem, StoreError

if TYPE_CHECKING:
    from innervoice.memory.stores.sqlite import FileConnection, ReaderThreads
    from innervoice.memory.stores.sqlite_items import SqliteItems

__all__ = ["PutsOnLoop"]

_MOST_BYTES = 256 * 1024
"""A larger item takes long to write."""
_GATHER_SECONDS = 0.004
"""The shortest time between two transactions. The end of an answer waits for that, never its beginning."""
_LOCKED_SECONDS = 0.002
"""When a file that was locked is tried again."""
_MOST_TRIES = 20
_SLOW_SECONDS = 0.01
"""Other answers wait while a group is written: not longer than this."""
_FIRST_REST = 0.05
_LONGEST_REST = 2.0
"""How long the thread writes after a slow group: twice as long after each slow one that follows. One alone says little: the machine may have been busy."""
_LOG_PAGES = 1_000
"""After about so many pages the log is copied into the file, by a thread: that waits for the disk."""
_COPY_MILLISECONDS = 10
"""How long copying waits for others while the file is locked: shorter than a locked file is tried again."""
_PAGE = 4_096
_PAGES_AN_ITEM = 4
"""Pages that an item changes besides its data: rows, indexes and keys."""


class _Waiting(NamedTuple):
    item: StoredItem
    keys: Sequence[bytes]
    future: asyncio.Future[None]


class PutsOnLoop:
    """The puts of one event loop. `connect` opens a connection that waits for no lock and leaves the log alone."""

    def __init__(
        self,
        connect: Callable[[], FileConnection],
        items: SqliteItems,
        threads: ReaderThreads,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._connect, self._items, self._threads, self._clock = connect, items, threads, clock
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: list[_Waiting] = []
        self._connection: FileConnection | None = None
        self._next_write = self._rests_until = float("-inf")
        self._rest_seconds = _FIRST_REST
        self._tries = 0
        self._pages = 0

    def put(self, item: StoredItem, keys: Sequence[bytes]) -> asyncio.Future[None] | None:
        """Stores an item with those that come now; None if that would take long, or another loop does so.

        The future fails with `StoreError` if the item was not stored after all.
        """
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            if self._loop is not None and not self._loop.is_closed():
                return None
            self._loop, self._waiting = loop, []
        if len(item.data) > _MOST_BYTES or self._clock() < self._rests_until:
            return None
        future: asyncio.Future[None] = loop.create_future()
        if not self._waiting:
            wait = self._next_write - loop.time()
            if wait > 0:
                loop.call_later(wait, self._write)
            else:
                loop.call_soon(self._write)
        self._waiting.append(_Waiting(item, keys, future))
        return future

    def close(self) -> None:
        """Writes what waits, and closes the connection."""
        if self._waiting:
            self._tries = _MOST_TRIES
            self._write()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _write(self) -> None:
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return  # written when the store was closed, which opens it no more
        problem: StoreError | None = None
        try:
            connection = self._opened()  # which takes longer, once
            began = self._clock()
            self._store(connection, waiting)
            assert self._loop is not None
            self._next_write = self._loop.time() + _GATHER_SECONDS
            self._tries = 0
        except Exception as error:  # noqa: BLE001 - whatever it is, whoever waits must hear of it
            if is_locked(error) and self._tries < _MOST_TRIES:
                self._try_again(waiting)
                return
            self._rest()
            with contextlib.suppress(Exception):
                self.close()
            problem = StoreError(type(error).__name__)
        else:
            if self._clock() - began > _SLOW_SECONDS:
                self._rest()
            else:
                self._rest_seconds = _FIRST_REST
        for one in waiting:
            if one.future.done():
                continue  # whoever waited was cancelled
            if problem is None:
                one.future.set_result(None)
            else:
                one.future.set_exception(problem)

    def _try_again(self, waiting: list[_Waiting]) -> None:
        """Writes these soon, with those that come until then."""
        assert self._loop is not None
        self._tries += 1
        self._waiting = waiting
        self._loop.call_later(_LOCKED_SECONDS, self._write)

    def _opened(self) -> FileConnection:
        if self._connection is not None and self._connection.is_replaced():
            self.close()
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def _store(self, connection: FileConnection, waiting: Sequence[_Waiting]) -> None:
        connection.execute("BEGIN IMMEDIATE")
        try:
            self._items.put_all(connection, [(one.item, one.keys) for one in waiting])
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.rollback()
            raise
        self._pages += sum(_PAGES_AN_ITEM + len(one.item.data) // _PAGE for one in waiting)
        if self._pages > _LOG_PAGES:
            self._pages = 0
            # Not by the writer, whose transactions would lock it out.
            self._threads.submit(_copy_log, in_transaction=False)

    def _rest(self) -> None:
        self._tries = 0
        self._rests_until = self._clock() + self._rest_seconds
        self._rest_seconds = min(2 * self._rest_seconds, _LONGEST_REST)


def _copy_log(connection: Connection) -> None:
    """Copies the log into the file, so that it begins anew.

    First without locking anybody out; then what was written meanwhile, for which the file is locked: a log that always grows while it is
    copied would never begin anew. Who reads for long, as a backup does, is not waited for: the next time is soon.
    """
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    (patience,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute(f"PRAGMA busy_timeout = {_COPY_MILLISECONDS}")
    try:
        connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
    finally:
        connection.execute(f"PRAGMA busy_timeout = {patience}")
