"""Parquet and Arrow files -> pieces and tables. A damaged part becomes a row that says so, and the rest is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any

from innervoice.bulk.files import InputFile, is_address, open_file, with_arrow
from innervoice.bulk.piece import TABLE_BYTES, Piece
from innervoice.bulk.table import LazyColumn, Table
from innervoice.canon.jsontext import dump_json

__all__ = [
    "arrow_pieces",
    "arrow_tables",
    "parquet_pieces",
    "parquet_tables",
    "schema_in",
    "table_of_batch",
]

_MOST_ROWS = 8_192


def schema_in(file: InputFile) -> Any:
    """The Arrow schema of a file; None for JSON."""
    if file.format == "parquet":
        with _parquet(file) as opened:
            return opened.schema_arrow
    if file.format == "arrow":
        with _arrow(file) as reader:
            return reader.schema
    return None


def table_of_batch(batch: Any, source: str, first: int = 0, size: int = 0) -> Table:
    """The table of an Arrow record batch."""
    columns: dict[str, Sequence[Any]] = {
        name: LazyColumn(batch.column(name)) for name in batch.schema.names
    }

    def raw(index: int) -> str:
        return dump_json({name: column[index] for name, column in columns.items()}).decode()

    return Table(source, range(first + 1, first + batch.num_rows + 1), columns, {}, raw, size)


def _damaged(piece: Piece, rows_before: int, error: Exception) -> Table:
    """A row in place of data that could not be read."""
    return Table(
        piece.file.path,
        [rows_before + 1],
        {},
        {0: f"the file is damaged from here on: {error}"},
        lambda _: "",
    )


# ---- Parquet -----------------------------------------------------------------------------------------------


@contextmanager
def _parquet(file: InputFile) -> Iterator[Any]:
    with_arrow(f"Parquet ({file.path})")
    parquet = import_module("pyarrow.parquet")
    with ExitStack() as stack:
        stream: Any = stack.enter_context(open_file(file)) if is_address(file.path) else file.path
        yield stack.enter_context(
            parquet.ParquetFile(stream, pre_buffer=False, buffer_size=1 << 20)
        )


def parquet_pieces(file: InputFile, size: int) -> Iterator[Piece]:
    """Runs of row groups of about `size` bytes in memory."""
    arrow = with_arrow(f"Parquet ({file.path})")
    try:
        with _parquet(file) as opened:
            metadata = opened.metadata
    except (arrow.ArrowException, OSError):
        yield Piece(file, size=file.size or 0)  # reading it says what is wrong
        return
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    whole = sum(group.total_byte_size for group in groups) or 1
    start = first = rows = held = 0
    for number, group in enumerate(groups, 1):
        rows, held = rows + group.num_rows, held + group.total_byte_size
        if held >= size or number == len(groups):
            yield Piece(file, start, number, first, (file.size or 0) * held // whole)
            start, first, held = number, rows, 0
    if not groups:
        yield Piece(file, 0, 0)


def parquet_tables(piece: Piece, columns: Sequence[str] | None) -> Iterator[Table]:
    """The rows of some row groups."""
    arrow = with_arrow(f"Parquet ({piece.file.path})")
    first = piece.first
    try:
        with _parquet(piece.file) as file:
            groups = list(range(piece.start, piece.end or 0))
            facts = [file.metadata.row_group(group) for group in groups]
            count = sum(group.num_rows for group in facts)
            size = sum(group.total_byte_size for group in facts)
            rows = max(1, min(_MOST_ROWS, TABLE_BYTES * count // max(size, 1)))
            wanted = (
                None
                if columns is None
                else [name for name in file.schema_arrow.names if name in columns]
            )
            for batch in file.iter_batches(
                rows, row_groups=groups, columns=wanted, use_threads=False
            ):
                yield table_of_batch(
                    batch, piece.file.path, first, piece.size * batch.num_rows // max(count, 1)
                )
                first += batch.num_rows
    except (arrow.ArrowException, OSError) as error:
        yield _damaged(piece, first, error)


# ---- Arrow -------------------------------------------------------------------------------------------------


@contextmanager
def _arrow(file: InputFile) -> Iterator[Any]:
    """A reader of an Arrow file, or of an Arrow stream, whose number of batches is unknown."""
    arrow = with_arrow(f"Arrow ({file.path})")
    ipc = import_module("pyarrow.ipc")
    with ExitStack() as stack:
        opened: Any = open_file(file) if is_address(file.path) else arrow.memory_map(file.path)
        stream = stack.enter_context(opened)
        try:
            reader = ipc.open_file(stream)
        except arrow.ArrowInvalid:
            stream.seek(0)
            reader = ipc.open_stream(stream)
        yield reader


def arrow_pieces(file: InputFile, size: int) -> Iterator[Piece]:
    """Runs of record batches of about `size` bytes; an Arrow stream is one piece."""
    arrow = with_arrow(f"Arrow ({file.path})")
    try:
        with _arrow(file) as reader:
            yield from _record_batches(file, reader, size)
    except (arrow.ArrowException, OSError):
        yield Piece(file, size=file.size or 0)


def _record_batches(file: InputFile, reader: Any, size: int) -> Iterator[Piece]:
    if not hasattr(reader, "num_record_batches"):
        yield Piece(file, size=file.size or 0)
        return
    batches = reader.num_record_batches
    start = first = rows = held = 0
    for number in range(batches):
        batch = reader.get_batch(number)
        rows, held = rows + batch.num_rows, held + batch.nbytes
        if held >= size or number == batches - 1:
            yield Piece(
                file, start, number + 1, first, (file.size or 0) * (number + 1 - start) // batches
            )
            start, first, held = number + 1, rows, 0
    if not batches:
        yield Piece(file, 0, 0)


def arrow_tables(piece: Piece, columns: Sequence[str] | None) -> Iterator[Table]:
    """The rows of some record batches."""
    arrow = with_arrow(f"Arrow ({piece.file.path})")
    first = piece.first
    try:
        with _arrow(piece.file) as reader:
            is_file = hasattr(reader, "num_record_batches")
            batches = (
                map(reader.get_batch, range(piece.start, piece.end or 0))
                if is_file
                else iter(reader)
            )
            for batch in batches:
                rows = max(1, TABLE_BYTES * batch.num_rows // max(batch.nbytes, 1))
                wanted = (
                    batch
                    if columns is None
                    else batch.select([name for name in batch.schema.names if name in columns])
                )
                for start in range(0, batch.num_rows, rows):
                    yield table_of_batch(wanted.slice(start, rows), piece.file.path, first + start)
                first += batch.num_rows
    except (arrow.ArrowException, OSError) as error:
        yield _damaged(piece, first, error)
