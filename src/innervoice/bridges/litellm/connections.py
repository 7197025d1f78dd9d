"""The connections that all calls share, made with the first call.

Keys, addresses and headers differ from call to call and cost nothing, so each call has a client of its own over one pool of
connections. A pool that awaits belongs to its event loop: it is closed when the loop ends, by a generator that waits there
for nothing else (`asyncio.run` closes what is left of these).
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import AsyncGenerator
from importlib import import_module
from typing import Any
from weakref import WeakKeyDictionary

from innervoice.bridges.litellm.arguments import CompletionCall
from innervoice.bridges.litellm.flags import flag

__all__ = ["async_client_of", "client_of", "close_litellm_async_clients"]

_LOCK = threading.Lock()
_pool: Any = None
_pools: WeakKeyDictionary[Any, tuple[Any, AsyncGenerator[None]]] = WeakKeyDictionary()
"""By event loop."""


def client_of(call: CompletionCall) -> Any:
    """A client for one call, over the shared connections."""
    kind = import_module("innervoice.client.sync").Client
    http = call.http or flag("client_session") or _shared()
    return kind(**call.settings, http=http)


async def async_client_of(call: CompletionCall) -> Any:
    """The same for a call that awaits."""
    kind = import_module("innervoice.client.aio").AsyncClient
    http = call.http or flag("aclient_session") or await _shared_async()
    return kind(**call.settings, http=http)


async def close_litellm_async_clients() -> None:
    """Closes the connections of this event loop; the next call makes new ones."""
    known = _pools.pop(_loop(), None)
    if known:
        await known[1].aclose()


def _shared() -> Any:
    global _pool  # noqa: PLW0603 - one pool for the process
    with _LOCK:
        if _pool is None:
            _pool = import_module("httpx2").Client(limits=_limits())
            # Nobody else knows of it, so nobody else can close it when the program ends.
            atexit.register(_pool.close)
        return _pool


async def _shared_async() -> Any:
    loop = _loop()
    known = _pools.get(loop)
    if known is None:
        made = import_module("httpx2").AsyncClient(limits=_limits())
        known = _pools[loop] = (made, _keeper(made))
        await anext(known[1])
    return known[0]


async def _keeper(http: Any) -> AsyncGenerator[None]:
    """Waits for the end of its event loop, and closes the connections then."""
    try:
        yield
    finally:
        await http.aclose()


def _loop() -> Any:
    return import_module("asyncio").get_running_loop()


def _limits() -> Any:
    limits = import_module("innervoice.client.settings").LIMITS
    return import_module("httpx2").Limits(**limits)
