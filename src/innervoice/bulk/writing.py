"""Batches -> a part file: JSON lines, Parquet or Arrow, complete or not at all, with its digest."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self, cast

from innervoice.bulk.arrow import record_batch_of
from innervoice.bulk.files import with_arrow
from innervoice.bulk.schema import Batch
from innervoice.canon.jsontext import dump_json
from innervoice.errors import UsageError

__all__ = ["OUTPUTS", "PartFile", "Written", "hashed_copy", "json_lines", "output_format"]

OUTPUTS = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet", ".arrow")
"""The formats that can be written, by the suffix of the name."""
_GROUP_BYTES = 8_000_000
"""About how many bytes a row group has."""


class Written(NamedTuple):
    """A file that was written."""

    rows: int
    size: int
    digest: str
    """SHA-256 of the file."""


class _Writer(Protocol):
    def write(self, batch: Batch) -> None: ...
    def close(self) -> None: ...


def output_format(path: str) -> str:
    """The format of a path to write, by the suffix of its name; raises `UsageError` for others."""
    name = Path(path).name.lower()
    endings = [ending for ending in OUTPUTS if name.endswith(ending)]
    if not endings:
        raise UsageError(
            f"expected a folder, or a file whose name ends in {', '.join(OUTPUTS)}; not {path!r}"
        )
    return max(endings, key=len)


class PartFile:
    """Writes a file under another name until it is complete: a file with the final name is complete."""

    def __init__(self, path: Path, ending: str, schema: Any = None) -> None:
        self._path = path
        self._temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        self._file = _HashedFile(self._temporary, path)
        self._rows = 0
        self.lost: Counter[str] = Counter()
        """Values that no type of their column can hold, by its name."""
        try:
            self._writer: _Writer = _writer(ending, self._file, schema, self.lost)
        except BaseException:
            self.discard()
            raise

    def write(self, batch: Batch) -> None:
        """Writes a batch."""
        self._rows += len(next(iter(batch.values()), ()))
        self._writer.write(batch)

    def finish(self) -> Written:
        """Completes the file, still under its other name."""
        self._writer.close()
        self._file.sync()
        return Written(self._rows, self._file.size, self._file.digest)

    def publish(self) -> None:
        """Gives the complete file its final name."""
        self._temporary.replace(self._path)

    def discard(self) -> None:
        """Removes what was written."""
        self._file.close()
        self._temporary.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.discard()


def json_lines(batch: Batch) -> bytes:
    """The rows of a batch as JSON, a line each."""
    names = list(batch)
    rows = zip(*batch.values(), strict=True)
    lines = [dump_json(dict(zip(names, row, strict=True))) for row in rows]
    lines.append(b"")
    return b"\n".join(lines)


def hashed_copy(sources: list[Path], target: Path) -> Written:
    """Writes files one after the other under a new name, completely or not at all."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    file = _HashedFile(temporary, target)
    try:
        for source in sources:
            with source.open("rb") as part:
                shutil.copyfileobj(part, file, 1 << 20)
        file.sync()
        temporary.replace(target)
    finally:
        file.close()
        temporary.unlink(missing_ok=True)
    return Written(-1, file.size, file.digest)


class _HashedFile:
    """A file that computes the digest of what is written."""

    def __init__(self, path: Path, target: Path) -> None:
        """`target` is the name that it will have, and that an error gives."""
        self._target = target
        with self._naming():
            self._stream = path.open("wb")
        self._hash = hashlib.sha256()
        self.size = 0

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    @property
    def closed(self) -> bool:
        return False  # Arrow closes what it wrote to; we do that ourselves

    def write(self, data: Any) -> int:
        view = memoryview(data)
        if self._stream.closed:
            return view.nbytes  # the file was discarded, and Arrow still wants to end it
        self._hash.update(view)
        with self._naming():
            self._stream.write(view)
        self.size += view.nbytes
        return view.nbytes

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        self._stream.flush()

    def sync(self) -> None:
        with self._naming():
            self._stream.flush()
            os.fsync(self._stream.fileno())
            self._stream.close()

    def close(self) -> None:
        with suppress(OSError):  # what could not be written is discarded
            self._stream.close()

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Names the file in an error, such as that no space is left."""
        try:
            yield
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self._target)) from None

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False


def _writer(ending: str, file: _HashedFile, schema: Any, lost: Counter[str]) -> _Writer:
    if ending == ".parquet":
        return _ParquetWriter(file, schema, lost)
    if ending == ".arrow":
        return _ArrowWriter(file, schema, lost)
    return _LinesWriter(file, ending)


class _LinesWriter:
    def __init__(self, file: _HashedFile, ending: str) -> None:
        stream: Any = file
        if ending.endswith(".gz"):
            # Without a name and a time: the same rows give the same bytes.
            stream = gzip.GzipFile("", "wb", 6, cast("Any", file), mtime=0)
        elif ending.endswith(".zst"):
            stream = _zstd_stream(file)
        self._stream = stream
        self._is_plain = stream is file

    def write(self, batch: Batch) -> None:
        self._stream.write(json_lines(batch))

    def close(self) -> None:
        if not self._is_plain:
            self._stream.close()


def _zstd_stream(file: _HashedFile) -> Any:
    try:
        return import_module("compression.zstd").ZstdFile(file, "w")  # Python 3.14
    except ModuleNotFoundError:
        pass
    try:
        return import_module("zstandard").ZstdCompressor().stream_writer(file, closefd=False)
    except ModuleNotFoundError:
        arrow = with_arrow("writing a file that ends in .zst")
        return arrow.CompressedOutputStream(arrow.PythonFile(file, mode="w"), "zstd")


class _ParquetWriter:
    """Row groups of about the same size, whatever the sizes of the batches."""

    def __init__(self, file: _HashedFile, schema: Any, lost: Counter[str]) -> None:
        self._lost = lost
        self._arrow = with_arrow("writing Parquet")
        self._file = file
        self._schema = schema
        self._writer: Any = None
        self._held: list[Any] = []
        self._size = 0

    def write(self, batch: Batch) -> None:
        record_batch = record_batch_of(batch, self._schema, self._lost)
        self._held.append(record_batch)
        self._size += record_batch.nbytes
        if self._size >= _GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._held:
            table = self._arrow.Table.from_batches(self._held, self._schema)
            self._writer = self._writer or parquet_writer(self._file, table)
            self._writer.write_table(table, row_group_size=max(table.num_rows, 1))
            self._held.clear()
            self._size = 0

    def close(self) -> None:
        self._flush()
        writer = self._writer or parquet_writer(self._file, self._schema.empty_table())
        writer.close()


def parquet_writer(file: Any, first: Any) -> Any:
    """A writer of Parquet for tables like the first one.

    Long texts hardly repeat: without a dictionary, and in pages of about a megabyte, whoever reads them needs no memory for all at once.
    """
    rows = max(first.num_rows, 1)
    sizes = {name: first.column(name).nbytes // rows for name in first.schema.names}
    short = [name for name, size in sizes.items() if size < _SHORT]
    return import_module("pyarrow.parquet").ParquetWriter(
        with_arrow("writing Parquet").PythonFile(file, mode="w"),
        first.schema,
        compression="zstd",
        use_dictionary=short or False,
        write_batch_size=max(1, min(1024, _PAGE_BYTES // max(sizes.values(), default=1))),
    )


_SHORT = 256
"""Bytes of a value, on average, up to which it may repeat."""
_PAGE_BYTES = 1 << 20


class _ArrowWriter:
    def __init__(self, file: _HashedFile, schema: Any, lost: Counter[str]) -> None:
        self._lost = lost
        arrow = with_arrow("writing Arrow")
        self._schema = schema
        self._writer = import_module("pyarrow.ipc").new_file(
            arrow.PythonFile(file, mode="w"), schema
        )

    def write(self, batch: Batch) -> None:
        self._writer.write_batch(record_batch_of(batch, self._schema, self._lost))

    def close(self) -> None:
        self._writer.close()
