"""The floor of a gateway: passes requests and answers on, and knows nothing of them.

    python bench/gateway_floor.py 127.0.0.1:PORT        # the upstream; prints its own port

httptools on both sides, on uvloop, with connections to the upstream that are kept. What arrives together leaves together. A gateway
in Python that reads nothing of what it passes on cannot do much less than this.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import httptools
import uvloop

from gateway_upstream import serve

_OWN = {b"host", b"content-length", b"connection", b"transfer-encoding", b"keep-alive", b"te"}
"""Headers that belong to a connection."""


class Endpoint(asyncio.Protocol):
    """The connection of a client; one request after the other."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._back: Back | None = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self._parser = httptools.HttpRequestParser(self)

    def connection_lost(self, _: Exception | None) -> None:
        if self._back is not None:
            self._back.abandon()

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        self._url = b""
        self._headers: list[bytes] = []
        self._body: list[bytes] = []

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() not in _OWN:
            self._headers.append(b"%b: %b\r\n" % (name, value))

    def on_body(self, data: bytes) -> None:
        self._body.append(data)

    def on_message_complete(self) -> None:
        body = b"".join(self._body)
        head = b"%b %b HTTP/1.1\r\nhost: %b\r\ncontent-length: %d\r\n%b\r\n" % (
            self._parser.get_method(),
            self._url,
            self._pool.host,
            len(body),
            b"".join(self._headers),
        )
        if self._pool.idle:
            self._send(self._pool.idle.pop(), head + body)
        else:
            task = asyncio.ensure_future(self._pool.connected())
            task.add_done_callback(lambda done: self._send(done.result(), head + body))

    def _send(self, back: Back, request: bytes) -> None:
        self._back = back
        back.ask(self, request)

    def answered(self) -> None:
        """The answer is over."""
        self._back = None


class Back(asyncio.Protocol):
    """A connection to the upstream."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._front: Endpoint | None = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def connection_lost(self, _: Exception | None) -> None:
        if self in self._pool.idle:
            self._pool.idle.remove(self)
        if self._front is not None:
            self._front.transport.close()

    def ask(self, front: Endpoint, request: bytes) -> None:
        """Sends a request; its answer goes to this client."""
        self._front = front
        self._headers: list[bytes] = []
        self._out: list[bytes] = []
        self._is_chunked = True
        self._parser = httptools.HttpResponseParser(self)
        self.transport.write(request)

    def abandon(self) -> None:
        """The client is gone."""
        self._front = None
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        front = self._front
        if front is None:
            return
        self._parser.feed_data(data)
        if self._out:
            front.transport.write(b"".join(self._out))
            self._out.clear()

    def on_header(self, name: bytes, value: bytes) -> None:
        lowered = name.lower()
        if lowered == b"content-length":
            self._is_chunked = False
        if lowered == b"content-length" or lowered not in _OWN:
            self._headers.append(b"%b: %b\r\n" % (name, value))

    def on_headers_complete(self) -> None:
        if self._is_chunked:
            self._headers.append(b"transfer-encoding: chunked\r\n")
        status = self._parser.get_status_code()
        self._out.append(b"HTTP/1.1 %d \r\n%b\r\n" % (status, b"".join(self._headers)))

    def on_body(self, data: bytes) -> None:
        self._out.append(b"%x\r\n%b\r\n" % (len(data), data) if self._is_chunked else data)

    def on_message_complete(self) -> None:
        if self._is_chunked:
            self._out.append(b"0\r\n\r\n")
        front, self._front = self._front, None
        self._pool.idle.append(self)
        if front is not None:
            front.answered()


class Pool:
    """The connections to the upstream."""

    def __init__(self, address: str) -> None:
        self.host = address.encode()
        self._address = address.split(":")
        self.idle: list[Back] = []

    async def connected(self) -> Back:
        """A new connection."""
        host, port = self._address
        _, back = await asyncio.get_running_loop().create_connection(
            lambda: Back(self), host, int(port)
        )
        return back


if __name__ == "__main__":
    pool = Pool(sys.argv[1])
    uvloop.run(serve(lambda: Endpoint(pool)))
