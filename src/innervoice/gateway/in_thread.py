"""A gateway in a thread of this process, for the time of a `with` block: for demonstrations and tests."""

from __future__ import annotations

from typing import Any

import uvicorn

from innervoice.local_server import LocalServer

__all__ = ["GatewayInThread"]


class GatewayInThread(LocalServer):
    """Serves an application on a free port of this machine."""

    def __init__(self, app: Any) -> None:
        config = uvicorn.Config(app, log_level="error", lifespan="on", ws="websockets-sansio")
        super().__init__(uvicorn.Server(config))
