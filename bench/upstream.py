"""A host that answers at once: canned answers over a raw asyncio protocol, in a process of its own.

    python bench/upstream.py        # prints its port

The first segment of the path names the payload ("/chat/...", "/anthropic.200.60/..."), the rest is whatever a client puts
behind its base URL. A stream is written at once, every event in an HTTP chunk of its own, as a server that flushes sends
it: the client never waits, and what is measured is what it does.
"""

from __future__ import annotations

import asyncio
from functools import lru_cache

from payloads import payload

_END = b"\r\n\r\n"


@lru_cache(maxsize=64)
def answer(name: str, *, stream: bool) -> bytes:
    """The bytes of a complete HTTP response."""
    made = payload(name)
    if not stream:
        head = b"content-type: application/json\r\ncontent-length: %d" % len(made.body)
        return b"HTTP/1.1 200 OK\r\n" + head + _END + made.body
    head = b"content-type: text/event-stream\r\ntransfer-encoding: chunked"
    chunks = [b"%x\r\n%b\r\n" % (len(frame), frame) for frame in made.frames]
    return b"".join([b"HTTP/1.1 200 OK\r\n", head, _END, *chunks, b"0\r\n\r\n"])


class Upstream(asyncio.Protocol):
    """One connection, kept alive."""

    def __init__(self) -> None:
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(_END)) >= 0:
            head = self._buffer[:end]
            size = _length(head)
            start = end + len(_END)
            if size is None or len(self._buffer) < start + size:
                return
            body, self._buffer = self._buffer[start : start + size], self._buffer[start + size :]
            self._transport.write(_answered(head, body))  # type: ignore[attr-defined]


def _length(head: bytes) -> int | None:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line[15:])
        if line.startswith(b"transfer-encoding:"):
            raise ValueError("the clients here are expected to send a length")
    return 0


def _answered(head: bytes, body: bytes) -> bytes:
    path = head.split(b" ", 2)[1].decode()
    name = path.split("/")[1]
    stream = "stream" in path or b'"stream":true' in body.replace(b" ", b"")
    return answer(name, stream=stream)


async def serve() -> None:
    """Serves until the process is terminated."""
    server = await asyncio.get_running_loop().create_server(Upstream, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve())
