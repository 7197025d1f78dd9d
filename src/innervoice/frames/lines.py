"""JSON lines, or one whole JSON text: bytes -> frames.

A line that is JSON is a frame at once. If the first line is not, the text is one pretty-printed JSON
value and makes a single frame at the end.
"""

from __future__ import annotations

from innervoice.canon.jsontext import load_json
from innervoice.frames.frame import LIMIT, Frame, FrameError

__all__ = ["JsonArray", "JsonLines", "line_bytes"]


class JsonLines:
    """Cuts lines of JSON into frames; every byte is examined once."""

    def __init__(self, *, limit: int = LIMIT) -> None:
        self._limit = limit
        self._pending: list[bytes] = []
        self._size = 0
        self._whole: bool | None = None  # one text over several lines; None at first

    def feed(self, data: bytes) -> list[Frame]:
        """The lines that are complete now."""
        self._size += len(data)
        if self._size > self._limit:
            raise FrameError(f"a line is longer than {self._limit} bytes")
        self._pending.append(data)
        if self._whole or b"\n" not in data:
            return []
        *lines, rest = b"".join(self._pending).split(b"\n")
        if self._whole is None:
            first = next((line for line in lines if line.strip()), b"")
            self._whole = bool(first) and not _is_json(first)
            if self._whole:
                self._pending[:] = [b"".join(self._pending)]
                return []
        self._pending[:] = [rest]
        self._size = len(rest)
        return [Frame(line.strip()) for line in lines if line.strip()]

    def finish(self) -> list[Frame]:
        """The text after the last line break."""
        rest = b"".join(self._pending).strip()
        self._pending.clear()
        return [Frame(rest)] if rest else []


def _is_json(line: bytes) -> bool:
    try:
        load_json(line)
    except UnicodeError:
        return _is_json(line.decode("utf-8", "replace").encode())
    except ValueError:
        return False
    return True


def line_bytes(frame: Frame) -> bytes:
    """A frame as a server writes it; a keep-alive is a blank line."""
    return (frame.data or b"") + b"\n"


class JsonArray:
    """Writes frames as one JSON array that grows: Gemini's stream if the client did not request server-sent events."""

    def __init__(self) -> None:
        self._before = b"["

    def __call__(self, frame: Frame) -> bytes:
        """The next element; a keep-alive is a space."""
        if frame.data is None:
            return b"\n"
        before, self._before = self._before, b",\r\n"
        return before + frame.data

    def end(self) -> bytes:
        """The end of the array."""
        return b"[]" if self._before == b"[" else b"]"
