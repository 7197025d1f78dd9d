"""Standard input, which can be read again from the start as long as not much of it was read: first for a sample, then for good."""

from __future__ import annotations

import sys
from typing import BinaryIO

from innervoice.errors import UsageError

__all__ = ["RepeatedInput", "standard_input"]

_MOST = 128_000_000


class RepeatedInput:
    """Lines of a stream; those that were read are kept until they are too many."""

    def __init__(self, stream: BinaryIO, most: int = _MOST) -> None:
        self._stream = stream
        self._most = most
        self._kept: list[bytes] | None = []
        self._size = 0
        self._next = 0

    def restart(self) -> None:
        """Begins again with the first line."""
        if self._kept is None:
            raise UsageError("standard input can be read only once; write it to a file")
        self._next = 0

    def readline(self) -> bytes:
        """The next line; empty at the end."""
        if self._kept is not None and self._next < len(self._kept):
            self._next += 1
            return self._kept[self._next - 1]
        line = self._stream.readline()
        if self._kept is not None:
            self._kept.append(line)
            self._next += 1
            self._size += len(line)
            if self._size > self._most:
                self._kept = None
        return line

    def close(self) -> None:
        """Nothing: it is not ours."""


_own: list[RepeatedInput] = []


def standard_input() -> RepeatedInput:
    """Standard input from its first line."""
    if not _own:
        if sys.stdin is None:
            raise UsageError("standard input is closed; name a file")
        _own.append(RepeatedInput(sys.stdin.buffer))
    _own[0].restart()
    return _own[0]
