"""aiohttp as the road of an `AsyncClient`: `AsyncClient(http=OverAiohttp())`, on asyncio, with `innervoice[aiohttp]`.

Its parser is written in C and hands over all bytes that are there, where httpx2 hands over one chunk after another. That is worth
it where one process reads many streams at a time; docs/performance.md has the numbers.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Mapping
from importlib import import_module
from types import TracebackType
from typing import Any, NamedTuple, Self

from innervoice.client.settings import LIMITS
from innervoice.errors import UsageError

__all__ = ["OverAiohttp"]


class _AiohttpRequest(NamedTuple):
    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes
    timeouts: Mapping[str, float | None]

    def __repr__(self) -> str:
        # Headers hold keys, and named tuples print themselves.
        return f"_AiohttpRequest({self.method} {self.url})"


class ConnectTimeout(TimeoutError):  # noqa: N818 - so httpx calls it, and by that name it is told
    """Nobody took the connection in time."""


class OverAiohttp:
    """Sends with aiohttp. `session` is a `ClientSession` to use, which is not closed here; without it one is made."""

    limits_silence = True
    """Whether it ends a wait for the next bytes by itself, so that nobody else need set a limit on each."""

    def __init__(self, session: Any = None) -> None:
        try:
            self._aiohttp = import_module("aiohttp")
        except ImportError:
            raise UsageError("sending with aiohttp needs it: install innervoice[aiohttp]") from None
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
        """A request, as `send` takes it."""
        return _AiohttpRequest(method, url, headers, content, extensions.get("timeout", {}))

    async def send(self, request: Any, *, stream: bool = True) -> Any:  # noqa: ARG002 - as httpx has it
        """Sends a request; its answer is read by pieces, whatever `stream` says."""
        aiohttp, limits = self._aiohttp, request.timeouts
        if self._session is None:
            # A session belongs to the event loop that runs when it is made.
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=LIMITS["max_connections"]), trust_env=True
            )
        try:
            answer = await self._session.request(
                request.method,
                # As it is: what was quoted was also signed.
                import_module("yarl").URL(request.url, encoded=True),
                headers=request.headers,
                data=request.content,
                allow_redirects=False,
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
    """An answer with the members of httpx's that are looked at."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer
        self.status_code: int = answer.status
        self.headers: Mapping[str, str] = answer.headers
        self.stream: AsyncIterable[bytes] = answer.content.iter_any()
        """The bytes as they come, as many as there are, and unpacked."""
        self.is_stream_consumed = False

    def aiter_bytes(self) -> AsyncIterator[bytes]:
        """The same, whatever the headers say of how it was packed."""
        return aiter(self.stream)

    async def aclose(self) -> None:
        """Gives the connection back, or closes it if the answer was not read to its end."""
        self._answer.release()
