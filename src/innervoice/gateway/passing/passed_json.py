"""JSON in answers that are passed on as they are: one body, or the events of a stream, read beside them as they arrive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from innervoice.canon.jsontext import load_json

__all__ = ["PassedJson"]

_DATA = b"data:"


class PassedJson:
    """Reads the objects of one answer. `is_wanted` says of the bytes of each if it is worth reading, and `read` takes it."""

    def __init__(
        self,
        is_wanted: Callable[[bytes], bool],
        read: Callable[[dict[str, Any]], None],
        most: int,
    ) -> None:
        """`most`: larger bodies and events are not read, in bytes."""
        self._is_wanted, self._read, self._most = is_wanted, read, most
        self._rest = bytearray()
        self._is_stream: bool | None = None
        self._is_left = False

    def add(self, piece: bytes) -> None:
        """Adds a piece of the answer."""
        if self._is_left:
            return
        self._rest += piece
        if self._is_stream is None and (start := self._rest.lstrip()):
            self._is_stream = not start.startswith((b"{", b"["))
        if self._is_stream and b"\n" in piece:
            *lines, rest = self._rest.split(b"\n")
            for line in lines:
                if line.startswith(_DATA):
                    self._take(bytes(line[len(_DATA) :]))
            self._rest = bytearray(rest)
        if len(self._rest) > self._most:
            self._rest, self._is_left = bytearray(), not self._is_stream

    def end(self) -> None:
        """The answer has ended."""
        if not self._is_stream and not self._is_left:
            self._take(bytes(self._rest))
        self._rest, self._is_left = bytearray(), True

    def _take(self, data: bytes) -> None:
        if not self._is_wanted(data):
            return
        try:
            value = load_json(data)
        except ValueError:
            return
        if isinstance(value, dict):
            self._read(value)
