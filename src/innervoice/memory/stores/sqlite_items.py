"""The statements on a SQLite file of items. All of them run in a thread of the store, in a transaction."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from innervoice.memory.stores.names import decoded, encoded, in_order, use_is_told_after
from innervoice.memory.stores.store import (
    MOST_UNDER_A_KEY,
    FoundItem,
    Retention,
    StoredItem,
    TenantUsage,
)

__all__ = ["PIECE", "SqliteItems", "clear_data", "is_locked", "read_data", "write_data"]

_EVICTED = 1_000
_SWEPT = 200
_SWEPT_TENANTS = 64
_EVERY_TENANT = 2**62
_SWEEP_SECONDS = 60.0
_FREED_PAGES = 1_000
# SQLite accepts at least so many values at once. A list is padded to a multiple of the other number, so that few statements have to be prepared.
_MOST_VALUES = 512
_STEP = 32
_AGED = "INDEXED BY items_by_age WHERE created < ? AND NOT kept"
_UNUSED = "INDEXED BY items_by_use WHERE tenant = ? AND used < ? AND NOT kept"
_INSERT = (
    "INSERT INTO items (tenant, id, kind, created, used, kept, size, place, keys)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (tenant, id) DO NOTHING"
)
_CROWDED = (
    "DELETE FROM keys WHERE tenant = ? AND key = ? AND item <= (SELECT item FROM keys"
    " WHERE tenant = ? AND key = ? ORDER BY item DESC LIMIT 1 OFFSET ?)"
)
_GROW = "UPDATE tenants SET items = items + ?, size = size + ? WHERE number = ? RETURNING size"
_DROPPED = "number, tenant, kept, size, place, keys"


class SqliteItems:
    """What a store does on a connection."""

    def __init__(self, retention: Retention, now: Callable[[], float]) -> None:
        self._retention = retention
        self._now = now
        self._next_sweep = now() + _SWEEP_SECONDS
        self._last_tenant = 0

    def put(self, connection: sqlite3.Connection, item: StoredItem, keys: Sequence[bytes]) -> None:
        """Stores an item, unless it exists."""
        self.put_all(connection, [(item, keys)])

    def put_all(
        self,
        connection: sqlite3.Connection,
        entries: Sequence[tuple[StoredItem, Sequence[bytes]]],
    ) -> None:
        """Stores items, each unless it exists. What they share is read and written once."""
        (start,) = connection.execute("SELECT place FROM tail").fetchone()
        now, place = self._now(), int(start)
        numbers: dict[str, int] = {}
        under: list[tuple[int, bytes, int]] = []
        added: dict[int, tuple[int, int, int]] = {}
        pieces: list[bytes] = []
        for item, names in entries:
            tenant = numbers.get(item.tenant)
            if tenant is None:
                tenant = numbers[item.tenant] = _tenant_made(connection, item.tenant)
            keys = tuple(dict.fromkeys(names))
            size = len(item.data)
            row = (
                tenant, encoded(item.id), encoded(item.kind), item.created, now, item.kept, size, place, _packed(keys),
            )  # fmt: skip
            inserted = connection.execute(_INSERT, row)
            number = inserted.lastrowid
            if inserted.rowcount != 1 or number is None:
                continue  # it exists
            place += size
            pieces.append(item.data)
            under += [(tenant, key, number) for key in keys]
            if not item.kept:
                count, bytes_before, _ = added.get(tenant, (0, 0, 0))
                added[tenant] = count + 1, bytes_before + size, number
        write_data(connection, int(start), pieces)
        connection.executemany("INSERT INTO keys VALUES (?, ?, ?)", under)
        connection.executemany(
            _CROWDED, dict.fromkeys((*one[:2], *one[:2], MOST_UNDER_A_KEY) for one in under)
        )
        for tenant, (count, size, newest) in added.items():
            (total,) = connection.execute(_GROW, (count, size, tenant)).fetchone()
            if total > self._retention.tenant_bytes:
                self._make_room(connection, tenant, newest)

    def get(
        self,
        connection: sqlite3.Connection,
        tenant_name: str,
        keys: Sequence[bytes],
        known: Collection[str],
    ) -> tuple[list[FoundItem], list[int]]:
        """The items under these keys, and the numbers of those whose time of use must be updated."""
        tenant = _tenant(connection, tenant_name)
        if tenant is None:
            return [], []
        now = self._now()
        under = _selected(
            connection, "SELECT key, item FROM keys WHERE tenant = ? AND key IN", (tenant,), keys
        )
        rows = _selected(
            connection,
            # By their numbers: an index that begins with the tenant would read all of the tenant's items.
            "SELECT number, id, created, used, place, size FROM items NOT INDEXED"
            " WHERE tenant = ? AND (kept OR used >= ? AND created >= ?) AND number IN",
            (tenant, *self._limits(now)),
            {number for _, number in under},
        )
        names = {row[0]: (decoded(row[1]), row[2]) for row in rows}
        data = read_data(
            connection, {row[0]: row[4:] for row in rows if names[row[0]][0] not in known}
        )
        stale = now - use_is_told_after(self._retention)
        used = [row[0] for row in rows if row[3] < stale]
        items = [
            FoundItem(key, names[number][0], data.get(number), names[number][1])
            for key, number in under
            if number in names
        ]
        return in_order(items, keys), used

    def use(self, connection: sqlite3.Connection, numbers: Iterable[int], now: float) -> None:
        """Sets the time of use of items."""
        connection.executemany(
            "UPDATE items SET used = ? WHERE number = ? AND used < ?",
            [(now, number, now) for number in numbers],
        )

    def items(
        self, connection: sqlite3.Connection, tenant_name: str, kind: str
    ) -> list[StoredItem]:
        """All items of one kind."""
        rows = connection.execute(
            "SELECT number, id, created, kept, place, size FROM items"
            " WHERE tenant = ? AND kind = ? AND (kept OR used >= ? AND created >= ?)"
            " ORDER BY created, number",
            (_tenant(connection, tenant_name), encoded(kind), *self._limits(self._now())),
        ).fetchall()
        data = read_data(connection, {row[0]: row[4:] for row in rows})
        return [
            StoredItem(decoded(name), tenant_name, kind, data[number], created, bool(kept))
            for number, name, created, kept, *_ in rows
        ]

    def delete(
        self, connection: sqlite3.Connection, tenant_name: str, keys: Sequence[bytes]
    ) -> int:
        """Deletes the items under these keys."""
        tenant = _tenant(connection, tenant_name)
        rows = _selected(
            connection,
            f"SELECT DISTINCT {_DROPPED} FROM items NOT INDEXED WHERE tenant = ? AND number IN"  # noqa: S608
            " (SELECT item FROM keys WHERE tenant = ? AND key IN",
            (tenant, tenant),
            keys,
            ")",
        )
        return _drop(connection, {row[0]: row for row in rows}.values())

    def forget(self, connection: sqlite3.Connection, tenant_name: str | None, most: int) -> int:
        """Deletes items of a tenant or of all, up to a number of them; returns how many were deleted."""
        where, values = "WHERE NOT kept", []
        if tenant_name is not None:
            where, values = "WHERE tenant = ? AND NOT kept", [_tenant(connection, tenant_name)]
        count = _drop(connection, _some(connection, where, values, most))
        connection.execute(
            "DELETE FROM tenants WHERE items = 0"
            " AND NOT EXISTS (SELECT 1 FROM items WHERE tenant = tenants.number)"
        )
        return count

    def sweep(
        self, connection: sqlite3.Connection, most: int = _SWEPT, tenants: int = _SWEPT_TENANTS
    ) -> int:
        """Deletes expired items and counters, up to a number of them; returns how many items were deleted.

        The next call continues with other tenants.
        """
        now = self._now()
        used, created = self._limits(now)
        connection.execute(
            "DELETE FROM counters WHERE name IN"
            " (SELECT name FROM counters WHERE ends <= ? LIMIT ?)",
            (now, most),
        )
        count = _drop(connection, _some(connection, _AGED, [created], most))
        numbers = connection.execute(
            "SELECT number FROM tenants WHERE number > ? ORDER BY number LIMIT ?",
            (self._last_tenant, tenants),
        ).fetchall()
        for (tenant,) in numbers:
            if count >= most:
                return count
            unused = _some(connection, _UNUSED, [tenant, used], most - count)
            count += _drop(connection, unused)
            self._last_tenant = tenant
        if len(numbers) < tenants:
            self._last_tenant = 0
        return count

    def sweep_all(self, connection: sqlite3.Connection, most: int) -> int:
        """Deletes expired items, of any tenant, up to a number of them; returns how many were deleted."""
        self._last_tenant = 0
        return self.sweep(connection, most, _EVERY_TENANT)

    def tidy(self, connection: sqlite3.Connection) -> None:
        """Sweeps a little now and then, in a transaction of its own."""
        if self._now() < self._next_sweep:
            return
        connection.execute("BEGIN IMMEDIATE")
        count = self.sweep(connection)
        connection.execute("COMMIT")
        if count < _SWEPT:
            self._next_sweep = self._now() + _SWEEP_SECONDS

    def make_room(self, connection: sqlite3.Connection) -> int:
        """Deletes a few items of tenants that exceed their limit; returns how many were deleted."""
        tenants = connection.execute(
            "SELECT number FROM tenants WHERE size > ? AND items > 1 LIMIT 1",
            (self._retention.tenant_bytes,),
        ).fetchall()
        count = 0
        for (tenant,) in tenants:
            (newest,) = connection.execute(
                "SELECT number FROM items INDEXED BY items_by_use"
                " WHERE tenant = ? AND NOT kept ORDER BY used DESC, created DESC LIMIT 1",
                (tenant,),
            ).fetchone()
            count += self._make_room(connection, tenant, newest)
        return count

    def free_pages(self, connection: sqlite3.Connection) -> int:
        """Shrinks the file a little; returns how many empty pages are left."""
        connection.execute(f"PRAGMA incremental_vacuum({_FREED_PAGES})").fetchall()
        (pages,) = connection.execute("PRAGMA freelist_count").fetchone()
        return int(pages)

    def usage(self, connection: sqlite3.Connection) -> list[TenantUsage]:
        """The usage of each tenant."""
        rows = connection.execute(
            "SELECT name, items, size, (SELECT min(created) FROM items INDEXED BY items_by_use"
            " WHERE tenant = tenants.number AND NOT kept) FROM tenants WHERE items"
        )
        return sorted(TenantUsage(decoded(name), *rest) for name, *rest in rows)

    def count(
        self, connection: sqlite3.Connection, amounts: Mapping[str, float], seconds: float
    ) -> dict[str, float]:
        """Adds to counters."""
        now, sums = self._now(), {}
        for name, amount in amounts.items():
            rows = connection.execute(
                "INSERT INTO counters VALUES (:name, :amount, :ends) ON CONFLICT (name) DO UPDATE"
                " SET sum = iif(ends <= :now, 0, sum) + :amount, ends = iif(ends <= :now, :ends, ends)"
                " RETURNING sum"
                if amount
                else "SELECT sum FROM counters WHERE name = :name AND ends > :now",
                {"name": encoded(name), "amount": amount, "ends": now + seconds, "now": now},
            ).fetchall()
            sums[name] = float(rows[0][0]) if rows else 0.0
        return sums

    def _limits(self, now: float) -> tuple[float, float]:
        return now - self._retention.seconds, now - self._retention.most_seconds

    def _make_room(self, connection: sqlite3.Connection, tenant: int, newest: int) -> int:
        """Deletes the least recently used items of a tenant; the newest stays."""
        (size,) = connection.execute(
            "SELECT size FROM tenants WHERE number = ?", (tenant,)
        ).fetchone()
        over = size - self._retention.tenant_bytes
        if over <= 0:
            return 0
        gone = []
        for row in connection.execute(
            f"SELECT {_DROPPED} FROM items INDEXED BY items_by_use"  # noqa: S608
            " WHERE tenant = ? AND NOT kept ORDER BY used, created LIMIT ?",
            (tenant, _EVICTED),
        ):
            if over <= 0:
                break
            if row[0] != newest:
                gone.append(row)
                over -= row[3]
        return _drop(connection, gone)


def _tenant(connection: sqlite3.Connection, name: str) -> int | None:
    row = connection.execute(
        "SELECT number FROM tenants WHERE name = ?", (encoded(name),)
    ).fetchone()
    return row[0] if row else None


def _tenant_made(connection: sqlite3.Connection, name: str) -> int:
    number = _tenant(connection, name)
    if number is None:
        number = connection.execute(
            "INSERT INTO tenants (name) VALUES (?)", (encoded(name),)
        ).lastrowid
    assert number is not None
    return number


def _selected(
    connection: sqlite3.Connection,
    statement: str,
    values: tuple[Any, ...],
    choices: Collection[Any],
    ending: str = "",
) -> list[Any]:
    """The rows of a statement that ends with a list of values."""
    rows: list[Any] = []
    every = list(dict.fromkeys(choices))
    for start in range(0, len(every), _MOST_VALUES):
        chunk = every[start : start + _MOST_VALUES]
        length = -(-len(chunk) // _STEP) * _STEP
        chunk += [chunk[-1]] * (length - len(chunk))
        marks = ",".join("?" * length)
        rows += connection.execute(f"{statement} ({marks}){ending}", (*values, *chunk))
    return rows


def _some(connection: sqlite3.Connection, where: str, values: list[Any], most: int) -> list[Any]:
    return connection.execute(
        f"SELECT {_DROPPED} FROM items {where} LIMIT ?",  # noqa: S608
        (*values, most),
    ).fetchall()


def _drop(connection: sqlite3.Connection, rows: Collection[Any]) -> int:
    """Deletes items by their rows."""
    for number, tenant, kept, size, place, packed in rows:
        connection.executemany(
            "DELETE FROM keys WHERE tenant = ? AND key = ? AND item = ?",
            [(tenant, key, number) for key in _unpacked(packed)],
        )
        clear_data(connection, place, size)
        connection.execute("DELETE FROM items WHERE number = ?", (number,))
        if not kept:
            connection.execute(
                "UPDATE tenants SET items = items - 1, size = size - ? WHERE number = ?",
                (size, tenant),
            )
    return len(rows)


def _packed(keys: Sequence[bytes]) -> bytes:
    return b"".join(len(key).to_bytes(4, "little") + key for key in keys)


def _unpacked(packed: bytes) -> Iterator[bytes]:
    place = 0
    while place < len(packed):
        start = place + 4
        place = start + int.from_bytes(packed[place:start], "little")
        yield packed[start:place]


# ---- The data of items in a SQLite file, stored one after the other in pieces that each fill a page.
#
# When rows of different sizes are deleted, SQLite moves their neighbours between pages, and old copies of them stay in the gaps, whatever
# `secure_delete` says. A row that fills its page is moved only with its page. So deleted data is overwritten, and no longer in the file.
#
# A piece begins with the number of items in it; one without any is freed.


PIECE = 4_040
"""The bytes of data in a piece; a second row does not fit into a page of 4,096 bytes."""

_COUNT = 4
_CHUNK = 512


def is_locked(error: BaseException) -> bool:
    """Whether somebody else uses the file at the moment."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def write_data(connection: sqlite3.Connection, start: int, items: Sequence[bytes]) -> None:
    """Appends the data of items at a place, the end of all data so far."""
    counts: Counter[int] = Counter()
    end = start
    for data in items:
        if data:
            counts.update(range(end // PIECE, (end + len(data) - 1) // PIECE + 1))
        end += len(data)
    everything = b"".join(items)
    new = []
    for number, offset, begin, until in _parts(start, len(everything)):
        part = everything[begin:until]
        if offset:
            with connection.blobopen("pieces", "data", number) as piece:
                _add(piece, counts[number])
                piece.seek(_COUNT + offset)
                piece.write(part)
        else:
            new.append((number, counts[number].to_bytes(_COUNT, "little") + part.ljust(PIECE, b"\0")))  # fmt: skip
    connection.executemany("INSERT INTO pieces VALUES (?, ?)", new)
    if end > start:
        connection.execute("UPDATE tail SET place = ?", (end,))


def read_data(
    connection: sqlite3.Connection, places: Mapping[int, tuple[int, int]]
) -> dict[int, bytes]:
    """The data at these places and of these sizes, by the numbers that were passed."""
    wanted = {part[0] for place in places.values() for part in _parts(*place)}
    pieces = dict(_rows(connection, sorted(wanted)))
    return {
        number: b"".join(
            pieces[piece][_COUNT + offset : _COUNT + offset + end - begin]
            for piece, offset, begin, end in _parts(*place)
        )
        for number, place in places.items()
    }


def clear_data(connection: sqlite3.Connection, start: int, size: int) -> None:
    """Overwrites data."""
    (tail,) = connection.execute("SELECT place FROM tail").fetchone()
    for number, offset, begin, end in _parts(start, size):
        with connection.blobopen("pieces", "data", number) as piece:
            position = _add(piece, -1)
            piece.seek(_COUNT + offset)
            piece.write(bytes(end - begin))
        # The last piece is still written to, unless it is full.
        if position == 0 and (number + 1) * PIECE <= tail:
            connection.execute("DELETE FROM pieces WHERE number = ?", (number,))


def _parts(start: int, size: int) -> Iterator[tuple[int, int, int, int]]:
    """The pieces that contain data: the number of the piece, the offset in it, and which part of the data it has."""
    begin = 0
    while begin < size:
        number, offset = divmod(start + begin, PIECE)
        end = min(size, begin + PIECE - offset)
        yield number, offset, begin, end
        begin = end


def _add(piece: sqlite3.Blob, amount: int) -> int:
    count = int.from_bytes(piece.read(_COUNT), "little") + amount
    piece.seek(0)
    piece.write(count.to_bytes(_COUNT, "little"))
    return count


def _rows(connection: sqlite3.Connection, numbers: list[int]) -> Iterable[tuple[int, bytes]]:
    for begin in range(0, len(numbers), _CHUNK):
        chunk = numbers[begin : begin + _CHUNK]
        marks = ",".join("?" * len(chunk))
        yield from connection.execute(
            f"SELECT number, data FROM pieces WHERE number IN ({marks})",  # noqa: S608
            chunk,
        )
