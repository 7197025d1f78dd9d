"""The emulator as an ASGI application."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from innervoice.emulator.core import Emulator, Reply
from innervoice.emulator.routes import base_urls
from innervoice.wire.refusals import MOST_BYTES

__all__ = ["app", "create_app"]


def create_app(emulator: Emulator | None = None) -> Starlette:
    """An application that answers at the real paths of every provider, after the provider's name."""
    answering = emulator or Emulator()

    async def answer(request: Request) -> Response:
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        reply = answering.reply(request.method, path, dict(request.headers), await _body(request))
        return StreamingResponse(
            _pieces(reply), reply.status, headers=reply.headers, media_type=reply.media
        )

    async def index(request: Request) -> Response:
        return JSONResponse({"emulates": base_urls(str(request.base_url))})

    return Starlette(
        routes=[
            Route("/", index, methods=["GET"]),
            Route("/{path:path}", answer, methods=["GET", "HEAD", "POST", "PUT", "DELETE"]),
        ]
    )


async def _body(request: Request) -> bytes:
    """The body, cut where it is too large to be read."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            break
    return bytes(body)


async def _pieces(reply: Reply) -> AsyncIterator[bytes]:
    for piece in reply.pieces:
        yield piece
        if reply.pause:
            await asyncio.sleep(reply.pause)


app = create_app(Emulator(acting_tools=False))
"""For servers that import an application by name: `uvicorn innervoice.emulator.app:app`."""
