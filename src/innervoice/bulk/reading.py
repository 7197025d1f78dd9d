"""Files -> tables: in pieces that can be read independently of each other, and a table at a time.

A piece of a file of lines is a range of bytes that begins and ends with a line; of Parquet, some row groups; a compressed file, or one that
is one JSON array, is one piece. The boundaries of pieces depend only on the file, so that the result does not depend on the number of processes.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from innervoice.bulk.files import (
    DAMAGED,
    STANDARD_INPUT,
    InputFile,
    is_address,
    open_file,
    with_arrow,
)
from innervoice.bulk.table import TABLE_BYTES, LazyColumn, Piece, Table
from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.messages import Message
from innervoice.canon.parts import Text, ToolResult
from innervoice.canon.response import Response
from innervoice.canon.storage import to_json
from innervoice.errors import DecodeError, UsageError
from innervoice.sources.conversation import Conversation
from innervoice.sources.opening import open_source, reader_of

__all__ = [
    "Piece",
    "arrow_pieces",
    "arrow_tables",
    "as_sessions",
    "parquet_pieces",
    "parquet_tables",
    "piece_bytes_of",
    "pieces_of",
    "schema_in",
    "session_tables",
    "table_of_batch",
    "tables_of",
]

_LARGEST_PIECE = 64_000_000
_SMALLEST_PIECE = 16_000_000
_PIECES = 16
_READ = 1 << 20
_ORDER_MARK = b"\xef\xbb\xbf"


def piece_bytes_of(files: Iterable[InputFile]) -> int:
    """About how much of the files is one piece, and so one part file: enough pieces that several processes end at about the same time."""
    whole = sum(file.size or 0 for file in files)
    return min(max(whole // _PIECES, _SMALLEST_PIECE), _LARGEST_PIECE)


def pieces_of(files: Iterable[InputFile], size: int = _LARGEST_PIECE) -> Iterator[Piece]:
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
    if piece.file.format == "csv":
        return _csv_tables(piece)
    if piece.file.format == "session":
        return session_tables(piece.file)
    return _line_tables(piece, is_sample=is_sample)


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
        yield Table.damaged(piece.file.path, number + 1, damage)


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
    rows = _rows_in(value)
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


_WRAPPED = ("data", "rows", "examples", "instances", "records", "items", "runs", "traces", "observations")  # fmt: skip


def _rows_in(value: Any) -> list[Any]:
    """The rows of a JSON value: a list, an object around one such as `{"data": [...]}`, or one object."""
    if isinstance(value, list):
        return value
    members = value if isinstance(value, dict) else {}
    lists = (members[name] for name in _WRAPPED if isinstance(members.get(name), list))
    rows: list[Any] | None = next(
        (rows for rows in lists if rows and all(isinstance(row, dict) for row in rows)), None
    )
    if rows is None:
        return [value]
    # The viewer of Hugging Face has each row in an object of its own.
    if all(isinstance(row.get("row"), dict) and "row_idx" in row for row in rows):
        return [row["row"] for row in rows]
    return rows


def _csv_tables(piece: Piece) -> Iterator[Table]:
    """A file with the names of its columns in the first line; a value may have line breaks."""
    csv.field_size_limit(1 << 30)
    delimiter = "\t" if ".tsv" in piece.file.path.lower() else ","
    rows: list[dict[str, Any]] = []
    unreadable: dict[int, str] = {}
    first = 1
    size = 0
    with io.TextIOWrapper(open_file(piece.file), "utf-8-sig", "replace", newline="") as stream:
        lines = csv.reader(stream, delimiter=delimiter)
        names = next(lines, [])
        check_names(names, piece.file.path)
        for values in lines:
            if not values:
                continue
            if len(values) != len(names):
                unreadable[len(rows)] = f"expected {len(names)} values, not {len(values)}"
                values = []  # noqa: PLW2901 - the row is kept, empty
            rows.append({name: value or None for name, value in zip(names, values, strict=False)})
            size += sum(map(len, values))
            if size >= TABLE_BYTES:
                numbers = range(first, first + len(rows))
                yield Table.of_rows(
                    piece.file.path, rows, numbers=numbers, unreadable=unreadable, size=size
                )
                first, rows, unreadable, size = first + len(rows), [], {}, 0
    if rows:
        numbers = range(first, first + len(rows))
        yield Table.of_rows(
            piece.file.path, rows, numbers=numbers, unreadable=unreadable, size=size
        )


def check_names(names: Sequence[str], path: str) -> None:
    """Raises `UsageError` for two columns of one name, of which only one could be read."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise UsageError(f"{path} has two columns of one name: {', '.join(repeated)}; rename one")


# ---- Parquet and Arrow files -> pieces and tables. A damaged part becomes a row that says so, and the rest is read.


_MOST_ROWS = 8_192
_FEW = 8


def schema_in(file: InputFile) -> Any:
    """The Arrow schema of a file; None for JSON, and for a file that cannot be read, which reading it says."""
    if file.format not in ("parquet", "arrow"):
        return None
    arrow = with_arrow(f"{file.format} ({file.path})")
    try:
        if file.format == "parquet":
            with _parquet(file) as opened:
                return opened.schema_arrow
        with _arrow(file) as reader:
            return reader.schema
    except (arrow.ArrowException, OSError):
        return None


def table_of_batch(batch: Any, source: str, first: int = 0, size: int = 0) -> Table:
    """The table of an Arrow record batch."""
    check_names(batch.schema.names, source)
    columns: dict[str, Sequence[Any]] = {
        name: LazyColumn(_as_text(batch.column(name))) for name in batch.schema.names
    }

    def raw(index: int) -> str:
        return dump_json({name: column[index] for name, column in columns.items()}).decode()

    return Table(source, range(first + 1, first + batch.num_rows + 1), columns, {}, raw, size)


def _as_text(array: Any) -> Any:
    """A column of bytes that are text, as some programs write it, as text."""
    arrow = with_arrow("a table of Arrow")
    if not (arrow.types.is_binary(array.type) or arrow.types.is_large_binary(array.type)):
        return array
    try:
        return array.cast(arrow.large_string())
    except arrow.ArrowInvalid:
        return array


def _damaged(piece: Piece, rows_before: int, error: Exception) -> Table:
    """A row in place of data that could not be read."""
    return Table.damaged(
        piece.file.path, rows_before + 1, f"the file is damaged from here on: {error}"
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
    start = first = rows = size_so_far = 0
    for number, group in enumerate(groups, 1):
        rows, size_so_far = rows + group.num_rows, size_so_far + group.total_byte_size
        if size_so_far >= size or number == len(groups):
            yield Piece(file, start, number, first, (file.size or 0) * size_so_far // whole)
            start, first, size_so_far = number, rows, 0
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
            wanted = (
                None
                if columns is None
                else [name for name in file.schema_arrow.names if name in columns]
            )
            # Values that repeat are stored once, so the size of a group says too little: a few rows are read first.
            few = file.iter_batches(_FEW, row_groups=groups[:1], columns=wanted, use_threads=False)
            first_rows = next(iter(few), None)
            if first_rows is not None:
                size = max(size, first_rows.nbytes * count // max(first_rows.num_rows, 1))
            del few, first_rows
            rows = max(1, min(_MOST_ROWS, TABLE_BYTES * count // max(size, 1)))
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
    start = first = rows = size_so_far = 0
    for number in range(batches):
        batch = reader.get_batch(number)
        rows, size_so_far = rows + batch.num_rows, size_so_far + batch.nbytes
        if size_so_far >= size or number == batches - 1:
            yield Piece(
                file, start, number + 1, first, (file.size or 0) * (number + 1 - start) // batches
            )
            start, first, size_so_far = number + 1, rows, 0
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


# ---- Session logs and other files that are not tables -> tables: a row for each answer of the model.


_LINES = frozenset(("batch", "litellm", "stored"))
"""Sources whose lines are independent of each other: they are read as rows, a piece at a time."""
_ANYTHING = "captured"
"""The source format that nearly everything looks like."""


def as_sessions(files: Sequence[InputFile], *, any_source: bool = False) -> list[InputFile] | None:
    """The files as sessions, if they are sessions; with `any_source`, if they are of any source format."""
    if not files or not all(_is_local(file) for file in files):
        return None
    reader = reader_of(Path(files[0].path))
    if reader is None or reader.kind == _ANYTHING or (reader.kind in _LINES and not any_source):
        return None
    return [file._replace(format="session") for file in files]


def _is_local(file: InputFile) -> bool:
    is_text = file.format in ("json", "jsonl") and file.compression is None
    return is_text and Path(file.path).is_file()


def session_tables(file: InputFile) -> Iterator[Table]:
    """The answers of each conversation of a file."""
    try:
        source = open_source(file.path)
        for entry in source.entries:
            yield _of_conversation(file, source.conversation(entry.id))
    except DecodeError as error:
        yield _unreadable(file, 1, str(error))
        return
    for trouble in source.troubles:
        yield _unreadable(file, trouble.line or 1, trouble.why)


def _unreadable(file: InputFile, line: int, why: str) -> Table:
    return Table(file.path, [line], {}, {0: why}, lambda _: "")


def _of_conversation(file: InputFile, conversation: Conversation) -> Table:
    rows: list[dict[str, Any]] = []
    numbers: list[int] = []
    prompt: list[dict[str, Any]] = []
    for number, turn in enumerate(conversation.turns, 1):
        if turn.message.role != "assistant":
            prompt.append(_prompt_message(turn.message))
            continue
        answer = turn.answer or Response(parts=turn.message.parts, ended=True)
        model = answer.model or (turn.message.origin.model if turn.message.origin else None)
        rows.append(
            {
                "id": conversation.id,
                "turn": len(rows),
                "prompt": prompt or None,
                "model": model,
                "answer": answer,
            }
        )
        numbers.append(turn.line or number)
        prompt = []
    return Table.of_rows(
        file.path, rows, numbers=numbers, raw=lambda index: to_json(rows[index]["answer"]).decode()
    )


def _prompt_message(message: Message) -> dict[str, Any]:
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    members = {"call_id": results[0].call_id} if results else {}
    return {"role": message.role, "content": _message_text(message), **members}


def _message_text(message: Message) -> str:
    """The text of a message to the model."""
    texts = []
    for part in message.parts:
        if isinstance(part, Text):
            texts.append(part.text)
        elif isinstance(part, ToolResult):
            content = part.content
            texts += (
                [content]
                if isinstance(content, str)
                else [one.text for one in content if isinstance(one, Text)]
            )
    return "\n\n".join(texts)
