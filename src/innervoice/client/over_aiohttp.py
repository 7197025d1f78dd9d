"""aiohttp as the HTTP client of an `AsyncClient`: `AsyncClient(http=OverAiohttp())`, on asyncio, with `innervoice[aiohttp]`.

Its parser is written in C and returns all available bytes at once, where httpx2 returns one chunk after another. That pays off
where one process reads many streams at the same time; docs/performance.md has the numbers. Proxies: `proxies.py`.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Mapping
from importlib import import_module
from types import TracebackType
from typing import Any, NamedTuple, Self

from innervoice.client.proxies import proxy_of
from innervoice.client.settings import LIMITS
from innervoice.errors import UsageError
from innervoice.installing import install_command

__all__ = ["OverAiohttp"]


class _AiohttpRequest(NamedTuple):
    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes
    timeouts: Mapping[str, float | None]

    def __repr__(self) -> str:
        # Headers contain keys, and named tuples print all members.
        return f"_AiohttpRequest({self.method} {self.url})"


class ConnectTimeout(TimeoutError):  # noqa: N818 - errors are recognised by the name that httpx uses
    """The connection was not established in time."""


class OverAiohttp:
    """Sends requests with aiohttp. `session` is a `ClientSession` to use, which is not closed here; by default one is created."""

    limits_silence = True
    """Whether the HTTP client itself limits the wait for the next bytes, so that `AsyncClient` need not."""

    def __init__(self, session: Any = None) -> None:
        try:
            self._aiohttp = import_module("aiohttp")
        except ImportError:
            raise UsageError(f"aiohttp is not installed: {install_command('aiohttp')}") from None
        self.errors = (OSError, self._aiohttp.ClientError)
        self._session = session
        self._own = session is None

    def build_request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        content: bytes,
        extensions: Mapping[str, Any],
    ) -> Any:
        """A request for `send`."""
        return _AiohttpRequest(method, url, headers, content, extensions.get("timeout", {}))

    async def send(self, request: Any, *, stream: bool = True) -> Any:  # noqa: ARG002 - httpx's signature
        """Sends a request; its response is always streamed, whatever `stream` says."""
        aiohttp, limits = self._aiohttp, request.timeouts
        if self._session is None:
            # A session belongs to the event loop in which it is created.
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=LIMITS["max_connections"])
            )
        try:
            answer = await self._session.request(
                request.method,
                # Not quoted again: the signature covers the URL as it is.
                import_module("yarl").URL(request.url, encoded=True),
                headers=request.headers,
                data=request.content,
                allow_redirects=False,
                proxy=proxy_of(request.url),
                timeout=aiohttp.ClientTimeout(
                    total=None,
                    connect=limits.get("pool"),
                    sock_connect=limits.get("connect"),
                    sock_read=limits.get("read"),
                ),
            )
        except aiohttp.ConnectionTimeoutError as error:
            raise ConnectTimeout(str(error)) from error
        return _AiohttpResponse(answer)

    async def aclose(self) -> None:
        """Closes the connections; a session that was passed in stays open."""
        if self._own and self._session is not None:
            await self._session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


class _AiohttpResponse:
    """A response with those members of httpx's `Response` that are read."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer
        self.status_code: int = answer.status
        self.headers: Mapping[str, str] = answer.headers
        self.stream: AsyncIterable[bytes] = answer.content.iter_any()
        """The decompressed bytes as they arrive, all that are available at once."""
        self.is_stream_consumed = False

    def aiter_bytes(self) -> AsyncIterator[bytes]:
        """The same bytes: aiohttp has decompressed them."""
        return aiter(self.stream)

    async def aclose(self) -> None:
        """Returns the connection to the pool, or closes it if the body was not read to the end."""
        self._answer.release()
