"""Threads that work on a SQLite file, so that an event loop never waits for the disk.

Each thread has its own connection. All jobs that wait for the writer run in one transaction, and are answered after its commit.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, NamedTuple, TypeAlias

from innervoice.memory.stores.sqlite_file import FileConnection
from innervoice.memory.stores.store import StoreError

__all__ = ["ReaderThreads", "Work", "WriterThread"]

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
            if len(jobs) > 1 and not _is_locked(error):
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


def _is_locked(error: BaseException) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
