"""A lightweight HTTP/1.1 client, with which an `AsyncClient` sends on asyncio where httptools is installed, as it is with innervoice[gateway].

httptools, a parser written in C, reads the responses; connections are kept alive, and all available bytes are returned at once. It is for
processes that send many requests, such as the gateway: docs/performance.md has the numbers. No redirects, no cookies, no proxies, no HTTP/2.
"""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from functools import lru_cache
from importlib import import_module
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self
from urllib.parse import urlsplit

from innervoice.errors import UsageError
from innervoice.installing import install_command

__all__ = ["Connection", "DecodingError", "HttpAnswer", "OverHttptools"]

_MOST_IDLE = 100
_IDLE_SECONDS = 60.0
_MOST_HEAD = 262_144
"""What comes before the body of an answer, in bytes; what is left of a chunk behind it does not count."""


class ConnectTimeout(TimeoutError):  # noqa: N818 - errors are recognised by the name that httpx uses
    """The connection was not established in time."""


class InvalidURL(OSError):  # noqa: N818 - errors are recognised by the name that httpx uses
    """The URL cannot be used."""


class LocalProtocolError(OSError):
    """HTTP does not allow some part of the request."""


class _Host(NamedTuple):
    """Where a request goes."""

    host: str
    port: int
    is_secure: bool
    target: str
    """The path with its query, as the server gets it."""
    name: bytes
    """The value of the header `host`."""


class _Request(NamedTuple):
    place: _Host
    data: bytes
    timeouts: Mapping[str, float | None]

    def __repr__(self) -> str:
        # The data contains keys, and named tuples print all members.
        return f"_Request({self.place.host}:{self.place.port})"


class OverHttptools:
    """Sends requests over connections that are kept alive. `tls` is the `SSLContext` to use; by default those certificate authorities are trusted that httpx2 trusts."""

    limits_silence = True
    """Whether the HTTP client itself limits the wait for the next bytes, so that `AsyncClient` need not."""
    errors = (OSError,)

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        try:
            self._parser: Any = import_module("httptools").HttpResponseParser
        except ImportError:
            raise UsageError(f"httptools is not installed: {install_command('gateway')}") from None
        self._tls = tls
        self._idle: dict[tuple[str, int, bool], deque[_Connection]] = {}
        self._open: set[_Connection] = set()

    def build_request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        content: bytes,
        extensions: Mapping[str, Any],
    ) -> Any:
        """A request for `send`."""
        place = _place(str(url))
        head = [
            f"{method} {place.target} HTTP/1.1".encode("ascii"),
            b"host: " + place.name,
            b"accept-encoding: identity",
            b"content-length: %d" % len(content),
        ]
        head += [f"{name}: {value}".encode("latin-1") for name, value in headers.items()]
        if any(b"\r" in line or b"\n" in line for line in head):
            raise _not_sendable()
        data = b"\r\n".join([*head, b"", content])
        return _Request(place, data, extensions.get("timeout", {}))

    async def send(self, request: Any, *, stream: bool = True) -> Any:  # noqa: ARG002 - httpx's signature
        """Sends a request; its response is always streamed, whatever `stream` says."""
        while True:
            connection = self._taken(request.place)
            is_fresh = connection is None
            if connection is None:
                connection = await self._connected(request.place, request.timeouts)
            try:
                return await connection.exchange(request.data, request.timeouts.get("read"))
            except ConnectionError:
                # A server may close an idle connection just when the request is sent: it has not seen the request.
                if is_fresh or connection.has_answered:
                    raise

    async def aclose(self) -> None:
        """Closes all connections."""
        for connection in list(self._open):
            connection.close()
        self._idle.clear()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    # ---- connections ---------------------------------------------------------------------------

    def _taken(self, place: _Host) -> _Connection | None:
        """The most recently used connection to a place."""
        idle = self._idle.get(place[:3])
        while idle:
            connection = idle.pop()
            if connection.is_usable():
                return connection
            connection.close()
        return None

    async def _connected(self, place: _Host, timeouts: Mapping[str, float | None]) -> _Connection:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeouts.get("connect")):
                _, connection = await loop.create_connection(
                    lambda: _Connection(self, place[:3], self._parser),
                    place.host,
                    place.port,
                    ssl=self._context() if place.is_secure else None,
                )
        except TimeoutError as error:
            raise ConnectTimeout(str(error)) from error
        self._open.add(connection)
        return connection

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            context: ssl.SSLContext = import_module("httpx2").create_ssl_context()
            self._tls = context
        return self._tls

    def give_back(self, connection: _Connection) -> None:
        """Returns a connection to the pool."""
        idle = self._idle.setdefault(connection.key, deque())
        idle.append(connection)
        if len(idle) > _MOST_IDLE:
            idle.popleft().close()

    def forget(self, connection: _Connection) -> None:
        """Removes a closed connection."""
        self._open.discard(connection)
        idle = self._idle.get(connection.key)
        if idle and connection in idle:
            idle.remove(connection)


class _Connection(asyncio.Protocol):
    """One connection; it carries one exchange at a time."""

    def __init__(self, pool: OverHttptools, key: tuple[str, int, bool], parser: Any) -> None:
        self.key = key
        self.has_answered = False
        """Whether a byte arrived since the last request."""
        self._pool = pool
        self._new_parser = parser
        self._transport: Any = None
        self._loop = asyncio.get_running_loop()
        self._response: HttpAnswer | None = None
        self._head: asyncio.Future[HttpAnswer] | None = None
        self._idle_since = 0.0
        self._is_closed = False

    def is_usable(self) -> bool:
        """Whether another request can be sent; the server may close a connection that was idle for long at any time."""
        is_fresh = self._loop.time() - self._idle_since < _IDLE_SECONDS
        return is_fresh and not self._is_closed and not self._transport.is_closing()

    async def exchange(self, data: bytes, limit: float | None) -> HttpAnswer:
        """Sends a request, and waits for the head of its answer."""
        self.has_answered = False
        self._idle_since = 0.0
        self._parser = self._new_parser(self)
        self._headers: dict[str, str] = {}
        self._head_bytes = 0
        self._response = HttpAnswer(self, self._loop, limit)
        # An answer may have ended before its head is awaited, and the connection may be in use for another one.
        head: asyncio.Future[HttpAnswer] = self._loop.create_future()
        self._head = head
        self._transport.write(data)
        try:
            async with asyncio.timeout(limit):
                return await head
        except BaseException:
            if self._head is head:
                self.close()
            raise

    def close(self) -> None:
        """Closes the connection at once."""
        self._is_closed = True
        self._response = None
        self._pool.forget(self)
        if self._transport is not None:
            self._transport.abort()

    def pause(self) -> None:
        """Pauses reading until `resume`."""
        self._transport.pause_reading()

    def resume(self) -> None:
        """Continues reading."""
        self._transport.resume_reading()

    # ---- asyncio's protocol ----------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self.has_answered = True
        httptools = import_module("httptools")
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade, AttributeError) as error:
            self._refuse(f"the server does not speak HTTP/1.1: {type(error).__name__}")
        if self._head is not None and not self._head.done():
            self._head_bytes += len(data)
            if self._head_bytes > _MOST_HEAD:
                self._refuse(f"the head of the answer is longer than {_MOST_HEAD} bytes")
        if self._response is not None:
            self._response.pass_on()

    def connection_lost(self, error: Exception | None) -> None:
        response = self._response
        self._is_closed = True
        self._pool.forget(self)
        if response is not None and response.ends_with_connection and error is None:
            response.end()
        else:
            self._fail(error if isinstance(error, OSError) else _closed_early())
        self._response = None

    def _refuse(self, problem: str) -> None:
        """Ends the connection for what the server sent."""
        self._fail(ConnectionError(problem))
        self.close()

    def _fail(self, error: OSError) -> None:
        if self._head is not None and not self._head.done():
            self._head.set_exception(error)
        elif self._response is not None:
            self._response.fail(error)

    # ---- the parser's calls ----------------------------------------------------------------------

    def on_header(self, name: bytes, value: bytes) -> None:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        before = self._headers.get(key)
        self._headers[key] = text if before is None else f"{before}, {text}"

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        response = self._response
        if status < 200 or response is None or self._head is None:
            self._headers, self._head_bytes = {}, 0  # nothing of it is kept
            return
        response.begin(status, self._headers)
        if not self._head.done():
            self._head.set_result(response)

    def on_body(self, data: bytes) -> None:
        if self._response is not None:
            self._response.feed(data)

    def on_message_complete(self) -> None:
        response = self._response
        if response is None or not response.status_code:
            return  # 100 Continue
        self._response = None
        response.end()
        if self._parser.should_keep_alive() and not self._transport.is_closing():
            if response.is_paused:
                self.resume()
            self._idle_since = self._loop.time()
            self._pool.give_back(self)
        else:
            self.close()


@lru_cache(maxsize=1024)
def _place(url: str) -> _Host:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InvalidURL(str(error)) from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidURL(f"expected an http or https URL, not {parts.scheme[:20]!r}")
    is_secure = parts.scheme == "https"
    host = parts.hostname
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    name = f"[{host}]" if ":" in host else host
    if port is not None:
        name = f"{name}:{port}"
    try:
        target.encode("ascii")
        encoded = name.encode("ascii")
    except UnicodeEncodeError:
        encoded, target = name.encode("idna"), target.encode("utf-8").decode("latin-1")
    return _Host(host, port or (443 if is_secure else 80), is_secure, target, encoded)


def _not_sendable() -> LocalProtocolError:
    return LocalProtocolError("a header contains a line break")


def _closed_early() -> ConnectionError:
    return ConnectionError("the server closed the connection before the answer ended")


# ---- One response of `over_httptools.py`: the bytes that have arrived, for a reader that may be slower or faster than the connection.


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
        self._sink: Callable[[bytes], bool] | None = None
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
        if self._sink is None:
            self._wake()

    def pass_on(self) -> None:
        """Gives what has arrived to the sink of `pour`, if there is one."""
        sink, waiter = self._sink, self._waiter
        if sink is None or waiter is None or not self._pieces:
            return
        if self._limit is not None:
            self._due = self._loop.time() + self._limit
        try:
            if sink(self._taken()):
                return
        except Exception as error:  # noqa: BLE001 - whatever it is, whoever waits must hear of it
            self._waiter = None
            if not waiter.done():
                waiter.set_exception(error)
        self._sink = None
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
            await self._more()
        return self._taken()

    async def pour(self, sink: Callable[[bytes], bool]) -> bool:
        """Gives the bytes to `sink` in the same step of the event loop in which they arrive, which saves waking a task for each event.

        Ends once `sink` returns False; returns whether the body has ended.
        """
        while True:
            if self._pieces and not sink(self._taken()):
                return False
            if self.failure is not None:
                raise self.failure
            if self.is_over:
                return True
            self._sink = sink
            try:
                await self._more()
                if self._sink is None:
                    return False
            finally:
                self._sink = None

    async def _more(self) -> None:
        self._waiter = self._loop.create_future()
        self._start_timer()
        await self._waiter

    def _taken(self) -> bytes:
        """All that has arrived."""
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
