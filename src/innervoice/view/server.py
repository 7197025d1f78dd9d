"""Runs the viewer on a port of this machine."""

from __future__ import annotations

import socket

import uvicorn
from starlette.applications import Starlette

from innervoice.local_server import FAREWELL, LocalServer, bound_socket
from innervoice.view.app import create_app
from innervoice.view.guard import Settings, is_loopback, new_token
from innervoice.view.library import Library

__all__ = ["ViewServer", "bound_socket", "first_address", "guarded", "run"]

_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not bound


def guarded(settings: Settings, host: str) -> Settings:
    """The settings for a viewer at this address: with a token, and the accepted host names."""
    return settings.replace(
        token=new_token(),
        hosts=("localhost",) if is_loopback(host) else ("localhost", host, socket.gethostname()),
        only_loopback=is_loopback(host),
    )


def first_address(listening: socket.socket, settings: Settings, place: str = "") -> str:
    """The URL to open in a browser; `place` is what the page shows, after a #."""
    host, port = listening.getsockname()[:2]
    host = _ANY.get(host, host)
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/?token={settings.token}{place}"


def run(listening: socket.socket, library: Library, settings: Settings) -> None:
    """Serves until interrupted; open streams have a second to end."""
    _Server(library, settings).run(sockets=[listening])


class _Server(uvicorn.Server):
    """Ends the streams of listeners before it waits for them."""

    def __init__(self, library: Library, settings: Settings) -> None:
        self._app = create_app(library, settings)
        super().__init__(_config(self._app))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.state.live.close()
        await super().shutdown(sockets)


def _config(app: Starlette) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_level="error",
        lifespan="off",
        server_header=False,
        # Headers of the client must not set the client's address.
        proxy_headers=False,
        timeout_graceful_shutdown=FAREWELL,
    )


class ViewServer(LocalServer):
    """A viewer in a thread, on a free port of this machine, for the time of a `with` block."""

    def __init__(self, library: Library, settings: Settings | None = None) -> None:
        self.settings = guarded(settings or Settings(), "127.0.0.1")
        super().__init__(_Server(library, self.settings))
        self.first_address = first_address(self.socket, self.settings)
