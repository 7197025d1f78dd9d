"""HTTP clients without a network: an object of this process, such as the emulator, responds to their requests.

The command line works this way without a key.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any, Protocol

import httpx2

__all__ = ["ReplyLike", "Responder", "embedded_async_http", "embedded_http"]


class ReplyLike(Protocol):
    """A reply: status, media type, headers, and the body in pieces with a pause between them."""

    status: int
    media: str
    pieces: Iterator[bytes]
    pause: float
    headers: dict[str, str]


class Responder(Protocol):
    """Responds to requests: the emulator, or anything with the same method."""

    def reply(self, method: str, path: str, headers: Any, body: bytes) -> Any:
        """The reply to one request."""
        ...


def embedded_http(responder: Responder) -> httpx2.Client:
    """A synchronous HTTP client that gets its responses from the responder."""
    return httpx2.Client(transport=_Transport(responder))


def embedded_async_http(responder: Responder) -> httpx2.AsyncClient:
    """An asynchronous HTTP client that gets its responses from the responder."""
    return httpx2.AsyncClient(transport=_AsyncTransport(responder))


class _Pieces(httpx2.SyncByteStream):
    def __init__(self, reply: ReplyLike) -> None:
        self._reply = reply

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._reply.pieces:
            yield piece
            if self._reply.pause:
                time.sleep(self._reply.pause)


class _AsyncPieces(httpx2.AsyncByteStream):
    def __init__(self, reply: ReplyLike) -> None:
        self._reply = reply

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._reply.pieces:
            yield piece
            if self._reply.pause:
                await asyncio.sleep(self._reply.pause)


class _Transport(httpx2.BaseTransport):
    def __init__(self, responder: Responder) -> None:
        self._responder = responder

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        reply = _reply(self._responder, request, request.read())
        return httpx2.Response(reply.status, headers=_headers(reply), stream=_Pieces(reply))


class _AsyncTransport(httpx2.AsyncBaseTransport):
    def __init__(self, responder: Responder) -> None:
        self._responder = responder

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        reply = _reply(self._responder, request, await request.aread())
        return httpx2.Response(reply.status, headers=_headers(reply), stream=_AsyncPieces(reply))


def _reply(responder: Responder, request: httpx2.Request, body: bytes) -> ReplyLike:
    path = request.url.raw_path.decode("ascii")
    reply: ReplyLike = responder.reply(request.method, path, dict(request.headers), body)
    return reply


def _headers(reply: ReplyLike) -> dict[str, str]:
    return {"content-type": reply.media, **reply.headers}
