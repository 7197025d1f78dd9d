"""Files and standard input of the commands; if one cannot be read or written, the error is one sentence."""

from __future__ import annotations

import errno
import os
import stat
import sys
import tempfile
from pathlib import Path
from typing import TextIO

import click

__all__ = ["FileError", "read_file", "standard_input", "write_file"]

_WITHOUT_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}
"""Error numbers of file systems without hard links."""


class FileError(click.ClickException):
    """A file that cannot be used; printed without the usage of the command, which is correct."""

    exit_code = 2


def standard_input() -> TextIO:
    """Standard input, which the caller of a program may have closed."""
    if sys.stdin is None:
        raise FileError("Standard input is closed; name a file.")
    return sys.stdin


def read_file(file: str) -> bytes:
    """The content of a file, or of standard input for `-`."""
    try:
        return standard_input().buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise FileError(f"Cannot read {file}: {error.strerror}.") from None


def write_file(file: str, data: bytes, *, force: bool) -> None:
    """Writes a file completely or not at all.

    An existing file is replaced only with `force`. A symbolic link counts as an existing file; it is replaced itself,
    and the file that it points to stays as it is.
    """
    try:
        _check(Path(file), force=force)
        _write(Path(file), data, force=force)
    except FileExistsError:
        raise FileError(f"{file} exists; --force replaces it.") from None
    except OSError as error:
        raise FileError(f"Cannot write {file}: {error.strerror}.") from None


def _check(path: Path, *, force: bool) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not force:
        raise FileExistsError
    if not stat.S_ISREG(mode) and not stat.S_ISLNK(mode):
        raise FileError(f"Cannot write {path}: it is not a regular file.")


def _write(path: Path, data: bytes, *, force: bool) -> None:
    handle, temporary = tempfile.mkstemp(prefix=".innervoice-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, _mode(path))  # noqa: PTH101 - a name, as mkstemp gives it
        _put(temporary, path, force=force)
    finally:
        Path(temporary).unlink(missing_ok=True)


def _mode(path: Path) -> int:
    """The permissions of the file that is replaced, or those of a new file."""
    if path.is_file() and not path.is_symlink():
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _put(temporary: str, path: Path, *, force: bool) -> None:
    """Moves the temporary file to its final name; without `force`, a file created there meanwhile is kept."""
    if not force:
        try:
            os.link(temporary, path)
        except OSError as error:
            if error.errno not in _WITHOUT_LINKS:
                raise
        else:
            return
    os.replace(temporary, path)  # noqa: PTH105 - a name, as mkstemp gives it
