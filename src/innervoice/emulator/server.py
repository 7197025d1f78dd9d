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

__all__ = ["EmulatorServer", "run"]

_PATIENCE = 10.0


def run(host: str, port: int) -> None:
    """Serves until interrupted."""
    uvicorn.run(create_app(), host=host, port=port, log_level="warning")


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
        deadline = time.monotonic() + _PATIENCE
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
        self._thread.join(_PATIENCE)
        self._socket.close()
