"""JSON that stands between server-sent events without a field name, over one line or several."""

from __future__ import annotations

import re

from innervoice.canon.jsontext import load_damaged_json
from innervoice.frames.frame import FrameError

__all__ = ["StrayJson"]

# A string is one token, so that the brackets in it do not count; one without an end is not JSON.
_TOKENS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[{}\[\]]')


class StrayJson:
    """Collects lines until their brackets are closed; every line is looked at once, and the whole text once more."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lines: list[bytes] = []
        self._size = 0
        self._depth = 0

    def __bool__(self) -> bool:
        return bool(self._lines)

    def feed(self, line: bytes) -> bytes | None:
        """Takes a line; gives the JSON text that ends with it, if one does. Lines that are not JSON are dropped."""
        if not self._lines and line.lstrip()[:1] not in (b"{", b"["):
            return None
        self._lines.append(line)
        self._size += len(line)
        if self._size > self._limit:
            raise FrameError(f"JSON between events is longer than {self._limit} bytes")
        for token in _TOKENS.findall(line):
            if token in b"{[":
                self._depth += 1
            elif token in b"}]":
                self._depth -= 1
        return self._text() if self._depth <= 0 else None

    def _text(self) -> bytes | None:
        text = b"\n".join(self._lines)
        self._lines.clear()
        self._size = self._depth = 0
        try:
            load_damaged_json(text)
        except ValueError:
            return None
        return text
