"""Items in a SQLite file, which several processes on one machine may share.

Reads and writes have separate threads: below. Deleted data is overwritten, in the file and in its log.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from queue import Empty, SimpleQueue
from sqlite3 import Connection
from threading import Lock, Thread
from typing import Any, NamedTuple, TypeAlias

from innervoice.memory.stores.sqlite_items import SqliteItems, is_locked
from innervoice.memory.stores.sqlite_puts import PutsOnLoop
from innervoice.memory.stores.store import FoundItem, Retention, StoredItem, StoreError, TenantUsage

__all__ = [
    "FileConnection",
    "ReaderThreads",
    "SqliteStore",
    "Work",
    "WriterThread",
    "connect",
    "empty_log",
]

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
        self._puts = PutsOnLoop(self._impatient, self._items, self._readers)
        self._busy_seconds = busy_seconds
        self._overwriting = asyncio.Lock()
        self._deleted = False

    def _impatient(self) -> FileConnection:
        """A connection that waits for nobody, and leaves copying the log to a thread."""
        connection = connect(self.path, 0.0)
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        return connection

    def put_soon(self, item: StoredItem, keys: Sequence[bytes]) -> asyncio.Future[None] | None:
        """Stores an item with all others that come within a few milliseconds; None if only `put` can do it without delaying others."""
        return self._puts.put(item, keys)

    async def put(self, item: StoredItem, keys: Sequence[bytes]) -> None:
        """Stores an item under its keys."""
        await _result(self._writer.submit(lambda file: self._items.put(file, item, keys)))

    async def get(
        self, tenant: str, keys: Sequence[bytes], known: Collection[str] = ()
    ) -> list[FoundItem]:
        """The items of a tenant under any of these keys."""
        matches, used = await _result(
            self._readers.submit(lambda file: self._items.get(file, tenant, keys, known))
        )
        if used:
            # Nobody waits for this.
            now = self._now()
            self._writer.submit(lambda file: self._items.use(file, used, now))
        items: list[FoundItem] = matches
        return items

    async def items(self, tenant: str, kind: str) -> list[StoredItem]:
        """All items of one kind."""
        items: list[StoredItem] = await _result(
            self._readers.submit(lambda file: self._items.items(file, tenant, kind))
        )
        return items

    async def delete(self, tenant: str, keys: Sequence[bytes]) -> int:
        """Deletes the items under any of these keys."""
        count: int = await _result(
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
        pages = -1
        while pages:
            before = pages
            pages = await _result(self._writer.submit(self._items.free_pages))
            if pages == before:
                break
        self._deleted = True
        await self._overwrite()
        return count

    async def usage(self) -> list[TenantUsage]:
        """The usage of each tenant."""
        usage: list[TenantUsage] = await _result(self._readers.submit(self._items.usage))
        return usage

    async def count(self, amounts: Mapping[str, float], seconds: float) -> dict[str, float]:
        """Adds to counters, and returns their sums."""
        threads = self._writer if any(amounts.values()) else self._readers
        sums: dict[str, float] = await _result(
            threads.submit(lambda file: self._items.count(file, amounts, seconds))
        )
        return sums

    async def close(self) -> None:
        """Ends the threads, after they have finished their work."""
        self._puts.close()
        await asyncio.to_thread(self._readers.stop)
        await asyncio.to_thread(self._writer.stop)

    async def _repeat(self, work: Callable[[Any], int]) -> int:
        """Repeats work until nothing is left to do; returns how much was done."""
        count = 0
        while step := await _result(self._writer.submit(work)):
            count += step
        return count

    async def _overwrite(self) -> None:
        """Removes deleted data from the log; if that fails, the next deletion tries again."""
        # One more run is enough for all that deleted while another run was in progress.
        async with self._overwriting:
            if not self._deleted:
                return
            self._deleted = False
            try:
                await _result(self._readers.submit(self._empty_log, in_transaction=False))
            except BaseException:
                self._deleted = True
                raise

    def _empty_log(self, connection: Connection) -> None:
        empty_log(connection, self._busy_seconds)


async def _result(future: Future[Any]) -> Any:
    return await asyncio.wrap_future(future)


# ---- Threads that work on a SQLite file, so that an event loop never waits for the disk.
#
# Each thread has its own connection. All jobs that wait for the writer run in one transaction, and are answered after its commit.


Work: TypeAlias = Callable[[sqlite3.Connection], Any]

_GROUP = 256
_IDLE_SECONDS = 600.0
# Warnings are errors where `python -W error` says so; whoever waits must hear of every one of them.
_ERRORS = (
    sqlite3.Error, OSError, StoreError, ArithmeticError, LookupError, TypeError, ValueError, Warning,
)  # fmt: skip


class _Job(NamedTuple):
    work: Work
    future: Future[Any]
    in_transaction: bool = True


class ReaderThreads:
    """Threads that each do one job at a time."""

    _idle_seconds: float | None = None

    def __init__(self, connect: Callable[[], FileConnection], threads: int = 2) -> None:
        self._connect = connect
        self._count = threads
        self._threads: list[Thread] = []
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._lock = Lock()
        self._ended = False

    def submit(self, work: Work, *, in_transaction: bool = True) -> Future[Any]:
        """Schedules work; raises `StoreError` after `stop`."""
        job = _Job(work, Future(), in_transaction)
        with self._lock:
            if self._ended:
                raise StoreError("the store is closed")
            if not self._threads:
                self._threads = [
                    Thread(target=self._run, name="innervoice-store", daemon=True)
                    for _ in range(self._count)
                ]
                for thread in self._threads:
                    thread.start()
            self._jobs.put(job)
        return job.future

    def stop(self) -> None:
        """Returns when all work is done and the connections are closed."""
        with self._lock:
            if not self._ended:
                self._ended = True
                for _ in self._threads:
                    self._jobs.put(None)
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        connection: FileConnection | None = None
        while True:
            try:
                job = self._jobs.get(timeout=self._idle_seconds)
            except Empty:
                connection = self._rest(connection)
                continue
            if job is None:
                break
            jobs = [one for one in self._group(job) if one.future.set_running_or_notify_cancel()]
            connection = self._settle(connection, jobs)
            connection = self._rest(connection)
            # The last job's result can be large, and the next job may take long to come.
            del job, jobs
        if connection:
            connection.close()

    def _settle(
        self, connection: FileConnection | None, jobs: Sequence[_Job]
    ) -> FileConnection | None:
        """Runs the jobs and answers them; returns the connection, if it is still usable."""
        if not jobs:
            return connection
        try:
            if connection and connection.is_replaced():
                # SQLite sees that, too, and leaves the log of the new file alone.
                connection.close()
                connection = None
            connection = connection or self._connect()
            results = self._perform(connection, jobs)
        except _ERRORS as error:
            if connection:
                connection.close()
            # A job that is too large for the disk does not make the others fail; if there is a lock to wait for, it is waited for only once.
            if len(jobs) > 1 and not is_locked(error):
                connection = None
                for job in jobs:
                    connection = self._settle(connection, [job])
                return connection
            for job in jobs:
                job.future.set_exception(StoreError(str(error) or type(error).__name__))
            return None
        for job, result in zip(jobs, results, strict=True):
            job.future.set_result(result)
        return connection

    def _group(self, job: _Job) -> list[_Job]:
        return [job]

    def _perform(self, connection: FileConnection, jobs: Sequence[_Job]) -> list[Any]:
        if not jobs[0].in_transaction:
            return [job.work(connection) for job in jobs]
        # One snapshot for everything that a job reads.
        return _in_transaction(connection, "BEGIN", jobs)

    def _rest(self, connection: FileConnection | None) -> FileConnection | None:
        return connection


class WriterThread(ReaderThreads):
    """The one thread that writes. `tidy` is called after each group, and when there was nothing to do for long."""

    _idle_seconds = _IDLE_SECONDS

    def __init__(self, connect: Callable[[], FileConnection], tidy: Work) -> None:
        super().__init__(connect, 1)
        self._tidy = tidy

    def submit(self, work: Work, *, in_transaction: bool = True) -> Future[Any]:
        """Schedules work in the transaction that it shares with all that waits."""
        if not in_transaction:
            raise ValueError("the writer's work is done in a transaction; readers can do without")
        return super().submit(work)

    def _group(self, job: _Job) -> list[_Job]:
        jobs = [job]
        while len(jobs) < _GROUP:
            try:
                following = self._jobs.get_nowait()
            except Empty:
                break
            if following is None:
                self._jobs.put(None)
                break
            jobs.append(following)
        return jobs

    def _perform(self, connection: FileConnection, jobs: Sequence[_Job]) -> list[Any]:
        return _in_transaction(connection, "BEGIN IMMEDIATE", jobs)

    def _rest(self, connection: FileConnection | None) -> FileConnection | None:
        if connection is None:
            return None
        try:
            self._tidy(connection)
        except _ERRORS:
            # Nobody waits for the result; the next job reports what is wrong.
            connection.close()
            return None
        return connection


def _in_transaction(connection: sqlite3.Connection, begin: str, jobs: Sequence[_Job]) -> list[Any]:
    connection.execute(begin)
    try:
        results = [job.work(connection) for job in jobs]
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.rollback()
        raise
    return results


# ---- A SQLite file of items: its tables, how it is opened, and how a damaged one is handled.
#
# Tenants have numbers, and sums that are updated with every change. An item's data is stored separately, at its `place`: `sqlite_items.py`.
# Its keys are also packed into the item, so that they are found again when it is deleted.


_VERSION = 1
_TABLES = """
CREATE TABLE tenants (
    number INTEGER PRIMARY KEY,
    name BLOB NOT NULL UNIQUE,
    items INTEGER NOT NULL DEFAULT 0,
    size INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE items (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant INTEGER NOT NULL,
    id BLOB NOT NULL,
    kind BLOB NOT NULL,
    created REAL NOT NULL,
    used REAL NOT NULL,
    kept INTEGER NOT NULL,
    size INTEGER NOT NULL,
    place INTEGER NOT NULL,
    keys BLOB NOT NULL,
    UNIQUE (tenant, id)
);
CREATE INDEX items_by_use ON items (tenant, used, created) WHERE NOT kept;
CREATE INDEX items_by_age ON items (created) WHERE NOT kept;
CREATE INDEX items_by_kind ON items (tenant, kind);
CREATE TABLE pieces (number INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE tail (place INTEGER NOT NULL);
INSERT INTO tail VALUES (0);
CREATE TABLE keys (
    tenant INTEGER NOT NULL,
    key BLOB NOT NULL,
    item INTEGER NOT NULL,
    PRIMARY KEY (tenant, key, item)
) WITHOUT ROWID;
CREATE TABLE counters (name BLOB PRIMARY KEY, sum REAL NOT NULL, ends REAL NOT NULL) WITHOUT ROWID;
CREATE INDEX counters_by_end ON counters (ends);
"""
_CACHE_KIB = 16_384
_LOG_BYTES = 64 * 1024 * 1024
_PAUSE = 0.01


class FileConnection(sqlite3.Connection):
    """A connection that knows which file it is connected to."""

    file: Path | None = None
    identity: tuple[int, int] | None = None

    def is_replaced(self) -> bool:
        """Whether the file was deleted, or another one was put in its place; this connection reads and writes the old one."""
        return self.file is not None and self.identity != _identity(self.file)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_dev, about.st_ino


def connect(path: Path, busy_seconds: float) -> FileConnection:
    """A connection to the file, which is created if it is missing; a file that is not a database is first moved aside."""
    try:
        return _connected(path, busy_seconds)
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_NOTADB:
            raise
    with _locked(path, busy_seconds):
        # Another process may have moved it meanwhile.
        try:
            _connected(path, busy_seconds).close()
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_NOTADB:
                raise
            _move_aside(path)
        return _connected(path, busy_seconds)


def empty_log(connection: sqlite3.Connection, busy_seconds: float) -> None:
    """Empties the write-ahead log into the file."""
    # SQLite waits for readers and writers, but not for another checkpoint.
    end = time.monotonic() + busy_seconds
    while connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        if time.monotonic() > end:
            raise StoreError(
                "deleted data is still in the write-ahead log: another process uses it"
            )
        time.sleep(_PAUSE)


def _connected(path: Path, busy_seconds: float) -> FileConnection:
    # Only its owner may read it; SQLite gives the files next to it the same mode.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    connection = sqlite3.connect(
        path,
        timeout=busy_seconds,
        isolation_level=None,
        check_same_thread=False,
        factory=FileConnection,
    )
    try:
        connection.file, connection.identity = path, _identity(path)
        if connection.execute("PRAGMA page_count").fetchone() == (0,):
            # On a file that already has pages, this would wait for a writer.
            connection.execute("PRAGMA page_size = 4096")
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        _use_write_ahead_log(connection, busy_seconds)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
        if _version(connection) != _VERSION:
            _make_tables(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _use_write_ahead_log(connection: sqlite3.Connection, busy_seconds: float) -> None:
    # SQLite does not wait for a lock here, and two processes may start at once.
    end = time.monotonic() + busy_seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(_PAUSE)
        else:
            return


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def _make_tables(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("BEGIN IMMEDIATE")
    version = _version(connection)
    if version != _VERSION:
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if version or tables:
            raise StoreError(
                f"{path} is a database of version {version}; expected version {_VERSION} or a new file"
            )
        for statement in _TABLES.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {_VERSION}")
    connection.execute("COMMIT")


def _move_aside(path: Path) -> None:
    moved = path.with_name(f"{path.name}.damaged-{time.time_ns()}")
    path.rename(moved)
    for ending in ("-wal", "-shm"):
        beside = path.with_name(path.name + ending)
        if beside.exists():
            beside.rename(moved.with_name(moved.name + ending))


@contextmanager
def _locked(path: Path, busy_seconds: float) -> Iterator[None]:
    """Lets one process in at a time, by a lock of SQLite: every system has that, and it ends with its process."""
    beside = path.with_name(f"{path.name}.lock")
    lock = sqlite3.connect(beside, timeout=busy_seconds, isolation_level=None)
    try:
        lock.execute("BEGIN EXCLUSIVE")
        yield
    finally:
        lock.close()
