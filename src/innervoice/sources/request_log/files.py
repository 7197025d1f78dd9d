"""The files of a request log: one for each process, of a bounded size, deleted when they are old or too many.

Every file can be read alone. Only this user can read them.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex

__all__ = ["LogBounds", "LogFiles"]

_SUFFIX = ".jsonl"
_START = "requests-"
_CLEANED = 600.0
"""How often old files are searched for, in seconds."""


class LogBounds:
    """How much is kept, and for how long."""

    def __init__(
        self,
        *,
        file_bytes: int = 16_000_000,
        most_bytes: int = 500_000_000,
        seconds: float = 30 * 86_400.0,
    ) -> None:
        self.file_bytes = file_bytes
        self.most_bytes = most_bytes
        """Of all files in the folder together."""
        self.seconds = seconds


class LogFiles:
    """The files that lines are appended to; every method except `close` may raise `OSError`."""

    def __init__(
        self, place: Path, bounds: LogBounds | None = None, now: Callable[[], float] = time.time
    ) -> None:
        """`place` is a folder, or a file with a suffix, which is never replaced by another one."""
        self._is_file = bool(place.suffix) and not place.is_dir()
        self.place = place
        self._bounds = bounds or LogBounds()
        self._now = now
        self._file: int | None = None
        self._path: Path | None = None
        self._size = 0
        self._cleaned = float("-inf")
        self.written: list[Path] = []
        """The files that were begun."""

    @property
    def path(self) -> Path | None:
        """The file that is written now; None before the first line and while there is none."""
        return self._path if self._file is not None else None

    @property
    def is_full(self) -> bool:
        """Whether the next line needs a new file: this one is full, gone, or never existed."""
        if self._file is None:
            return True
        if not self._is_file and self._size >= self._bounds.file_bytes:
            return True
        return os.fstat(self._file).st_nlink == 0

    def open_next(self) -> None:
        """Begins a new file."""
        self.close()
        folder = self.place.parent if self._is_file else self.place
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._is_file:
            self._path = self.place
        else:
            when = time.strftime("%Y%m%dT%H%M%S", time.gmtime(self._now()))
            self._path = folder / f"{_START}{when}-{os.getpid()}-{token_hex(2)}{_SUFFIX}"
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
        # A link that somebody else created is not followed.
        self._file = os.open(self._path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)
        self._size = os.fstat(self._file).st_size
        self.written.append(self._path)
        self.clean()

    def write(self, data: bytes) -> None:
        """Appends lines."""
        assert self._file is not None
        rest = memoryview(data)
        while rest:
            written = os.write(self._file, rest)
            rest = rest[written:]
        self._size += len(data)
        if self._now() - self._cleaned > _CLEANED:
            self.clean()

    def clean(self) -> None:
        """Deletes files that are too old, and the oldest ones while there are too many bytes; the current file stays."""
        self._cleaned = self._now()
        if self._is_file:
            return
        files = []
        for path in self.place.glob(f"{_START}*{_SUFFIX}"):
            with contextlib.suppress(OSError):  # another worker was faster
                facts = path.stat()
                files.append((facts.st_mtime, facts.st_size, path))
        total = sum(size for _, size, _ in files)
        for changed, size, path in sorted(files):
            is_old = changed < self._cleaned - self._bounds.seconds
            if path != self._path and (is_old or total > self._bounds.most_bytes):
                with contextlib.suppress(OSError):
                    path.unlink()
                    total -= size

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                os.close(self._file)
            self._file = None
