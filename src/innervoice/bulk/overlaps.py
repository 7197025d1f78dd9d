"""Whether something that is read would be written over: then nothing is written.

Paths are compared by what they lead to: a file has many spellings, symbolic links and hard links.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from innervoice.bulk.files import STANDARD_INPUT, is_address
from innervoice.errors import UsageError

__all__ = ["check_apart", "check_stream"]

_LOCAL = ("file://", "local://")
"""What fsspec calls files of this machine."""
Identity: TypeAlias = tuple[int, int]
"""Device and inode of a file: the same for all its names."""


def check_apart(
    read: Iterable[str | os.PathLike[str]], written: Iterable[str | os.PathLike[str]]
) -> None:
    """Raises `UsageError` if a path that is read is one that is written, or if one of both is in the other."""
    targets = [(os.fspath(target), Path(target).resolve()) for target in written]
    taken = {one: name for name, path in targets for one in _identities(path)}
    for input_path in (os.fspath(path) for path in read):
        if input_path == STANDARD_INPUT:
            _check_identity(_stream_identity(sys.stdin), "standard input", taken)
            continue
        source = _local_path(input_path)
        if source is None:
            continue
        for name, target in targets:
            if source == target:
                raise UsageError(_written_over(input_path, name))
            if target in source.parents:
                raise UsageError(f"the input {input_path} is in the output {name}; {_CHOOSE}")
            if source in target.parents and source.is_dir():
                raise UsageError(f"the output {name} is in the input {input_path}; {_CHOOSE}")
        _check_identity(_identity(source), input_path, taken)


def check_stream(read: Iterable[str | os.PathLike[str]], stream: Any) -> None:
    """Raises `UsageError` if a file that is read is the one that a stream writes to: it would never end."""
    identity = _stream_identity(stream)
    taken = {identity: "standard output"} if identity else {}
    for input_path in (os.fspath(path) for path in read):
        source = None if input_path == STANDARD_INPUT else _local_path(input_path)
        _check_identity(_identity(source) if source else None, input_path, taken)


_CHOOSE = "choose another path for the output"


def _written_over(given: str, name: str) -> str:
    return f"the input {given} would be written over by the output {name}; {_CHOOSE}"


def _check_identity(identity: Identity | None, given: str, taken: dict[Identity, str]) -> None:
    if identity in taken:
        raise UsageError(_written_over(given, taken[identity]))


def _local_path(given: str) -> Path | None:
    """The path behind all links; None if it is on another machine."""
    for start in _LOCAL:
        given = given.removeprefix(start)
    return None if is_address(given) else Path(given).resolve()


def _identities(path: Path) -> Iterator[Identity]:
    """The identities of a file, or of all files in a folder."""
    paths = (Path(at, name) for at, _, names in os.walk(path) for name in names)
    for one in paths if path.is_dir() else (path,):
        if identity := _identity(one):
            yield identity


def _identity(path: Path) -> Identity | None:
    try:
        about = path.stat()
    except OSError:
        return None
    return (about.st_dev, about.st_ino) if path.is_file() else None


def _stream_identity(stream: Any) -> Identity | None:
    """The identity of the file behind a stream; None if there is none."""
    try:
        about = os.fstat(stream.fileno())
    except (AttributeError, OSError, ValueError):
        return None  # closed, or not of the operating system
    return (about.st_dev, about.st_ino)
