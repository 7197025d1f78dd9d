"""Running the viewer behind a port of this machine."""

from __future__ import annotations

import socket
import threading
import time
from types import TracebackType
from typing import Self

import uvicorn
from starlette.applications import Starlette

from innervoice.view.app import create_app
from innervoice.view.guard import is_loopback, new_token
from innervoice.view.settings import Settings
from innervoice.view.shelf import Shelf

__all__ = ["ViewServer", "bound_socket", "first_address", "guarded", "run"]

_START_TIMEOUT = 10.0
_FAREWELL = 1
"""Seconds that open streams have to end when the server stops."""
_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not bound


def bound_socket(host: str, port: int) -> socket.socket:
    """A socket that listens at an address; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind((host, port))
    return listening


def guarded(settings: Settings, host: str) -> Settings:
    """The settings for a viewer at this address: with a token, and the names by which it may be called."""
    return settings.replace(
        token=new_token(),
        hosts=("localhost",) if is_loopback(host) else ("localhost", host, socket.gethostname()),
        only_loopback=is_loopback(host),
    )


def first_address(listening: socket.socket, settings: Settings) -> str:
    """What a browser is opened with."""
    host, port = listening.getsockname()[:2]
    host = _ANY.get(host, host)
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/?token={settings.token}"


def run(listening: socket.socket, shelf: Shelf, settings: Settings) -> None:
    """Serves until interrupted; open streams have a second to end."""
    _Server(shelf, settings).run(sockets=[listening])


class _Server(uvicorn.Server):
    """Ends the streams of listeners before it waits for them."""

    def __init__(self, shelf: Shelf, settings: Settings) -> None:
        self._app = create_app(shelf, settings)
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
        # A header of whoever asks must not say from where it was asked.
        proxy_headers=False,
        timeout_graceful_shutdown=_FAREWELL,
    )


class ViewServer:
    """A viewer in a thread, on a free port of this machine, for the time of a `with` block."""

    def __init__(self, shelf: Shelf, settings: Settings | None = None) -> None:
        self.settings = guarded(settings or Settings(), "127.0.0.1")
        self._socket = bound_socket("127.0.0.1", 0)
        self.first_address = first_address(self._socket, self.settings)
        self.url = self.first_address.partition("/?")[0]
        self._server = _Server(shelf, self.settings)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        deadline = time.monotonic() + _START_TIMEOUT
        while not self._server.started:
            if time.monotonic() > deadline or not self._thread.is_alive():
                raise RuntimeError("the viewer did not start")
            time.sleep(0.01)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.should_exit = True
        self._thread.join(_START_TIMEOUT)
        self._socket.close()
