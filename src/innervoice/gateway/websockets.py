"""WebSockets of a provider's API, such as `/v1/realtime`: messages are passed on in both directions as they are.

The connection to the provider is made first, so that a refusal has its own status. What the gateway serves over HTTP alone is refused with 426 (`endpoints.py`); the
Responses API over a WebSocket is in `response_sockets.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from innervoice.gateway.errors import refused
from innervoice.gateway.incoming import Incoming, Receive, Scope, Send
from innervoice.gateway.limits import LIMITS
from innervoice.wire.refusals import Refusal, Refused

if TYPE_CHECKING:
    from innervoice.gateway.gateway import Admitted
    from innervoice.gateway.other_paths import OtherPath, OtherPaths
    from innervoice.gateway.report import Report

__all__ = ["deny", "incoming_of", "protocols_of", "relay"]

_KEY_START = "openai-insecure-api-key."
"""Browsers cannot set headers for a WebSocket; OpenAI's clients put the key among the protocols that they offer."""
_NORMAL, _GONE = 1000, 1011
_PRIVATE_CODES = (1005, 1006, 1015)
"""Codes that a program may read but never send."""


def incoming_of(scope: Scope, receive: Receive, send: Send) -> Incoming:
    """The request of a WebSocket, with a key that stands among its protocols in a header."""
    incoming = Incoming({**scope, "method": "GET"}, receive, send)
    key = next((word for word in scope.get("subprotocols", ()) if word.startswith(_KEY_START)), "")
    if key and "authorization" not in incoming.headers:
        incoming.headers["authorization"] = f"Bearer {key.removeprefix(_KEY_START)}"
    return incoming


def protocols_of(scope: Scope) -> list[str]:
    """The protocols that a client offers, without its key."""
    return [word for word in scope.get("subprotocols", ()) if not word.startswith(_KEY_START)]


async def deny(send: Send, dialect: str, refusal: Refusal) -> None:
    """Refuses a WebSocket with an HTTP status and a body."""
    status, headers, body = refused(dialect, refusal)
    pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "websocket.http.response.start", "status": status, "headers": pairs})
    await send({"type": "websocket.http.response.body", "body": body})


async def relay(
    incoming: Incoming,
    protocols: list[str],
    others: OtherPaths,
    place: OtherPath,
    admitted: Admitted,
    report: Report,
) -> None:
    """Connects a client with its provider until one of them closes; raises `Refused` if the provider does not accept."""
    candidate = others.candidate(place, admitted, None)
    report.provider, report.account = candidate.target.provider or "", candidate.account.name
    report.attempts = 1
    outgoing = await others.outgoing(incoming, place, candidate, None)
    aiohttp = import_module("aiohttp")
    try:
        upstream = await others.session().ws_connect(
            import_module("yarl").URL(outgoing.url, encoded=True),
            headers=_without_framing(outgoing.headers),
            protocols=protocols,
            max_msg_size=LIMITS.socket_bytes,
            timeout=aiohttp.ClientWSTimeout(ws_close=LIMITS.farewell_seconds),
        )
    except aiohttp.WSServerHandshakeError as error:
        status = error.status if 400 <= error.status < 600 else 502
        text = f"{report.provider} refused the WebSocket with status {error.status}"
        raise Refused(Refusal(text=text, status=status)) from None
    except (OSError, aiohttp.ClientError, TimeoutError):
        text = f"{report.provider}: connection failed"
        raise Refused(Refusal(text=text, status=502)) from None
    report.status = 101
    try:
        await _connected(incoming)
        await incoming.send({"type": "websocket.accept", "subprotocol": upstream.protocol})
        await _both_ways(incoming, upstream)
    finally:
        await upstream.close()


async def _connected(incoming: Incoming) -> None:
    message = await incoming.receive()
    if message["type"] != "websocket.connect":
        raise Refused(Refusal(text="the client disconnected", status=499))


async def _both_ways(incoming: Incoming, upstream: Any) -> None:
    """Passes messages on until one side closes, and tells the other."""
    tasks = [
        asyncio.create_task(_to_upstream(incoming, upstream)),
        asyncio.create_task(_to_client(incoming, upstream)),
    ]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _to_upstream(incoming: Incoming, upstream: Any) -> None:
    while True:
        message = await incoming.receive()
        if message["type"] == "websocket.disconnect":
            await upstream.close(code=_sendable(message.get("code")))
            return
        if message.get("text") is not None:
            await upstream.send_str(message["text"])
        else:
            await upstream.send_bytes(message.get("bytes") or b"")


async def _to_client(incoming: Incoming, upstream: Any) -> None:
    kinds = import_module("aiohttp").WSMsgType
    async for message in upstream:
        if message.type == kinds.TEXT:
            await incoming.send({"type": "websocket.send", "text": message.data})
        elif message.type == kinds.BINARY:
            await incoming.send({"type": "websocket.send", "bytes": message.data})
        else:
            break
    code = _GONE if upstream.close_code is None else _sendable(upstream.close_code)
    await incoming.send({"type": "websocket.close", "code": code})


def _sendable(code: int | None) -> int:
    return _NORMAL if code is None or code in _PRIVATE_CODES else code


def _without_framing(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers without those that belong to HTTP bodies."""
    return {name: value for name, value in headers.items() if not name.startswith("content-")}
