"""The connections of our own HTTP clients: every read and write ends when the time of its call is up.

httpx gives each read the same limit, however much time has passed. A server that sends one byte now and then, or one `100 Continue`
after another, could keep a call waiting forever, and a thread that waits for bytes cannot be cancelled. Here each operation
asks the deadline of its call, which comes with the limit (`Limit`), how much time is left.
"""
# ruff: noqa: SLF001 - httpx has no argument for a backend
# ruff: noqa: ASYNC109 - the signatures are those of httpcore

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpcore2
import httpx2

from innervoice.client.deadline import Limit
from innervoice.client.settings import LIMITS

__all__ = ["async_http", "sync_http"]

_WRITTEN = 65536
"""How many bytes are written under one limit, which httpx renews whenever the server takes some of them."""


def sync_http() -> httpx2.Client:
    """A synchronous HTTP client whose calls end in time."""
    http = httpx2.Client(limits=httpx2.Limits(**LIMITS))
    for pool in _pools(http):
        pool._network_backend = _Backend(pool._network_backend)
    return http


def async_http() -> httpx2.AsyncClient:
    """An asynchronous HTTP client whose calls end in time."""
    http = httpx2.AsyncClient(limits=httpx2.Limits(**LIMITS))
    for pool in _pools(http):
        pool._network_backend = _AsyncBackend(pool._network_backend)
    return http


def _pools(http: Any) -> Iterator[Any]:
    """The connection pools of an HTTP client: its own, and one for each proxy.

    A pool takes a backend as an argument, but httpx has no argument to pass it on. If a later version keeps its pools
    elsewhere, calls still work, and each read has the limit of httpx.
    """
    for transport in (http._transport, *http._mounts.values()):
        pool = getattr(transport, "_pool", None)
        if hasattr(pool, "_network_backend"):
            yield pool


def _remaining(timeout: float | None, error: type[Exception]) -> float | None:
    """How long an operation may take; raises the error if the time is up."""
    if not isinstance(timeout, Limit):
        return timeout
    seconds = timeout.deadline.remaining()
    if seconds <= 0:
        raise error("timed out")
    return min(timeout, seconds)


class _Backend(httpcore2.NetworkBackend):
    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Any = None,
    ) -> httpcore2.NetworkStream:
        seconds = _remaining(timeout, httpcore2.ConnectTimeout)
        return _Stream(
            self._backend.connect_tcp(host, port, seconds, local_address, socket_options)
        )

    def sleep(self, seconds: float) -> None:
        self._backend.sleep(seconds)


class _Stream(httpcore2.NetworkStream):
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data: bytes = self._stream.read(max_bytes, _remaining(timeout, httpcore2.ReadTimeout))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _WRITTEN):
            seconds = _remaining(timeout, httpcore2.WriteTimeout)
            self._stream.write(buffer[start : start + _WRITTEN], seconds)

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        seconds = _remaining(timeout, httpcore2.ConnectTimeout)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, seconds))

    def close(self) -> None:
        self._stream.close()

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _AsyncBackend(httpcore2.AsyncNetworkBackend):
    def __init__(self, backend: Any) -> None:
        self._backend = backend

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Any = None,
    ) -> httpcore2.AsyncNetworkStream:
        seconds = _remaining(timeout, httpcore2.ConnectTimeout)
        return _AsyncStream(
            await self._backend.connect_tcp(host, port, seconds, local_address, socket_options)
        )

    async def sleep(self, seconds: float) -> None:
        await self._backend.sleep(seconds)


class _AsyncStream(httpcore2.AsyncNetworkStream):
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data: bytes = await self._stream.read(max_bytes, _remaining(timeout, httpcore2.ReadTimeout))
        return data

    async def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        seconds = _remaining(timeout, httpcore2.ConnectTimeout)
        return _AsyncStream(await self._stream.start_tls(ssl_context, server_hostname, seconds))

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._stream.write(buffer, _remaining(timeout, httpcore2.WriteTimeout))

    async def aclose(self) -> None:
        await self._stream.aclose()

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
