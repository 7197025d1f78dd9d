"""One response of `over_httptools.py`: the bytes that have arrived, for a reader that may be slower or faster than the connection."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator
from typing import Protocol, Self

__all__ = ["Connection", "DecodingError", "HttpAnswer"]

_ENOUGH = 64 * 1024
"""How many bytes may wait for a slow reader before reading from the connection pauses."""


class Connection(Protocol):
    """What a response needs from its connection."""

    def pause(self) -> None:
        """Pauses reading until `resume`."""
        ...

    def resume(self) -> None:
        """Continues reading."""
        ...

    def close(self) -> None:
        """Closes the connection at once."""
        ...


class DecodingError(OSError):
    """The body does not have the encoding that its headers name."""


class HttpAnswer:
    """A response with those members of httpx's `Response` that are read."""

    def __init__(
        self, connection: Connection, loop: asyncio.AbstractEventLoop, limit: float | None
    ) -> None:
        self.status_code = 0
        self.headers: dict[str, str] = {}
        self.is_stream_consumed = False
        self.is_over = self.is_paused = False
        self.ends_with_connection = False
        self.failure: OSError | None = None
        self._connection = connection
        self._loop = loop
        self._limit = limit
        self._pieces: list[bytes] = []
        self._size = 0
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0

    # ---- from the connection ---------------------------------------------------------------------

    def begin(self, status: int, headers: dict[str, str]) -> None:
        """The head has arrived."""
        self.status_code, self.headers = status, headers
        is_chunked = "chunked" in headers.get("transfer-encoding", "").lower()
        self.ends_with_connection = not is_chunked and "content-length" not in headers

    def feed(self, data: bytes) -> None:
        """Adds to the body."""
        self._pieces.append(data)
        self._size += len(data)
        if self._size > _ENOUGH and not self.is_paused:
            self.is_paused = True
            self._connection.pause()
        self._wake()

    def end(self) -> None:
        """Ends the body."""
        self.is_over = True
        self._stop_timer()
        self._wake()

    def fail(self, error: OSError) -> None:
        """Interrupts the body."""
        if not self.is_over and self.failure is None:
            self.failure = error
            self._stop_timer()
            self._wake()

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None:
            self._waiter = None
            if not waiter.done():
                waiter.set_result(None)

    # ---- for the reader --------------------------------------------------------------------------

    @property
    def stream(self) -> AsyncIterator[bytes]:
        """The bytes as they arrive, all that are available at once."""
        return self

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        while not self._pieces:
            if self.failure is not None:
                raise self.failure
            if self.is_over:
                raise StopAsyncIteration
            self._waiter = self._loop.create_future()
            self._start_timer()
            await self._waiter
        pieces, self._pieces, self._size = self._pieces, [], 0
        if self.is_paused and not self.is_over:
            self.is_paused = False
            self._connection.resume()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        """The same bytes, decompressed."""
        encoding = self.headers.get("content-encoding", "identity").strip().lower()
        if encoding in ("", "identity"):
            async for piece in self:
                yield piece
            return
        if encoding not in ("gzip", "deflate", "x-gzip"):
            raise DecodingError(
                f"the body has the encoding {encoding[:40]!r}, which was not requested"
            )
        unzip = zlib.decompressobj(47)
        async for piece in self:
            try:
                yield unzip.decompress(piece)
            except zlib.error as error:
                raise DecodingError(str(error)) from None

    async def aclose(self) -> None:
        """Closes the connection if the body was not read to the end; otherwise it was already returned to the pool."""
        self._stop_timer()
        if not self.is_over:
            self._connection.close()

    # One timer for all waits: a new one for each would cost more than reading most pieces.

    def _start_timer(self) -> None:
        if self._limit is None:
            return
        self._due = self._loop.time() + self._limit
        if self._timer is None:
            self._timer = self._loop.call_at(self._due, self._look)

    def _look(self) -> None:
        self._timer = None
        if self.is_over or self.failure is not None:
            return
        if self._waiter is not None and self._loop.time() >= self._due:
            self._connection.close()
            self.fail(TimeoutError(f"no data for {self._limit:g} s"))
        else:
            self._timer = self._loop.call_at(
                max(self._due, self._loop.time() + (self._limit or 0) / 4), self._look
            )

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
