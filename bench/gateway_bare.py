"""A bare ASGI application that passes requests and answers on, and reads nothing of them: what the server and the client alone take.

    python bench/gateway_bare.py 127.0.0.1:PORT        # the upstream; prints its own port

uvicorn on uvloop and httptools, and the client of the gateway. A gateway that is an ASGI application cannot do less than this.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from typing import Any

import uvicorn

from innervoice.client.over_httptools import OverHttptools

_OWN = {b"host", b"content-length", b"connection", b"transfer-encoding", b"keep-alive"}
"""Headers that belong to a connection."""


class Bare:
    """The application."""

    def __init__(self, address: str) -> None:
        self._base = f"http://{address}"
        self._client = OverHttptools()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        headers = {
            name.decode("latin-1"): value.decode("latin-1")
            for name, value in scope["headers"]
            if name not in _OWN
        }
        request = self._client.build_request(
            scope["method"],
            self._base + scope["path"],
            headers=headers,
            content=body,
            extensions={"timeout": {"connect": 5.0, "read": 60.0, "write": 60.0, "pool": 60.0}},
        )
        answer = await self._client.send(request, stream=True)
        given = [
            (name.encode("latin-1"), value.encode("latin-1"))
            for name, value in answer.headers.items()
            if name.encode("latin-1") not in _OWN
        ]
        await send({"type": "http.response.start", "status": answer.status_code, "headers": given})
        async for piece in answer.aiter_bytes():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        await answer.aclose()


async def main(address: str) -> None:
    """Serves at a free port, which is printed, until the process ends."""
    config = uvicorn.Config(
        Bare(address), loop="uvloop", http="httptools", log_level="error", access_log=False
    )
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    await uvicorn.Server(config).serve(sockets=[listening])


if __name__ == "__main__":
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(sys.argv[1]))
