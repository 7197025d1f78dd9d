"""Recognizes the framing of a stream by its first bytes."""

from __future__ import annotations

from innervoice.frames.frame import LIMIT, Frame, Framer
from innervoice.frames.lines import JsonLines
from innervoice.frames.sse import ServerSentEvents

__all__ = ["AnyFraming"]

_BOM = b"\xef\xbb\xbf"
_MOST_BLANKS = 1_000_000
_SKIPPED = (b"\xef", b" ", b"\t", b"\n", b"\r", b"\x0b", b"\x0c")
"""Bytes that are stripped at the start: a byte order mark or white space."""
_BINARY = b"\x00"
_FRAMERS: dict[bytes, type[JsonLines | ServerSentEvents]] = {b"{": JsonLines, b"[": JsonLines}


class AnyFraming:
    """Waits for the first byte that shows the framing, then cuts frames.

    An event stream starts with the high byte of a length, which is zero for any message under 16 MB. JSON
    starts with a bracket. Everything else is read as server-sent events, whose rules ignore garbage.
    """

    def __init__(self, *, limit: int = LIMIT) -> None:
        self._limit = limit
        self._head = b""  # the bytes so far, without leading white space
        self._blanks = 0
        self._framer: Framer | None = None

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that are complete now."""
        head = self._head + data
        self._head = self._stripped(head) if head[:1] in _SKIPPED else head
        self._framer = self._choose(final=False)
        if not self._framer:
            return []
        self.feed = self._framer.feed  # type: ignore[method-assign]  # one call less for each delta
        head, self._head = self._head, b""
        return self._framer.feed(head)

    def finish(self) -> list[Frame]:
        """The frames that the end of the stream completes."""
        if not self._framer:
            self._framer = self._choose(final=True)
            head, self._head = self._head, b""
            if not self._framer:
                return []
            return self._framer.feed(head) + self._framer.finish()
        return self._framer.finish()

    def _stripped(self, head: bytes) -> bytes:
        """The head without white space and a byte order mark; white space is counted and dropped, so that each byte is examined once."""
        text = head.removeprefix(_BOM).lstrip()
        self._blanks += len(head) - len(text)
        return text

    def _choose(self, *, final: bool) -> Framer | None:
        if not self._head:
            # Blank lines may precede anything; but not a megabyte of them.
            return ServerSentEvents(limit=self._limit) if self._blanks > _MOST_BLANKS else None
        if not final and self._head in (_BOM[:1], _BOM[:2]):
            return None
        if self._head[:1] == _BINARY:
            from innervoice.frames.eventstream import EventStream  # noqa: PLC0415 - only Bedrock sends it

            return EventStream(limit=self._limit)
        return _FRAMERS.get(self._head[:1], ServerSentEvents)(limit=self._limit)
