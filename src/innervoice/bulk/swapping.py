"""A folder in the place of another one, in one step where the system can do that, so that a killed process leaves one or the other.

Elsewhere it takes three: the old folder gets the name that `parked` says, the new one its name, and the old one that of the new one. `recover` completes
them after a process was killed in between.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from pathlib import Path

__all__ = ["exchange", "parked", "recover", "swap"]

_HERE = -100  # AT_FDCWD: paths are relative to the working folder
_SWAP = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EXDEV}


def swap(old: Path, new: Path) -> None:
    """Gives two folders each other's names."""
    if exchange(old, new):
        return
    old.rename(parked(old))
    new.rename(old)
    parked(old).rename(new)


def recover(old: Path, new: Path) -> None:
    """Completes a swap that was interrupted; the parked folder exists."""
    if not old.exists() and new.exists():
        new.rename(old)
    parked(old).rename(new if old.exists() else old)


def parked(folder: Path) -> Path:
    """The name of the old folder for a moment."""
    return folder.with_name(f".{folder.name}.old")


def exchange(one: Path, other: Path) -> bool:
    """Exchanges two names atomically; returns False where that is not possible."""
    paths = os.fsencode(one), os.fsencode(other)
    try:
        library = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            failed = library.renamex_np(*paths, _SWAP)
        else:
            failed = library.renameat2(_HERE, paths[0], _HERE, paths[1], _SWAP)
    except (AttributeError, OSError, TypeError):
        return False  # a system without such a function
    if not failed:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(one))
