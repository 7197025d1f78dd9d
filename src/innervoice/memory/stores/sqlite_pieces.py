"""The data of items in a SQLite file, stored one after the other in pieces that each fill a page.

When rows of different sizes are deleted, SQLite moves their neighbours between pages, and old copies of them stay in the gaps, whatever
`secure_delete` says. A row that fills its page is moved only with its page. So deleted data is overwritten, and no longer in the file.

A piece begins with the number of items in it; one without any is freed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping

__all__ = ["PIECE", "clear_data", "read_data", "write_data"]

PIECE = 4_040
"""The bytes of data in a piece; a second row does not fit into a page of 4,096 bytes."""

_COUNT = 4
_CHUNK = 512


def write_data(connection: sqlite3.Connection, data: bytes) -> int:
    """Appends data; returns its place."""
    (start,) = connection.execute("SELECT place FROM tail").fetchone()
    for number, offset, begin, end in _parts(start, len(data)):
        part = data[begin:end]
        if offset:
            with connection.blobopen("pieces", "data", number) as piece:
                _add(piece, 1)
                piece.seek(_COUNT + offset)
                piece.write(part)
        else:
            whole = (1).to_bytes(_COUNT, "little") + part.ljust(PIECE, b"\0")
            connection.execute("INSERT INTO pieces VALUES (?, ?)", (number, whole))
    connection.execute("UPDATE tail SET place = ?", (start + len(data),))
    return int(start)


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
            left = _add(piece, -1)
            piece.seek(_COUNT + offset)
            piece.write(bytes(end - begin))
        # The last piece is still written to, unless it is full.
        if left == 0 and (number + 1) * PIECE <= tail:
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
