"""The database of opencode, read without writing to it or next to it.

A database without a write-ahead log is opened as a file that does not change (`immutable=1`): SQLite then creates no `-wal` and `-shm`. Where there
is a log, because opencode is running or was killed, only the log has the newest messages; both files are copied to a temporary folder and opened
there. Tables, not views, are read, and nothing else of the schema is used.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfile, rmtree
from tempfile import mkdtemp
from typing import Any
from weakref import finalize

from innervoice.canon.jsontext import load_json
from innervoice.errors import DecodeError
from innervoice.sources.conversation import Conversation, seconds_of
from innervoice.sources.opencode.turns import StoredMessage, turns_of
from innervoice.sources.reader import (
    Data,
    Entry,
    Opened,
    Trouble,
    folder_name,
)
from innervoice.wire.json_access import as_dict, as_text

__all__ = ["MAGIC", "has_tables", "open_database"]

MAGIC = b"SQLite format 3\0"
_TABLES = {"session", "message", "part"}
_NEWER = "session_message"
"""A table of messages in another form, in addition to the three others, which are still written (1.18)."""
_TRIES = 3


def has_tables(data: Data) -> bool:
    """Whether a database has the tables of opencode."""
    try:
        with _Database(data).connected() as connection:
            is_there = _tables(connection) >= _TABLES
            return is_there and "data" in _columns(connection, "part")
    except DecodeError:
        return False


def open_database(data: Data) -> Opened:
    """The sessions of a database, the newest first; those of subagents after their parent."""
    database = _Database(data)
    with database.connected() as connection:
        entries = _entries(connection)
        troubles = _unread(connection)

    def read(entry: Entry) -> Conversation:
        with database.connected() as connection:
            return _conversation(connection, entry, troubles)

    return Opened(entries, read, troubles)


# ---- opening ---------------------------------------------------------------------------------------


class _Database:
    """A database that is only read; its copy exists as long as this object."""

    def __init__(self, data: Data) -> None:
        self._data = data
        self._folder: Path | None = None
        self._state: tuple[Any, ...] = ()

    @contextmanager
    def connected(self) -> Iterator[sqlite3.Connection]:
        """A connection that cannot write; errors of SQLite are `DecodeError`s."""
        try:
            connection = self._connect()
            try:
                connection.text_factory = bytes  # a text may be no UTF-8
                connection.execute("PRAGMA query_only = ON")
                connection.execute("PRAGMA trusted_schema = OFF")
                yield connection
            finally:
                connection.close()
        except (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeError) as error:
            raise DecodeError(f"expected a database of opencode: {error}") from None

    def _connect(self) -> sqlite3.Connection:
        if self._data.path is None:
            content = bytearray(self._data.piece())
            # In memory there is no separate log: bytes 18 and 19 of the header say which kind of journal is used.
            content[18:20] = b"\1\1"
            connection = sqlite3.connect(":memory:")
            connection.deserialize(bytes(content))
            return connection
        path = self._data.path.absolute()
        log = path.with_name(f"{path.name}-wal")
        if _size(log):
            copied = self._copied(path, log)
            return sqlite3.connect(copied.as_uri(), uri=True)
        return sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)

    def _copied(self, path: Path, log: Path) -> Path:
        """Copies a database and its log, and repeats that if opencode wrote to them meanwhile or since."""
        if self._folder is None:
            self._folder = Path(mkdtemp(prefix="innervoice-"))
            finalize(self, rmtree, self._folder, ignore_errors=True)
        for _ in range(_TRIES):
            state = _state(path, log)
            if state == self._state:
                break
            copyfile(path, self._folder / path.name)
            copyfile(log, self._folder / log.name)
            self._state = state
        return self._folder / path.name


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _state(path: Path, log: Path) -> tuple[Any, ...]:
    """What differs after opencode has written."""
    return tuple((about.st_mtime_ns, about.st_size) for about in (path.stat(), log.stat()))


# ---- reading ---------------------------------------------------------------------------------------


def _tables(connection: sqlite3.Connection) -> set[str]:
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return {_text(name) for (name,) in rows}


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {_text(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")}


def _entries(connection: sqlite3.Connection) -> list[Entry]:
    present = _columns(connection, "session")
    wanted = ("id", "title", "parent_id", "time_created", "model", "directory")
    columns = ", ".join(name if name in present else "NULL" for name in wanted)
    rows = connection.execute(f"SELECT {columns} FROM session ORDER BY time_created DESC, id DESC")  # noqa: S608 - only names of ours
    entries = [
        Entry(
            _text(name),
            _text(title),
            parent=_text(parent) or None,
            at=seconds_of(created),
            model=as_text(_json(model).get("id")),
            project=folder_name(directory),
            folder=_text(directory) or None,
        )
        for name, title, parent, created, model, directory in rows
        if name is not None
    ]
    return _with_subagents(entries)


def _with_subagents(entries: list[Entry]) -> list[Entry]:
    """Each session followed by those of its subagents; one whose parent is missing is listed by itself."""
    names = {entry.id for entry in entries}
    subagents: dict[str, list[Entry]] = {}
    for entry in reversed(entries):
        if entry.parent in names and entry.parent is not None:
            subagents.setdefault(entry.parent, []).append(entry)
    ordered: dict[str, Entry] = {}
    pending = [entry for entry in reversed(entries) if entry.parent not in names]
    while pending:
        entry = pending.pop()
        if entry.id not in ordered:
            ordered[entry.id] = entry
            pending += reversed(subagents.get(entry.id, []))
    return [*ordered.values(), *(entry for entry in entries if entry.id not in ordered)]


def _unread(connection: sqlite3.Connection) -> list[Trouble]:
    if _NEWER not in _tables(connection):
        return []
    query = f"SELECT count(DISTINCT session_id) FROM {_NEWER} WHERE session_id NOT IN (SELECT session_id FROM message)"  # noqa: S608
    (count,) = connection.execute(query).fetchone()
    why = f"{count} sessions are only in the table {_NEWER}, which is not read"
    return [Trouble(None, why)] if count else []


def _conversation(
    connection: sqlite3.Connection, entry: Entry, troubles: list[Trouble]
) -> Conversation:
    messages: dict[str, StoredMessage] = {}
    rows = connection.execute(
        "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", (entry.id,)
    )
    for name, data in rows:
        info = _json(data)
        if info:
            messages[_text(name)] = StoredMessage(_text(name), info, [])
        else:
            _add(troubles, f"message {_text(name)} is not JSON")
    parts = connection.execute(
        "SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY message_id, id",
        (entry.id,),
    )
    for name, message, data in parts:
        part, owner = _json(data), messages.get(_text(message))
        if part and owner:
            owner.parts.append(part)
        else:
            _add(troubles, f"part {_text(name)} is not JSON, or has no message")
    turns = tuple(turns_of(list(messages.values()), _reverted(connection, entry.id)))
    return Conversation(id=entry.id, title=entry.title, turns=turns, parent=entry.parent)


def _reverted(connection: sqlite3.Connection, session: str) -> str | None:
    if "revert" not in _columns(connection, "session"):
        return None
    row = connection.execute("SELECT revert FROM session WHERE id = ?", (session,)).fetchone()
    return as_text(_json(row[0]).get("messageID")) if row else None


def _add(troubles: list[Trouble], why: str) -> None:
    if (trouble := Trouble(None, why)) not in troubles:
        troubles.append(trouble)


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return str(value, "utf-8", "replace")
    return "" if value is None else str(value)


def _json(value: Any) -> dict[str, Any]:
    """The object in a column; an empty one if there is none."""
    try:
        return as_dict(load_json(value)) if isinstance(value, bytes) else {}
    except ValueError:
        return {}
