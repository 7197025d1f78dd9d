"""Standard input, which can be read again from the start as long as little of it was read: first for a sample, then for good."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from typing import BinaryIO

from innervoice.errors import UsageError

__all__ = ["RepeatedInput", "standard_input"]

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
        kept, self._kept = self._kept or deque(), None
        self._again = iter(lambda: kept.popleft() if kept else b"", b"")

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


_own: list[RepeatedInput] = []


def standard_input(*, is_last: bool = False) -> RepeatedInput:
    """Standard input from its first line; `is_last` says that it will not be requested again."""
    if not _own:
        if sys.stdin is None:
            raise UsageError("standard input is closed; name a file")
        _own.append(RepeatedInput(sys.stdin.buffer))
    stream = _own[0]
    if is_last:
        stream.release()
    else:
        stream.restart()
    return stream
