"""Runs the emulator on a real port."""

from __future__ import annotations

import socket

import uvicorn

from innervoice.emulator.app import create_app
from innervoice.emulator.core import Emulator
from innervoice.emulator.routes import base_urls
from innervoice.local_server import FAREWELL, LocalServer, bound_socket

__all__ = ["EmulatorServer", "bound_socket", "run"]


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
