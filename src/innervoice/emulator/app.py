"""The emulator as an ASGI application."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from innervoice.emulator.core import Emulator, Reply
from innervoice.emulator.routes import base_urls
from innervoice.local_server import FAREWELL, LocalServer, bound_socket
from innervoice.wire.refusals import MOST_BYTES

__all__ = ["EmulatorServer", "app", "bound_socket", "create_app", "run"]


def create_app(emulator: Emulator | None = None) -> Starlette:
    """An application that answers at the real paths of every provider, after the provider's name.

    :param emulator: What answers; None: a new one.
    """
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


# ---- Runs the emulator on a real port.


def run(listening: socket.socket, emulator: Emulator | None = None) -> None:
    """Serves until interrupted; open streams have a second to end."""
    config = uvicorn.Config(
        create_app(emulator), log_level="warning", timeout_graceful_shutdown=FAREWELL
    )
    uvicorn.Server(config).run(sockets=[listening])


class EmulatorServer(LocalServer):
    """An emulator in a thread, on a free port of this machine, for the time of a `with` block."""

    def __init__(self, emulator: Emulator | None = None) -> None:
        config = uvicorn.Config(create_app(emulator), log_level="error", lifespan="off")
        super().__init__(uvicorn.Server(config))

    def base_url(self, provider: str) -> str:
        """The base URL of a provider."""
        return base_urls(self.url)[provider]
