"""A SQLite file of items: its tables, how it is opened, and how a damaged one is handled.

Tenants have numbers, and sums that are updated with every change. An item's data is stored separately, at its `place`: `sqlite_pieces.py`.
Its keys are also packed into the item, so that they are found again when it is deleted.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from innervoice.memory.stores.store import StoreError

__all__ = ["FileConnection", "connect", "empty_log"]

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
