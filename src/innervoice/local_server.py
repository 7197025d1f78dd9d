"""A server on this machine: its socket, and an application served in a thread for the time of a `with` block."""

from __future__ import annotations

import os
import socket
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    import uvicorn

__all__ = ["FAREWELL", "LocalServer", "bound_socket"]

FAREWELL = 1
"""Seconds that open streams have to end when a server stops."""
_START_SECONDS = 10.0


def bound_socket(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """A socket at an address; port 0 chooses a free one. A shared socket allows further ones of this user at the same port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family)
    try:
        if os.name == "posix":  # elsewhere it would let two servers have one port
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        bound.bind((host, port))
    except OSError:
        bound.close()
        raise
    return bound


class LocalServer:
    """Serves in a thread, on a free port of this machine, for the time of a `with` block."""

    def __init__(self, server: uvicorn.Server) -> None:
        self.socket = bound_socket("127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self._server = server
        self._thread = threading.Thread(
            target=server.run, kwargs={"sockets": [self.socket]}, daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        deadline = time.monotonic() + _START_SECONDS
        while not self._server.started:
            if time.monotonic() > deadline or not self._thread.is_alive():
                raise RuntimeError(f"{type(self).__name__} did not start")
            time.sleep(0.01)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.should_exit = True
        self._thread.join(_START_SECONDS)
        self.socket.close()
