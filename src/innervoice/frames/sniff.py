"""Recognizes the framing of a stream by its first bytes."""

from __future__ import annotations

from innervoice.frames.eventstream import EventStream
from innervoice.frames.frame import LIMIT, Frame, Framer
from innervoice.frames.lines import JsonLines
from innervoice.frames.sse import ServerSentEvents

__all__ = ["AnyFraming"]

_BOM = b"\xef\xbb\xbf"


class AnyFraming:
    """Waits for the first byte that says what it is, then cuts frames.

    An event stream starts with the high byte of a length, which is zero for any message under 16 MB. JSON
    starts with a bracket. Everything else is server-sent events, whose rules make nothing of garbage.
    """

    def __init__(self, *, limit: int = LIMIT) -> None:
        self._limit = limit
        self._head = b""
        self._framer: Framer | None = None

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that are whole now."""
        if self._framer:
            return self._framer.feed(data)
        self._head += data
        self._framer = self._choose(final=False)
        if not self._framer:
            return []
        head, self._head = self._head, b""
        return self._framer.feed(head)

    def finish(self) -> list[Frame]:
        """What the end makes whole."""
        if not self._framer:
            self._framer = self._choose(final=True)
            head, self._head = self._head, b""
            if not self._framer:
                return []
            return self._framer.feed(head) + self._framer.finish()
        return self._framer.finish()

    def _choose(self, *, final: bool) -> Framer | None:
        if not final and _BOM.startswith(self._head[:3]) and len(self._head) < 3:
            return None
        text = self._head.removeprefix(_BOM).lstrip()
        if self._head[:1] == b"\x00":
            return EventStream(limit=self._limit)
        if not text:
            # Blank lines may go before anything; a megabyte of them goes before nothing.
            return ServerSentEvents(limit=self._limit) if len(self._head) > 1_000_000 else None
        if text[:1] in (b"{", b"["):
            self._head = text
            return JsonLines(limit=self._limit)
        return ServerSentEvents(limit=self._limit)
