"""Paths -> files to read: globs, folders, compression, and remote URLs through fsspec where it is installed."""

from __future__ import annotations

import glob
import gzip
import io
import os
import re
import sys
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from innervoice.errors import UsageError
from innervoice.installing import install_command

__all__ = [
    "DAMAGED",
    "FORMATS",
    "STANDARD_INPUT",
    "InputFile",
    "RepeatedInput",
    "input_files",
    "is_address",
    "open_file",
    "remote_version",
    "standard_input",
    "with_arrow",
]

STANDARD_INPUT = "-"
FORMATS: dict[str, str] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
"""The format by the suffix of a name; `.gz` or `.zst` may follow for JSON."""
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
DAMAGED: tuple[type[Exception], ...] = (EOFError, zlib.error, gzip.BadGzipFile)
"""The errors of a compressed file that is damaged or cut off."""


class InputFile(NamedTuple):
    """A file to read."""

    path: str
    format: str
    compression: str | None = None
    size: int | None = None
    """In bytes; None if it is unknown, as for standard input."""


def input_files(paths: Iterable[str | os.PathLike[str]]) -> list[InputFile]:
    """The files for paths, globs, folders and URLs, in the order of their names for each; raises `UsageError` for one without files."""
    files: list[InputFile] = []
    for path_text in paths:
        path = os.fspath(path_text)
        path_files = list(_files_at(path))
        if not path_files:
            raise UsageError(
                f"there is no file {path!r} with rows; its name must end in {', '.join(FORMATS)}, optionally followed by .gz or .zst"
            )
        files += path_files
    if not files:
        raise UsageError("expected the path of a file with rows")
    if len(files) > 1 and any(file.path == STANDARD_INPUT for file in files):
        raise UsageError("standard input cannot be read together with files")
    return list(dict.fromkeys(map(_by_content, files)))


def _by_content(file: InputFile) -> InputFile:
    """The file with the format of its content: one JSON array, or one object on several lines, is not a file of lines, whatever its name."""
    if file.format != "jsonl" or file.path == STANDARD_INPUT or is_address(file.path):
        return file
    try:
        with open_file(file) as stream:
            beginning = stream.read(4096)
    except Exception as error:
        if isinstance(error, (UsageError, MemoryError)):
            raise
        return file  # reading it says what is wrong
    first = beginning.removeprefix(b"\xef\xbb\xbf").lstrip()
    is_whole = first[:1] == b"[" or first.partition(b"\n")[0].strip() == b"{"
    return file._replace(format="json") if is_whole else file


def _files_at(path: str) -> Iterator[InputFile]:
    if path == STANDARD_INPUT:
        yield InputFile(path, "jsonl")
        return
    if _ADDRESS.match(path):
        yield from _remote(path)
        return
    if Path(path).is_dir():
        inside = (
            str(one)
            for one in sorted(Path(path).rglob("*"))
            if one.is_file() and not _is_hidden(one, Path(path))
        )
        yield from (file for one in inside if (file := _file(one, Path(one).stat().st_size)))
        return
    names = [path] if Path(path).exists() else sorted(glob.glob(path, recursive=True))  # noqa: PTH207 - as it was written
    for name in names:
        if Path(name).is_file():
            file = _file(name, Path(name).stat().st_size)
            # A file that was named is read, whatever its name: JSON lines are assumed.
            yield file or InputFile(name, "jsonl", None, Path(name).stat().st_size)


def _is_hidden(path: Path, folder: Path) -> bool:
    """Whether a file of a folder is not data: hidden, or a manifest of ours."""
    inner = path.relative_to(folder).parts
    return any(part.startswith((".", "_")) for part in inner) or path.name == "manifest.json"


def _file(path: str, size: int | None) -> InputFile | None:
    stem, compression = path, None
    for ending, name in _COMPRESSIONS.items():
        if path.lower().endswith(ending):
            stem, compression = path[: -len(ending)], name
    kind = FORMATS.get(os.path.splitext(stem)[1].lower())  # noqa: PTH122 - a URL is not a path
    return InputFile(path, kind, compression, size) if kind else None


def _remote(address: str) -> Iterator[InputFile]:
    fs, path = _fsspec().core.url_to_fs(address)
    names = sorted(fs.glob(path)) if glob.has_magic(path) else [path]
    if len(names) == 1 and fs.isdir(names[0]):
        names = sorted(fs.find(names[0]))
    for name in names:
        if file := _file(fs.unstrip_protocol(name), None):
            yield file._replace(size=fs.size(name))


def _fsspec() -> Any:
    try:
        import_module("fsspec.core")
        return import_module("fsspec")
    except ModuleNotFoundError:
        raise UsageError(
            "a URL such as s3:// or hf:// needs fsspec and the package for its storage: pip install fsspec s3fs"
        ) from None


def remote_version(address: str) -> str:
    """What changes if the content at a URL does, as its storage says."""
    fs, path = _fsspec().core.url_to_fs(address)
    return str(fs.ukey(path))


def is_address(path: str) -> bool:
    """Whether a path is a URL that fsspec opens, such as `s3://bucket/a.parquet`."""
    return _ADDRESS.match(path) is not None


def open_file(file: InputFile, *, is_last: bool = False) -> BinaryIO:
    """Opens a file for reading, decompressed; `is_last` says that it will not be opened again, which matters for standard input."""
    if file.path == STANDARD_INPUT:
        return cast("BinaryIO", standard_input(is_last=is_last))
    if is_address(file.path):
        stream: BinaryIO = _fsspec().open(file.path, "rb").open()
    else:
        stream = Path(file.path).open("rb")  # noqa: SIM115 - the caller closes it
    if file.compression == "gzip":
        return cast("BinaryIO", _GzipFile(stream))
    return _zstd(stream) if file.compression == "zstd" else stream


class _GzipFile(gzip.GzipFile):
    """A gzip file that also closes the file it reads."""

    def __init__(self, stream: BinaryIO) -> None:
        self._compressed = stream
        super().__init__(fileobj=stream)

    def close(self) -> None:
        super().close()
        self._compressed.close()


def _zstd(stream: BinaryIO) -> BinaryIO:
    for module, opened in _ZSTD.items():
        try:
            return cast("BinaryIO", opened(import_module(module), stream))
        except ModuleNotFoundError:
            continue
    raise UsageError(
        f"a file that ends in .zst needs a package: pip install zstandard, or {install_command('bulk')}"
    )


class _ZstdFile(io.RawIOBase):
    """A file of zstd frames that notices where one is cut off, which the reader of `zstandard` does not."""

    def __init__(self, module: Any, stream: BinaryIO) -> None:
        self._module, self._compressed = module, stream
        self._frame: Any = None
        self._rest = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            data = self._rest or self._compressed.read(_CHUNK)
            self._rest = b""
            if not data:
                if self._frame is not None:
                    raise EOFError("compressed file ended before the end of a frame")
                return 0
            self._frame = self._frame or self._module.ZstdDecompressor().decompressobj()
            self._ready = memoryview(self._frame.decompress(data))
            if self._frame.eof:
                self._rest, self._frame = self._frame.unused_data, None
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

    def close(self) -> None:
        super().close()
        self._compressed.close()


_CHUNK = 1 << 16
_ZSTD: dict[str, Callable[[Any, BinaryIO], Any]] = {
    "compression.zstd": lambda module, stream: module.ZstdFile(stream),  # Python 3.14
    "zstandard": lambda module, stream: io.BufferedReader(_ZstdFile(module, stream), _CHUNK),
    "pyarrow": lambda module, stream: module.CompressedInputStream(stream, "zstd"),
}


def with_arrow(what: str) -> Any:
    """The module `pyarrow`; raises `UsageError` with installation instructions."""
    try:
        return import_module("pyarrow")
    except ModuleNotFoundError:
        raise UsageError(f"{what} needs pyarrow: {install_command('bulk')}") from None


# Standard input, which can be read again from the start as long as little of it was read: first for a sample, then
# for good.


_MOST = 128_000_000


class RepeatedInput:
    """Lines of a stream; lines that were read are kept until there are too many, or the last pass begins."""

    def __init__(self, stream: BinaryIO, most: int = _MOST) -> None:
        self._stream = stream
        self._most = most
        self._kept: deque[bytes] | None = deque()
        self._size = 0
        self._again: Iterator[bytes] = iter(())

    def restart(self) -> None:
        """Begins again with the first line."""
        if self._kept is None:
            raise UsageError("standard input can be read only once; write it to a file")
        self._again = iter(list(self._kept))

    def release(self) -> None:
        """Begins the last pass, which keeps nothing any more."""
        self.restart()
        pieces, self._kept = self._kept or deque(), None
        self._again = iter(lambda: pieces.popleft() if pieces else b"", b"")

    def readline(self) -> bytes:
        """The next line; empty at the end."""
        for line in self._again:
            return line
        line = self._stream.readline()
        if self._kept is not None and line:
            self._kept.append(line)
            self._size += len(line)
            if self._size > self._most:
                self._kept = None
        return line

    def close(self) -> None:
        """Does nothing: standard input is not ours to close."""


_standard_inputs: list[RepeatedInput] = []


def standard_input(*, is_last: bool = False) -> RepeatedInput:
    """Standard input from its first line; `is_last` says that it will not be requested again."""
    if not _standard_inputs:
        if sys.stdin is None:
            raise UsageError("standard input is closed; name a file")
        _standard_inputs.append(RepeatedInput(sys.stdin.buffer))
    stream = _standard_inputs[0]
    if is_last:
        stream.release()
    else:
        stream.restart()
    return stream
