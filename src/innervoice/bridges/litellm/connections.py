"""The connection pools that all calls share; the first call creates them.

Keys, base URLs and headers differ from call to call, so each call has its own client (which is cheap) over a shared pool. An
async pool belongs to its event loop and is closed when the loop ends: an async generator is left suspended in the loop, and
`asyncio.run` closes such generators at the end.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import AsyncGenerator
from importlib import import_module
from inspect import iscoroutinefunction
from typing import Any
from weakref import WeakKeyDictionary

from innervoice.bridges.litellm.arguments import CompletionCall
from innervoice.bridges.litellm.flags import flag
from innervoice.bridges.litellm.providers import resolve_model
from innervoice.bridges.litellm.unsupported import sentence
from innervoice.catalog.lookup import host_of
from innervoice.errors import InnervoiceError

__all__ = [
    "async_client_of",
    "client_of",
    "close_litellm_async_clients",
    "get_secret",
    "get_secret_bool",
    "get_secret_str",
    "load_credentials_from_list",
    "validate_environment",
]

_LOCK = threading.Lock()
_pool: Any = None
_pools: WeakKeyDictionary[Any, tuple[Any, AsyncGenerator[None]]] = WeakKeyDictionary()
"""Async pools by event loop."""


def client_of(call: CompletionCall) -> Any:
    """A client for one call, over the shared connection pool. litellm asks for no reasoning that its caller does not mention."""
    kind = import_module("innervoice.client.sync").Client
    http = call.http or flag("client_session") or _shared()
    return kind(**call.settings, show=None, http=_listening(http, call))


async def async_client_of(call: CompletionCall) -> Any:
    """The same for an async call."""
    kind = import_module("innervoice.client.aio").AsyncClient
    http = call.http or flag("aclient_session") or await _shared_async()
    return kind(**call.settings, show=None, http=_listening(http, call))


async def close_litellm_async_clients() -> None:
    """Closes the connections of this event loop; the next call opens new ones."""
    pool = _pools.pop(_loop(), None)
    if pool:
        await pool[1].aclose()


class _Listening:
    """An HTTP client that keeps the headers of its last response."""

    def __init__(self, http: Any, received: dict[str, str]) -> None:
        self._http = http
        self._received = received
        self.errors = import_module("innervoice.client.error_mapping").errors_of(http)
        self.build_request = http.build_request

    def send(self, request: Any, **options: Any) -> Any:
        """Sends a request."""
        return self._with_headers_noted(self._http.send(request, **options))

    def _with_headers_noted(self, answer: Any) -> Any:
        self._received.clear()
        self._received.update(answer.headers)
        return answer


class _ListeningAsync(_Listening):
    """The same for an async client."""

    async def send(self, request: Any, **options: Any) -> Any:
        """Sends a request."""
        return self._with_headers_noted(await self._http.send(request, **options))


def _listening(http: Any, call: CompletionCall) -> Any:
    is_async = iscoroutinefunction(http.send)
    return (_ListeningAsync if is_async else _Listening)(http, call.received)


def _shared() -> Any:
    global _pool  # noqa: PLW0603 - one pool for the process
    with _LOCK:
        if _pool is None:
            _pool = import_module("httpx2").Client(limits=_limits())
            # No caller holds the pool, so nothing else can close it when the program ends.
            atexit.register(_pool.close)
        return _pool


async def _shared_async() -> Any:
    loop = _loop()
    pool = _pools.get(loop)
    if pool is None:
        new_client = import_module("httpx2").AsyncClient(limits=_limits())
        pool = _pools[loop] = (new_client, _keeper(new_client))
        await anext(pool[1])
    return pool[0]


async def _keeper(http: Any) -> AsyncGenerator[None]:
    """Stays suspended until the event loop ends, then closes the connections."""
    try:
        yield
    finally:
        await http.aclose()


def _loop() -> Any:
    return import_module("asyncio").get_running_loop()


def _limits() -> Any:
    limits = import_module("innervoice.client.settings").LIMITS
    return import_module("httpx2").Limits(**limits)


# ---- The environment variables that a call needs: `validate_environment`, and litellm's functions that read one.


_WORDS = {"true": True, "false": False}


def validate_environment(
    model: str | None = None,
    api_key: str | None = None,
    api_base: str | None = None,
    api_version: str | None = None,  # noqa: ARG001 - litellm's signature
) -> dict[str, Any]:
    """`keys_in_environment`, and the variables that are missing; a provider that accepts several names misses the first.

    A model without a recognizable provider has no known variables, and counts as complete, as in litellm.
    """
    try:
        target = resolve_model(model or "", None, api_base)
    except InnervoiceError:
        return {"keys_in_environment": True, "missing_keys": []}
    host = host_of(target.host) if target.host else None
    names = host.keys if host else ()
    there = bool(api_key) or not names or any(os.environ.get(name) for name in names)
    return {"keys_in_environment": there, "missing_keys": [] if there else list(names[:1])}


def get_secret(secret_name: str, default_value: Any = None) -> Any:
    """An environment variable; litellm's secret managers are not available."""
    return os.environ.get(secret_name.removeprefix("os.environ/"), default_value)


def get_secret_str(secret_name: str, default_value: Any = None) -> str | None:
    """The same, if it is a text."""
    value = get_secret(secret_name, default_value)
    return value if isinstance(value, str) else None


def get_secret_bool(secret_name: str, default_value: bool | None = None) -> bool | None:
    """The same as a boolean; the default for any other text."""
    value = get_secret(secret_name)
    return default_value if value is None else _WORDS.get(value.lower(), default_value)


def load_credentials_from_list(kwargs: dict[str, Any]) -> None:
    """Does nothing without a `litellm_credential_name`; only litellm's proxy has such credentials."""
    if kwargs.get("litellm_credential_name"):
        raise NotImplementedError(sentence("litellm.proxy.credential_list"))
