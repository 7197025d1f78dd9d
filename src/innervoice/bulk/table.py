"""A piece of a file: rows by column, before their meaning is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, overload

from innervoice.bulk.files import InputFile
from innervoice.canon.jsontext import dump_json

__all__ = ["TABLE_BYTES", "LazyColumn", "Piece", "Table", "taken"]


class LazyColumn(Sequence[Any]):
    """A column of an Arrow array, converted to Python on first access; a column that is never accessed is passed on as the array."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self._values: list[Any] | None = None

    @property
    def values(self) -> list[Any]:
        """The values."""
        if self._values is None:
            self._values = self.array.to_pylist()
        return self._values

    def take(self, rows: Sequence[int]) -> LazyColumn:
        """The column of these rows."""
        return LazyColumn(self.array.take(list(rows)))

    def __len__(self) -> int:
        return len(self.array)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        return self.values[index]


class Table(NamedTuple):
    """Rows that were read from one file, by column."""

    source: str
    numbers: Sequence[int]
    """Which line or row of the file each is, from 1."""
    columns: dict[str, Sequence[Any]]
    unreadable: dict[int, str]
    """Rows that could not be read, and why; their values are None."""
    raw: Callable[[int], str]
    """A row in its original form."""
    size: int = 0
    """About how many bytes of the file it has, for the progress."""
    damage: str | None = None
    """Why the file cannot be read from here on; the one row stands for the rest."""

    @classmethod
    def damaged(cls, source: str, number: int, why: str) -> Table:
        """A row in place of data that could not be read."""
        return cls(source, [number], {}, {0: why}, lambda _: "", 0, why)

    def column(self, name: str) -> Sequence[Any]:
        """A column; one that the file does not have is empty."""
        return self.columns.get(name) or [None] * len(self.numbers)

    def row(self, index: int) -> dict[str, Any]:
        """A row as an object."""
        return {name: column[index] for name, column in self.columns.items()}

    def place(self, index: int) -> str:
        """The position of a row: file and line."""
        return f"{self.source}:{self.numbers[index]}"

    @classmethod
    def of_rows(
        cls,
        source: str,
        rows: Sequence[dict[str, Any]],
        *,
        numbers: Sequence[int] | None = None,
        unreadable: dict[int, str] | None = None,
        raw: Callable[[int], str] | None = None,
        size: int = 0,
    ) -> Table:
        """A table of objects."""
        names = dict.fromkeys(name for row in rows for name in row)
        columns: dict[str, Sequence[Any]] = {
            name: [row.get(name) for row in rows] for name in names
        }
        numbers = range(1, len(rows) + 1) if numbers is None else numbers
        as_json = raw or (lambda index: dump_json(rows[index]).decode())
        return cls(source, numbers, columns, unreadable or {}, as_json, size)


def taken(column: Sequence[Any], rows: Sequence[int]) -> Sequence[Any]:
    """The values of these rows."""
    if len(rows) == len(column) and all(map(int.__eq__, rows, range(len(rows)))):
        return column
    if isinstance(column, LazyColumn):
        return column.take(rows)
    return [column[row] for row in rows]


# ---- A part of a file that is read independently.


TABLE_BYTES = 4_000_000
"""About how much is in memory at a time."""


class Piece(NamedTuple):
    """A part of a file that is read independently."""

    file: InputFile
    start: int = 0
    end: int | None = None
    """A range of bytes, row groups or record batches; None for the rest of the file."""
    first: int = 0
    """How many lines or rows are before it in the file."""
    size: int = 0
    """In bytes of the file, for the progress."""
