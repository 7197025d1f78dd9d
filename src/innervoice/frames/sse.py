"""Server-sent events: bytes -> frames.

After the WHATWG standard (https://html.spec.whatwg.org/multipage/server-sent-events.html, read
2026-11-15), and the actual behaviour of providers:

  - Lines end in LF, CR or CRLF, and a CRLF may be cut between two chunks.
  - Comments are keep-alives (OpenRouter sends `: OPENROUTER PROCESSING`).
  - The blank line after the last event may be missing.
  - Gemini writes an error as plain JSON lines without `data:`. Lines that are not fields are collected, and
    make a frame when they are JSON.
"""

from __future__ import annotations

import re
from functools import lru_cache

from innervoice.canon.jsontext import load_damaged_json
from innervoice.frames.frame import LIMIT, Frame, FrameError

__all__ = ["ServerSentEvents", "sse_bytes"]

_BOM = b"\xef\xbb\xbf"
_LF, _CR = b"\n\r"  # as numbers: to look for one is six times as fast as for bytes
_HEARTBEAT = Frame(None)
_USUAL = re.compile(rb"(?:event: (.{1,64})\n)?data: (.*)\n\n")
"""An event as nearly all are written."""
_BEGINNINGS = b"data: ", b"event: "
_SHORT = 4096
"""The longest beginning of an event that is looked at again with what follows it."""

# The brackets of JSON. A string is one token, so that the brackets in it do not count; one without an end is not JSON.
_TOKENS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[{}\[\]]')


class ServerSentEvents:
    """Cuts a stream of server-sent events into frames; every byte is examined once."""

    def __init__(self, *, limit: int = LIMIT) -> None:
        self._limit = limit
        self._pending: list[bytes] = []  # pieces of a line that has not ended
        self._size = 0
        self._data: list[bytes] = []
        self._name: str | None = None
        self._stray = StrayJson(limit)  # lines that are not fields
        self._after_cr = False
        self._started = False
        self._between = True  # nothing of an event has come yet, except `_beginning`
        self._beginning = b""  # the beginning of an event, not looked at yet

    def feed(self, data: bytes) -> list[Frame]:
        """The events that are complete now."""
        if self._beginning:
            data, self._beginning = self._beginning + data, b""
        is_usual = self._between and len(data) <= self._limit and _CR not in data
        # A server that flushes sends one event at a time, and HTTP usually delivers it as it was sent.
        if is_usual and (whole := _USUAL.fullmatch(data)):
            self._started = True
            name, text = whole.groups()
            return [Frame(text, None if name is None else _short_name(name))]
        end = data.rfind(b"\n\n") + 2
        if end < 2:
            return self._hold(data)
        frames = self._usual_events(data[:end]) if is_usual else []
        frames = frames or self._feed_lines(data[:end])
        return frames if end == len(data) else frames + self._hold(data[end:])

    def _usual_events(self, data: bytes) -> list[Frame]:
        """The events, if nothing else is before, between or in them."""
        events = _USUAL.findall(data)
        if not events:
            return []
        names, texts = zip(*events, strict=True)
        with_name = len(names) - names.count(b"")
        size = 8 * (len(events) + with_name) + sum(map(len, names)) + sum(map(len, texts))
        if size != len(data):
            return []
        self._started = True
        return [Frame(text, _short_name(name) if name else None) for name, text in events]

    def _hold(self, data: bytes) -> list[Frame]:
        """Keeps the beginning of an event until the rest comes; what cannot be one, or is long, is read."""
        is_short = len(data) < min(_SHORT, self._limit)
        if self._between and is_short and data.startswith(_BEGINNINGS) and _CR not in data:
            self._beginning = data
            return []
        return self._feed_lines(data)

    def _feed_lines(self, data: bytes) -> list[Frame]:
        """The same for events of any form."""
        if self._after_cr and data:
            self._after_cr = False
            if data[0] == _LF:
                data = data[1:]
        self._between = False
        self._size += len(data)
        if _LF not in data and _CR not in data:
            self._pending.append(data)
            self._check_size()
            return []
        if self._pending:
            self._pending.append(data)
            data = b"".join(self._pending)
            self._pending.clear()
        self._after_cr = data[-1] == _CR
        frames: list[Frame] = []
        lines = data.splitlines()
        if data[-1] not in (_LF, _CR):
            self._pending.append(lines.pop())
        if not self._started and lines:
            self._started = True
            lines[0] = lines[0].removeprefix(_BOM)
        # By far most lines are of one of three kinds, and need no further call.
        for line in lines:
            if line[:6] == b"data: ":
                self._data.append(line[6:])
            elif not line:
                self._dispatch(frames)
            elif line[:7] == b"event: ":
                self._name = _name_of(line[7:])
            else:
                self._read(line, frames)
        self._check_size()
        begun = self._pending or self._data or self._stray or self._name is not None
        self._between = not (begun or self._after_cr)
        return frames

    def finish(self) -> list[Frame]:
        """The last event, if no blank line ended it."""
        frames = self._feed_lines(self._beginning) if self._beginning else []
        self._beginning = b""
        if self._pending:
            line = b"".join(self._pending)
            self._read(line if self._started else line.removeprefix(_BOM), frames)
            self._pending.clear()
        self._dispatch(frames)
        return frames

    def _read(self, line: bytes, frames: list[Frame]) -> None:
        """Reads a line that is not blank."""
        if line[:5] == b"data:":
            self._data.append(line[6:] if line[5:6] == b" " else line[5:])
        elif line[:1] == b":":
            frames.append(_HEARTBEAT)
        elif line[:6] == b"event:":
            self._name = _name_of(line[6:])
        elif line == b"data":
            self._data.append(b"")
        elif not line.startswith((b"id:", b"retry:")) and line not in (b"id", b"retry", b"event"):
            text = self._stray.feed(line)
            frames += [] if text is None else [Frame(text)]

    def _dispatch(self, frames: list[Frame]) -> None:
        if self._data:
            data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
            frames.append(Frame(data, self._name))
            self._data.clear()
        self._name = None
        self._size = len(self._pending[0]) if self._pending else 0

    def _check_size(self) -> None:
        if self._size > self._limit:
            raise FrameError(f"an event is longer than {self._limit} bytes")


class StrayJson:
    """Collects the lines of JSON without a field name until their brackets are closed; every line is examined once, and the whole text once more."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lines: list[bytes] = []
        self._size = 0
        self._depth = 0

    def __bool__(self) -> bool:
        return bool(self._lines)

    def feed(self, line: bytes) -> bytes | None:
        """Adds a line; returns the JSON text that ends with it, if one does. Lines that are not JSON are dropped."""
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


def _name_of(text: bytes) -> str:
    return text.strip().decode("utf-8", "replace")


_short_name = lru_cache(maxsize=256)(_name_of)
"""The same few names come again and again."""


def sse_bytes(frame: Frame) -> bytes:
    """A frame as a server writes it; a failed one as Gemini does, as JSON without a field name."""
    if frame.data is None:
        return b": keep-alive\n\n"
    if frame.failed:
        return frame.data + b"\n\n"
    name = f"event: {frame.name}\n".encode() if frame.name else b""
    return name + b"data: " + frame.data + b"\n\n"
