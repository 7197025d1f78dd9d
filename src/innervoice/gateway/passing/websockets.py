"""WebSockets of a provider's API, such as `/v1/realtime`: messages are passed on in both directions as they are.

The connection to the provider is made first, so that a refusal has its own status. What the gateway serves over HTTP alone is refused with 426 (`endpoints.py`); the
Responses API over a WebSocket is in `response_sockets.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple

from innervoice.canon.jsontext import load_json
from innervoice.canon.usage import Usage
from innervoice.client.auth import Outgoing
from innervoice.gateway.errors import refused
from innervoice.gateway.incoming import Incoming, Receive, Scope, Send
from innervoice.gateway.outgoing import HandshakeRefusedError, RedirectedError, Socket
from innervoice.gateway.owned_ids import OwnedPath
from innervoice.gateway.passing.counts import usage_in
from innervoice.gateway.passing.named_models import ModelCheck
from innervoice.gateway.passing.other_paths import OtherPath
from innervoice.wire.json_access import as_dict
from innervoice.wire.refusals import Refusal, Refused

if TYPE_CHECKING:
    from innervoice.gateway.gateway import Admitted, Gateway
    from innervoice.gateway.report import Report

__all__ = ["Checks", "deny", "incoming_of", "protocols_of", "relay"]

_HEADERS = {
    "openai-insecure-api-key.": "authorization",
    "openai-organization.": "openai-organization",
    "openai-project.": "openai-project",
}
"""Browsers cannot set headers for a WebSocket; OpenAI's clients put the key, and whose it is, among the protocols that they offer."""
_NORMAL, _GONE, _REFUSED = 1000, 1011, 1008
_MOST_REASON = 123
"""Bytes of the reason in a close frame (RFC 6455, 5.5)."""
_PRIVATE_CODES = (1005, 1006, 1015)
"""Codes that a program may read but never send."""


def incoming_of(scope: Scope, receive: Receive, send: Send) -> Incoming:
    """The request of a WebSocket, with a key that stands among its protocols in a header, and the account beside it."""
    incoming = Incoming({**scope, "method": "GET"}, receive, send)
    for word in scope.get("subprotocols", ()):
        for start, header in _HEADERS.items():
            if word.startswith(start):
                value = word.removeprefix(start)
                value = f"Bearer {value}" if header == "authorization" else value
                incoming.headers.setdefault(header, value)
    return incoming


def protocols_of(scope: Scope) -> list[str]:
    """The protocols that a client offers, without those that are headers."""
    return [word for word in scope.get("subprotocols", ()) if not word.startswith((*_HEADERS,))]


async def deny(send: Send, dialect: str, refusal: Refusal) -> None:
    """Refuses a WebSocket with an HTTP status and a body."""
    status, headers, body = refused(dialect, refusal)
    pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "websocket.http.response.start", "status": status, "headers": pairs})
    await send({"type": "websocket.http.response.body", "body": body})


class Checks:
    """What holds for a connection as long as it is open."""

    def __init__(
        self,
        admit: Callable[[], Awaitable[object]],
        book: Callable[[], Awaitable[Refusal | None]],
    ) -> None:
        """`admit` raises `Refused` if the caller's key is no longer valid. `book` counts what was used, and returns the limit that was reached."""
        self._admit, self._book = admit, book
        self._refusal: Refusal | None = None

    async def before(self) -> None:
        """Raises `Refused` if nothing more may be sent."""
        await self._admit()
        if self._refusal is not None:
            # It may have been a while ago.
            self._refusal = await self._book()
        if self._refusal is not None:
            raise Refused(self._refusal)

    async def used(self) -> None:
        """Counts what was used so far."""
        self._refusal = await self._book()


async def relay(
    incoming: Incoming,
    protocols: list[str],
    gateway: Gateway,
    place: OtherPath,
    admitted: Admitted,
    report: Report,
    checks: Checks,
) -> None:
    """Connects a client with its provider until one of them closes; raises `Refused` if the provider does not accept."""
    others = gateway.other_paths
    check = others.model_check(incoming, place, admitted)
    others.must_name(incoming, place, check)
    model = next(iter(check.named), None)
    candidate = others.candidate(place, admitted, model, report)
    report.is_shared = admitted.has_key and gateway.routes.has_own_key(place.upstream)
    ids = OwnedPath(gateway.owned_ids, report, place.segments, incoming.query)
    await ids.check_address()
    outgoing = await others.outgoing(incoming, place, candidate, None)
    upstream = await _opened(gateway, outgoing, protocols, report)
    report.status = 101
    try:
        await _connected(incoming)
        await incoming.send({"type": "websocket.accept", "subprotocol": upstream.protocol})
        await _both_ways(incoming, upstream, _Passed(check, ids, checks, report))
    finally:
        await upstream.close()


async def _opened(
    gateway: Gateway, outgoing: Outgoing, protocols: list[str], report: Report
) -> Socket:
    """The WebSocket of the provider; raises `Refused` if it does not accept."""
    try:
        return await gateway.connections.socket(outgoing, protocols)
    except HandshakeRefusedError as error:
        status = error.status if 400 <= error.status < 600 else 502
        text = f"{report.provider} refused the WebSocket with status {error.status}"
        raise Refused(Refusal(text=text, status=status)) from None
    except RedirectedError:
        text = f"{report.provider} answered with a redirect, which is not followed"
        raise Refused(Refusal(text=text, status=502)) from None
    except (OSError, TimeoutError):
        text = f"{report.provider}: connection failed"
        raise Refused(Refusal(text=text, status=502)) from None


async def _connected(incoming: Incoming) -> None:
    message = await incoming.receive()
    if message["type"] != "websocket.connect":
        raise Refused(Refusal(text="the client disconnected", status=499))


class _Passed(NamedTuple):
    """What is looked at in the messages of a connection."""

    check: ModelCheck
    ids: OwnedPath
    checks: Checks
    report: Report


async def _both_ways(incoming: Incoming, upstream: Socket, passed: _Passed) -> None:
    """Passes messages on until one side closes, and tells the other."""
    tasks = [
        asyncio.create_task(_to_upstream(incoming, upstream, passed)),
        asyncio.create_task(_to_client(incoming, upstream, passed)),
    ]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _to_upstream(incoming: Incoming, upstream: Socket, passed: _Passed) -> None:
    while True:
        message = await incoming.receive()
        if message["type"] == "websocket.disconnect":
            await upstream.close(_sendable(message.get("code")))
            return
        text = message.get("text")
        data: str | bytes = text if text is not None else message.get("bytes") or b""
        try:
            await passed.checks.before()
            passed.check.message(data)
            await passed.ids.check_message(data)
        except Refused as error:
            reason = error.refusal.text.encode()[:_MOST_REASON].decode(errors="ignore")
            await incoming.send({"type": "websocket.close", "code": _REFUSED, "reason": reason})
            return
        await upstream.send(data)


async def _to_client(incoming: Incoming, upstream: Socket, passed: _Passed) -> None:
    report = passed.report
    async for data in upstream.messages():
        # Google writes JSON in binary messages.
        text = data if isinstance(data, str) else data.decode(errors="replace") if data[:1] == b"{" else ""  # fmt: skip
        if text:
            before, report.usage = report.usage, _with_counts(report.usage, text)
            if report.usage != before:
                await passed.checks.used()
            await passed.ids.learn_message(text)
        if isinstance(data, str):
            await incoming.send({"type": "websocket.send", "text": data})
        else:
            await incoming.send({"type": "websocket.send", "bytes": data})
    code = _GONE if upstream.close_code is None else _sendable(upstream.close_code)
    await incoming.send({"type": "websocket.close", "code": code})


def _with_counts(usage: Usage, message: str) -> Usage:
    """The token counts of a connection, with those of one more message: each answer has its own."""
    if "sage" not in message:
        return usage
    try:
        more = usage_in(as_dict(load_json(message)), Usage())
    except ValueError:
        return usage
    return Usage(
        input_tokens=(usage.input_tokens or 0) + (more.input_tokens or 0),
        output_tokens=(usage.output_tokens or 0) + (more.output_tokens or 0),
    )


def _sendable(code: int | None) -> int:
    return _NORMAL if code is None or code in _PRIVATE_CODES else code
