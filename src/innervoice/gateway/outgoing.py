"""Every connection that leaves the gateway: requests for answers, requests that are only passed on, and WebSockets.

None of them follows a redirect, which could lead a key to another host, and none reads `~/.netrc`. A proxy of the environment serves
all of them alike, and connections to this machine never go through one (`client/proxies.py`). The rest of the gateway imports no HTTP client.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from innervoice.client.auth import Outgoing
from innervoice.client.over_aiohttp import OverAiohttp
from innervoice.client.over_httptools import OverHttptools
from innervoice.client.proxies import has_proxies, proxy_of
from innervoice.gateway.limits import LIMITS

__all__ = [
    "Connections",
    "HandshakeRefusedError",
    "PassedAnswer",
    "RedirectedError",
    "Socket",
    "Waits",
    "whole",
]

_REDIRECTS = (301, 302, 303, 307, 308)


class RedirectedError(Exception):
    """The upstream answered with a redirect, which is not followed. No `OSError`: aiohttp would make another error of it."""


class HandshakeRefusedError(ConnectionError):
    """The upstream answered a WebSocket handshake with another status, in `status`."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(status)


class Waits(NamedTuple):
    """How long to wait for an upstream, in seconds."""

    connect: float
    read: float


class PassedAnswer:
    """An answer that is passed on while it arrives."""

    def __init__(self, answer: Any, errors: tuple[type[Exception], ...]) -> None:
        self._answer, self._errors = answer, errors
        self.status: int = answer.status
        self.headers: dict[str, str] = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in answer.raw_headers
        }
        """Names in lower case; a value has one character for each byte that came."""

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yields the body as it arrives; raises `ConnectionError` if it breaks off."""
        try:
            async for piece in self._answer.content.iter_any():
                yield piece
        except self._errors as error:
            raise ConnectionError(type(error).__name__) from None

    def close(self) -> None:
        """Ends the connection if the body was not read to its end."""
        self._answer.close()


async def whole(pieces: AsyncIterator[bytes], most: int) -> bytes:
    """Returns the whole of a body; raises `ConnectionError` for one of more bytes than `most`."""
    body = bytearray()
    async for piece in pieces:
        body += piece
        if len(body) > most:
            raise ConnectionError(f"the answer has more than {most} bytes")
    return bytes(body)


class Socket:
    """A WebSocket of an upstream."""

    def __init__(self, socket: Any, kinds: Any) -> None:
        self._socket, self._kinds = socket, kinds
        self.protocol: str | None = socket.protocol

    @property
    def close_code(self) -> int | None:
        """The code with which the upstream closed it; None while it is open, or if it broke."""
        code: int | None = self._socket.close_code
        return code

    async def send(self, message: str | bytes) -> None:
        """Sends a message."""
        if isinstance(message, str):
            await self._socket.send_str(message)
        else:
            await self._socket.send_bytes(message)

    async def messages(self) -> AsyncIterator[str | bytes]:
        """Yields what the upstream says until one side closes."""
        async for message in self._socket:
            if message.type not in (self._kinds.TEXT, self._kinds.BINARY):
                return
            yield message.data

    async def close(self, code: int = 1000) -> None:
        """Closes it."""
        await self._socket.close(code=code)


class Connections:
    """The connections of one process. `http` replaces the HTTP client for answers in tests."""

    def __init__(self, http: Any = None) -> None:
        # Our own client is faster, and has no proxies.
        self.http = http or (OverAiohttp() if has_proxies() else OverHttptools())
        self._session: Any = None

    async def request(self, outgoing: Outgoing, data: Any, waits: Waits) -> PassedAnswer:
        """Sends a request whose answer is passed on; raises `TimeoutError` or `OSError` if there is none.

        :param outgoing: The request.
        :param data: Its body: bytes, or pieces as they arrive.
        :param waits: How long to wait.
        """
        aiohttp = import_module("aiohttp")
        try:
            answer = await self._opened().request(
                outgoing.method,
                import_module("yarl").URL(outgoing.url, encoded=True),
                headers=outgoing.headers,
                data=data,
                allow_redirects=False,
                proxy=proxy_of(outgoing.url),
                timeout=aiohttp.ClientTimeout(
                    total=None, sock_connect=waits.connect, sock_read=waits.read
                ),
            )
        except aiohttp.ClientError as error:
            if isinstance(error, OSError):
                raise
            raise ConnectionError(type(error).__name__) from None
        return PassedAnswer(answer, (OSError, TimeoutError, aiohttp.ClientError))

    async def socket(self, outgoing: Outgoing, protocols: list[str]) -> Socket:
        """Opens a WebSocket; raises `TimeoutError` or `OSError` if the upstream does not accept it."""
        aiohttp = import_module("aiohttp")
        try:
            socket = await self._opened().ws_connect(
                import_module("yarl").URL(outgoing.url, encoded=True),
                headers=_without_framing(outgoing.headers),
                protocols=protocols,
                proxy=proxy_of(outgoing.url),
                max_msg_size=LIMITS.socket_bytes,
                timeout=aiohttp.ClientWSTimeout(ws_close=LIMITS.farewell_seconds),
            )
        except aiohttp.WSServerHandshakeError as error:
            raise HandshakeRefusedError(error.status) from None
        except aiohttp.ClientError as error:
            if isinstance(error, OSError):
                raise
            raise ConnectionError(type(error).__name__) from None
        return Socket(socket, aiohttp.WSMsgType)

    async def close(self) -> None:
        """Closes all of them."""
        await self.http.aclose()
        if self._session is not None:
            await self._session.close()

    def _opened(self) -> Any:
        """The session for what is passed on; it belongs to the event loop in which it is first used."""
        if self._session is None:
            aiohttp = import_module("aiohttp")
            self._session = aiohttp.ClientSession(
                auto_decompress=False,  # what the provider compressed stays so
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("Accept-Encoding", "User-Agent", "Content-Type"),
                middlewares=(_unredirected,),
            )
        return self._session


async def _unredirected(request: Any, send: Any) -> Any:
    """Ends a request at a redirect: `ws_connect` follows it, with the headers of the first request."""
    answer = await send(request)
    if answer.status in _REDIRECTS:
        answer.close()
        raise RedirectedError
    return answer


def _without_framing(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers without those that belong to HTTP bodies."""
    return {name: value for name, value in headers.items() if not name.startswith("content-")}
