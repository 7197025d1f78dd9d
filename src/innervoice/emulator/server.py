"""Running the emulator behind a real port."""

from __future__ import annotations

import socket
import threading
import time
from types import TracebackType
from typing import Self

import uvicorn

from innervoice.emulator.app import create_app
from innervoice.emulator.core import Emulator
from innervoice.emulator.routes import base_urls

__all__ = ["EmulatorServer", "bound_socket", "run"]

_START_TIMEOUT = 10.0
_FAREWELL = 1
"""Seconds that open streams have to end when the server stops."""


def bound_socket(host: str, port: int) -> socket.socket:
    """A socket that listens at an address; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind((host, port))
    return listening


def run(listening: socket.socket, emulator: Emulator | None = None) -> None:
    """Serves until interrupted; open streams have a second to end."""
    config = uvicorn.Config(
        create_app(emulator), log_level="warning", timeout_graceful_shutdown=_FAREWELL
    )
    uvicorn.Server(config).run(sockets=[listening])


class EmulatorServer:
    """An emulator in a thread, on a free port of this machine, for the time of a `with` block."""

    def __init__(self, emulator: Emulator | None = None) -> None:
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        config = uvicorn.Config(create_app(emulator), log_level="error", lifespan="off")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def base_url(self, provider: str) -> str:
        """The base URL of a provider."""
        return base_urls(self.url)[provider]

    def _run(self) -> None:
        self._server.run(sockets=[self._socket])

    def __enter__(self) -> Self:
        self._thread.start()
        deadline = time.monotonic() + _START_TIMEOUT
        while not self._server.started:
            if time.monotonic() > deadline or not self._thread.is_alive():
                raise RuntimeError("the emulator did not start")
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
