"""Files -> tables: in pieces that can be read independently of each other, and a table at a time.

A piece of a file of lines is a range of bytes that begins and ends with a line; of Parquet, some row groups; a compressed file, or one that
is one JSON array, is one piece. The boundaries of pieces depend only on the file, so that the result does not depend on the number of processes.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, BinaryIO

from innervoice.bulk.arrow_files import arrow_pieces, arrow_tables, parquet_pieces, parquet_tables
from innervoice.bulk.files import DAMAGED, STANDARD_INPUT, InputFile, open_file
from innervoice.bulk.piece import TABLE_BYTES, Piece
from innervoice.bulk.sessions import session_tables
from innervoice.bulk.table import Table
from innervoice.canon.jsontext import load_json

__all__ = [
    "PIECE_BYTES",
    "Piece",
    "pieces_of",
    "sample_of",
    "tables_of",
]

PIECE_BYTES = 64_000_000
"""About how much of a file is one piece, and so one part file."""
_SAMPLE_TABLES = 8
"""How many tables a sample has at most, where rows are large."""
_READ = 1 << 20
_ORDER_MARK = b"\xef\xbb\xbf"


def pieces_of(files: Iterable[InputFile], size: int = PIECE_BYTES) -> Iterator[Piece]:
    """The pieces of files, in order. Lines are counted as the pieces are requested, so that reading can begin at once."""
    for file in files:
        if file.format == "parquet":
            yield from parquet_pieces(file, size)
        elif file.format == "arrow":
            yield from arrow_pieces(file, size)
        elif file.format == "jsonl" and file.compression is None and file.path != STANDARD_INPUT:
            yield from _line_ranges(file, size)
        else:
            yield Piece(file, size=file.size or 0)


def tables_of(
    piece: Piece, columns: Sequence[str] | None = None, *, is_sample: bool = False
) -> Iterator[Table]:
    """The rows of a piece, a table at a time; `columns` are those that are needed, None for all. After a sample it can be read again."""
    if piece.file.format == "parquet":
        return parquet_tables(piece, columns)
    if piece.file.format == "arrow":
        return arrow_tables(piece, columns)
    if piece.file.format == "json":
        return _json_tables(piece)
    if piece.file.format == "session":
        return session_tables(piece.file)
    return _line_tables(piece, is_sample=is_sample)


def sample_of(files: Sequence[InputFile], rows: int) -> list[dict[str, Any]]:
    """Rows of the first files, as objects: as many of each as there are files, together `rows`."""
    sample: list[dict[str, Any]] = []
    some = files[:8]
    for number, file in enumerate(some, 1):
        wanted = rows * number // len(some) - len(sample)
        objects = (
            table.row(index)
            for piece in islice(pieces_of([file]), 1)
            for table in islice(tables_of(piece, is_sample=True), _SAMPLE_TABLES)
            for index in range(len(table.numbers))
            if index not in table.unreadable
        )
        sample += islice(objects, wanted)
    return sample


# ---- lines -----------------------------------------------------------------------------------------------


def _line_ranges(file: InputFile, size: int) -> Iterator[Piece]:
    """Ranges of about `size` bytes, each to the end of a line."""
    start = first = 0
    with open_file(file) as stream:
        position = lines = 0
        while block := stream.read(_READ):
            cut = 0
            while position + len(block) - start >= size:
                # The first line break after enough bytes ends the piece.
                end = block.find(b"\n", max(cut, start + size - position - 1)) + 1
                if not end:
                    break
                lines += block.count(b"\n", cut, end)
                yield Piece(file, start, position + end, first, position + end - start)
                start, first, cut = position + end, lines, end
            lines += block.count(b"\n", cut)
            position += len(block)
        if position > start or not position:
            yield Piece(file, start, position, first, position - start)


def _line_tables(piece: Piece, *, is_sample: bool) -> Iterator[Table]:
    stream = open_file(piece.file, is_last=not is_sample)
    try:
        if piece.start:
            stream.seek(piece.start)
        yield from _of_lines(piece, stream)
    finally:
        if piece.file.path != STANDARD_INPUT:
            stream.close()


def _of_lines(piece: Piece, stream: BinaryIO) -> Iterator[Table]:
    remaining = None if piece.end is None else piece.end - piece.start
    number = piece.first
    lines: list[bytes] = []
    numbers: list[int] = []
    size = 0
    damage = None
    reader = stream if piece.file.compression is None else io.BufferedReader(stream, _READ)  # type: ignore[type-var]
    while remaining is None or remaining > 0:
        try:
            line = reader.readline()
        except DAMAGED as error:
            damage = f"the compressed data is damaged or cut off here: {error}"
            line = b""
        except Exception as error:
            if piece.file.compression != "zstd" or isinstance(error, MemoryError):
                raise
            damage, line = f"the compressed data is damaged or cut off here: {error}", b""
        if not line:
            break
        remaining = None if remaining is None else remaining - len(line)
        number += 1
        if line.isspace():
            continue
        lines.append(line.removeprefix(_ORDER_MARK) if number == 1 else line)
        numbers.append(number)
        size += len(line)
        if size >= TABLE_BYTES:
            yield _of_json_lines(piece.file, lines, numbers, size)
            lines, numbers, size = [], [], 0
    if lines:
        yield _of_json_lines(piece.file, lines, numbers, size)
    if damage:
        yield Table(piece.file.path, [number + 1], {}, {0: damage}, lambda _: "")


def _of_json_lines(file: InputFile, lines: list[bytes], numbers: list[int], size: int) -> Table:
    rows: list[dict[str, Any]] = []
    unreadable: dict[int, str] = {}
    for index, line in enumerate(lines):
        try:
            value = load_json(line)
        except ValueError as error:
            unreadable[index], value = f"the line is not JSON: {error}", {}
        if not isinstance(value, dict):
            unreadable[index], value = (
                f"expected an object in the line, not {type(value).__name__}",
                {},
            )
        rows.append(value)
    return Table.of_rows(
        file.path,
        rows,
        numbers=numbers,
        unreadable=unreadable,
        raw=lambda index: lines[index].decode("utf-8", "replace").rstrip("\r\n"),
        size=0 if file.compression else size,
    )


def _json_tables(piece: Piece) -> Iterator[Table]:
    """A file of one JSON array, of one object, or of lines after all."""
    with open_file(piece.file) as stream:
        data = stream.read()
    try:
        value = load_json(data)
    except ValueError:
        yield from _of_lines(
            piece._replace(file=piece.file._replace(compression=None)), io.BytesIO(data)
        )
        return
    rows = value if isinstance(value, list) else [value]
    del data, value
    for start in range(0, len(rows), 256):
        some = rows[start : start + 256]
        unreadable = {
            index: f"expected an object, not {type(row).__name__}"
            for index, row in enumerate(some)
            if not isinstance(row, dict)
        }
        objects = [row if isinstance(row, dict) else {} for row in some]
        numbers = range(start + 1, start + len(some) + 1)
        yield Table.of_rows(piece.file.path, objects, numbers=numbers, unreadable=unreadable)
