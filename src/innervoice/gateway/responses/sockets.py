"""The Responses API over a WebSocket: events of the client in, the events of its answers out, one in each message.

    response.create    an answer, as POST /v1/responses gives it as a stream; with `generate: false` none, but an id to go on from
    response.steer     words of the user for an answer that is being written

Every answer takes the way of an HTTP request, so that keys, quotas, routes, the store and the log are the same. What belongs to the connection
is here: its lanes (answers of one `stream_id` come one after the other, those of several at once), responses that are not stored and that later
ones go on from, and words that wait.

An upstream is not asked over a WebSocket, so nothing can be added to an answer that it writes. A steer waits until that answer ends, and is
answered by a successor with the same settings; the client is told so with `response.steer.pending`. If the answer ends with tool calls, the words
go in front of the client's results.

Source: the types of openai 3.49.0 and threads of proxies (read 2026-11-16).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from secrets import token_hex
from time import time
from typing import Any, NamedTuple

from innervoice.canon.bounded import Bounded
from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.response import Response
from innervoice.frames.frame import Frame
from innervoice.frames.sse import ServerSentEvents
from innervoice.gateway.endpoints import Endpoint
from innervoice.gateway.errors import refused
from innervoice.gateway.incoming import Incoming, Scope
from innervoice.gateway.limits import LIMITS
from innervoice.wire.json_access import as_dict, as_list, as_text
from innervoice.wire.refusals import Refused
from innervoice.wire.responses.body import echo_of, response_body, unfinished
from innervoice.wire.responses.compactions import items_in
from innervoice.wire.serve import without

__all__ = ["ResponseSocket"]

_CREATE, _STEER = "response.create", "response.steer"
_OF_SOCKETS = ("type", "stream_id", "generate", "background")
"""Members of a message that the body of a request does not have; answers in the background need no connection."""
_HOP = ("upgrade", "connection", "content-length", "content-type")
_LAST = ("response.completed", "response.incomplete", "response.failed", "error")
_READ = ("response.created", *_LAST)
"""Events that are read; others go on as they are."""
_CALLS = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
}
_PARTS = ("input_text", "input_image", "input_file")
_UNSTEERED = ("conversation", "context_management")
_NORMAL, _TOO_BIG = 1000, 1009

Serve = Callable[[Incoming, Endpoint], Awaitable[None]]


class _Steer(NamedTuple):
    """Words that wait for the end of an answer."""

    id: str
    messages: list[Any]
    size: int
    """In bytes, as they came."""


class _QueuedRequest(NamedTuple):
    """A request that waits for its turn, or is being answered."""

    event: dict[str, Any]
    size: int


class _Room:
    """How much one connection may have waiting, and all connections of its caller together, in bytes."""

    def __init__(self, tenant: str, taken: Counter[str]) -> None:
        self._tenant, self._taken, self._own, self._kept = tenant, taken, 0, 0

    def take(self, size: int) -> bool:
        """Takes room; returns False if there is not enough."""
        is_full = self._own + size > LIMITS.socket_queued_bytes
        if is_full or self._taken[self._tenant] + size > LIMITS.sockets_queued_bytes:
            return False
        self.add(size)
        return True

    def add(self, size: int) -> None:
        """Takes room, or gives it back."""
        self._own += size
        self._add_to_all(size)

    def keep(self, size: int) -> None:
        """Takes room for what stays as long as the connection, or gives it back: further requests are refused while there is too much."""
        self._kept += size
        self._add_to_all(size)

    def _add_to_all(self, size: int) -> None:
        self._taken[self._tenant] += size
        if not self._taken[self._tenant]:
            del self._taken[self._tenant]

    def close(self) -> None:
        """Gives back all that the connection has."""
        self.add(-self._own)
        self.keep(-self._kept)


class _Lane:
    """Answers that come one after the other."""

    def __init__(self, name: str | None) -> None:
        self.name = name
        self.waiting: asyncio.Queue[_QueuedRequest] = asyncio.Queue(LIMITS.socket_waiting)
        self.task: asyncio.Task[None] | None = None
        self.active: str | None = None
        """The id of the response that is being written."""
        self.body: dict[str, Any] = {}
        """Its request."""
        self.steers: list[_Steer] = []
        self.ended: dict[str, Any] | None = None
        """The last response, if it ended as it should."""
        self.has_ended = False
        self.number = 0


class ResponseSocket:
    """One connection. `serve` serves a request for an answer, `admit` raises `Refused` for a caller that may send none; `taken` says how many bytes wait in all connections of a tenant."""

    def __init__(
        self,
        incoming: Incoming,
        scope: Scope,
        dialect: str,
        serve: Serve,
        admit: Callable[[], Awaitable[object]],
        *,
        tenant: str,
        taken: Counter[str],
    ) -> None:
        self._room = _Room(tenant, taken)
        self._incoming, self._scope, self._serve = incoming, scope, serve
        self._endpoint, self._admit = Endpoint(dialect, "answer"), admit
        self._lanes: dict[str | None, _Lane] = {}
        self._kept: Bounded[str, list[Any]] = Bounded(
            LIMITS.socket_bytes, lambda items: len(dump_json(items))
        )
        """Responses that only this connection has -> the items of their conversation."""
        self._waiting: Bounded[str, list[_Steer]] = Bounded(
            LIMITS.socket_bytes, lambda steers: sum(steer.size for steer in steers)
        )
        """Responses that wait for results -> words to send with them."""
        self._over: Bounded[str, bool] = Bounded(LIMITS.explained_requests)
        self._closed = asyncio.Event()
        self._sending = asyncio.Lock()

    async def run(self, protocol: str | None) -> None:
        """Serves the connection until the client closes it."""
        if (await self._incoming.receive())["type"] != "websocket.connect":
            return
        await self._incoming.send({"type": "websocket.accept", "subprotocol": protocol})
        try:
            while (message := await self._incoming.receive())["type"] != "websocket.disconnect":
                text = message.get("text")
                await self._take(text.encode() if text is not None else message.get("bytes") or b"")
        finally:
            self._closed.set()  # answers end as if their clients had left
            tasks = [lane.task for lane in self._lanes.values() if lane.task is not None]
            if tasks:
                await asyncio.wait(tasks, timeout=LIMITS.farewell_seconds)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._room.close()

    # ---- what the client sends -----------------------------------------------------------------

    async def _take(self, data: bytes) -> None:
        try:
            event = load_json(data)
        except ValueError:
            event = None
        if not isinstance(event, dict):
            await self._refuse(None, "a message must be a JSON object with a `type`")
            return
        name = event.get("stream_id")
        if name is not None and not isinstance(name, str):
            await self._refuse(None, "stream_id must be a string")
        elif event.get("type") == _CREATE:
            await self._create(name, event, len(data))
        elif event.get("type") == _STEER:
            await self._steer(name, event, len(data))
        else:
            kind = str(event.get("type"))[: LIMITS.name_characters]
            await self._refuse(name, f"unknown type {kind!r}; expected {_CREATE} or {_STEER}")

    async def _create(self, name: str | None, event: dict[str, Any], size: int) -> None:
        lane = self._lanes.get(name)
        if lane is None:
            if len(self._lanes) >= LIMITS.socket_lanes:
                text = f"a connection may have {LIMITS.socket_lanes} values of stream_id"
                await self._refuse(name, text, status=429)
                return
            lane = self._lanes[name] = _Lane(name)
            lane.task = asyncio.get_running_loop().create_task(self._work(lane))
        if lane.waiting.full():
            text = f"{LIMITS.socket_waiting} requests wait already"
            await self._refuse(name, text, status=429)
        elif not self._room.take(size):
            text = f"this connection, or this key, has no room for another {size} bytes until some of its answers end"
            await self._refuse(name, text, status=429)
        else:
            lane.waiting.put_nowait(_QueuedRequest(event, size))

    async def _steer(self, name: str | None, event: dict[str, Any], size: int) -> None:
        previous = str(event.get("previous_response_id"))
        lane = next((one for one in self._lanes.values() if one.active == previous), None)
        messages = _messages_of(event.get("input"))
        if messages is None or event.keys() - {"type", "stream_id", "previous_response_id", "input"}:  # fmt: skip
            text = "expected previous_response_id and input: a text, or messages of the user"
            await self._unsteered(name, event, "invalid_input", text)
        elif lane is None:
            is_over = previous in self._over
            code = "response_already_completed" if is_over else "response_not_found"
            text = f"the response {previous[: LIMITS.name_characters]} is not being written here"
            await self._unsteered(name, event, code, text)
        elif any(lane.body.get(member) for member in _UNSTEERED):
            text = "a response with a conversation or automatic compaction cannot be steered"
            await self._unsteered(name, event, "steering_not_supported", text)
        elif len(lane.steers) >= LIMITS.socket_steers or not self._room.take(size):
            text = f"{len(lane.steers)} steers wait already"
            await self._unsteered(name, event, "too_many_pending_steers", text)
        else:
            steer = _Steer(f"steer_{token_hex(12)}", messages, size)
            lane.steers.append(steer)
            facts = {"id": steer.id, "previous_response_id": previous}
            accepted = {"type": "response.steer.accepted", "sequence_number": lane.number + 1}
            await self._send(lane.name, {**accepted, "steer": facts})
            await self._send(lane.name, _pending("waiting_for_response_end", previous, [steer], []))

    async def _unsteered(
        self, name: str | None, event: dict[str, Any], code: str, text: str
    ) -> None:
        error = {"code": code, "message": text}
        steer = {key: event.get(key) for key in ("previous_response_id", "input")}
        await self._send(name, {"type": "response.steer.failed", "error": error, "steer": steer})

    # ---- answers -------------------------------------------------------------------------------

    async def _work(self, lane: _Lane) -> None:
        while True:
            request = await lane.waiting.get()
            body: dict[str, Any] | None = request.event
            try:
                while body is not None and not self._closed.is_set():
                    await self._respond(lane, body)
                    steered = sum(steer.size for steer in lane.steers)
                    body = await self._successor(lane)
                    self._room.add(-steered)
            finally:
                self._room.add(-request.size)

    async def _respond(self, lane: _Lane, event: dict[str, Any]) -> None:
        body = {**without(event, *_OF_SOCKETS), "stream": True}
        previous = as_text(body.get("previous_response_id"))
        new = items_in(body.get("input"))
        if previous and (steers := self._waiting.get(previous)):
            new = [*(message for steer in steers for message in steer.messages), *new]
            self._keep(self._waiting, previous, None)
            body["input"] = new
        items = new
        if previous and (before := self._kept.used(previous)) is not None:
            items = [*before, *new]
            body = {**without(body, "previous_response_id"), "input": items}
        lane.body, lane.steers, lane.ended, lane.has_ended = body, [], None, False
        if event.get("generate") is False:
            try:
                await self._admit()
            except Refused as error:
                status, _, data = refused(self._endpoint.dialect, error.refusal)
                await self._send(lane.name, {"type": "error", "status": status, **_error_in(data)})
                return
            await self._prewarm(lane, body, items)
            return
        await self._ask(lane, dump_json(body))
        lane.active = None
        if lane.ended is not None:
            self._over[str(lane.ended.get("id"))] = True
            if lane.ended.get("store") is False:
                output = as_list(lane.ended.get("output"))
                self._keep(self._kept, str(lane.ended.get("id")), [*items, *output])

    def _keep(self, kept: Bounded[str, Any], name: str, value: Any) -> None:
        """Keeps something for later requests of the connection; None: no longer."""
        before = kept.total
        if value is None:
            kept.pop(name)
        else:
            kept[name] = value
        self._room.keep(kept.total - before)

    async def _prewarm(self, lane: _Lane, body: dict[str, Any], items: list[Any]) -> None:
        """A response without an answer, which a later one goes on from."""
        empty = Response(id=f"resp_{token_hex(12)}", model=str(body.get("model")), ended=True)
        now = int(time())
        whole = response_body(empty, [], created=now, completed=now, echo=echo_of(body))
        self._keep(self._kept, str(empty.id), items)
        begun = unfinished(whole, "in_progress")
        for number, (kind, response) in enumerate(
            (("response.created", begun), ("response.completed", whole))
        ):
            await self._send(
                lane.name, {"type": kind, "response": response, "sequence_number": number}
            )

    async def _successor(self, lane: _Lane) -> dict[str, Any] | None:
        """The request that answers the words which came during the last answer; None if there are none, or they wait for results."""
        steers, lane.steers = lane.steers, []
        if not steers:
            return None
        name = str((lane.ended or {}).get("id"))
        if lane.ended is None:
            for steer in steers:
                facts = {"id": steer.id, "previous_response_id": lane.active, "input": steer.messages}  # fmt: skip
                text = "the response that was steered did not end as it should"
                error = {"code": "successor_creation_failed", "message": text}
                await self._send(lane.name, {"type": "response.steer.failed", "error": error, "steer": facts})  # fmt: skip
            return None
        calls = [
            {
                "type": _CALLS[str(item.get("type"))],
                "call_id": item.get("call_id"),
                "name": item.get("name"),
            }
            for item in map(as_dict, as_list(lane.ended.get("output")))
            if item.get("type") in _CALLS
        ]
        if calls:
            self._keep(self._waiting, name, steers)
            waits = _pending("waiting_for_required_input", name, steers, calls)
            await self._send(lane.name, waits)
            return None
        messages = [message for steer in steers for message in steer.messages]
        return {**lane.body, "type": _CREATE, "previous_response_id": name, "input": messages}

    async def _ask(self, lane: _Lane, body: bytes) -> None:
        """Serves one request for an answer, and sends its events."""
        waiting = [{"type": "http.request", "body": body, "more_body": False}]
        reader, status, rest = ServerSentEvents(), 0, bytearray()

        async def receive() -> dict[str, Any]:
            if waiting:
                return waiting.pop()
            await self._closed.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            elif status != 200:
                rest.extend(message.get("body", b""))
            else:
                for frame in reader.feed(message.get("body", b"")):
                    await self._pass_on(lane, frame)

        await self._serve(Incoming(self._http_scope(), receive, send), self._endpoint)
        if status not in (0, 200):
            await self._send(lane.name, {"type": "error", "status": status, **_error_in(rest)})
        elif not lane.has_ended:
            await self._refuse(lane.name, "the answer was interrupted", "server_error", 502)

    def _http_scope(self) -> Scope:
        """The same request as HTTP."""
        pairs = [
            (name, value)
            for name, value in self._scope["headers"]
            if not name.startswith(b"sec-websocket") and name.decode("latin-1") not in _HOP
        ]
        headers = [*pairs, (b"content-type", b"application/json")]
        key = self._incoming.headers.get("authorization")  # it may have stood among the protocols
        if key and b"authorization" not in dict(pairs):
            headers.append((b"authorization", key.encode("latin-1")))
        return {**self._scope, "type": "http", "method": "POST", "headers": headers}

    async def _pass_on(self, lane: _Lane, frame: Frame) -> None:
        """Sends an event of an answer, and learns from those that begin and end it."""
        data = bytes(frame.data or b"")
        if not data.startswith(b"{"):
            return
        lane.number += 1
        if frame.name in _READ:
            value = as_dict(load_json(data))
            response = as_dict(value.get("response"))
            lane.number = int(value.get("sequence_number") or 0)
            if frame.name == "response.created":
                lane.active = as_text(response.get("id"))
            else:
                lane.has_ended = True
                if frame.name in _LAST[:2]:
                    lane.ended = response
        if lane.name is not None:
            data = b'{"stream_id":%b,%b' % (dump_json(lane.name), data[1:])
        await self._send_text(data)

    # ---- sending -------------------------------------------------------------------------------

    async def _refuse(
        self,
        name: str | None,
        text: str,
        kind: str = "invalid_request_error",
        status: int = 400,
    ) -> None:
        error = {"type": kind, "code": None, "message": text, "param": None}
        await self._send(name, {"type": "error", "status": status, "error": error})

    async def _send(self, name: str | None, event: dict[str, Any]) -> None:
        more = {} if name is None else {"stream_id": name}
        await self._send_text(dump_json({**event, **more}))

    async def _send_text(self, data: bytes) -> None:
        if self._closed.is_set():
            return
        async with self._sending:
            await self._incoming.send({"type": "websocket.send", "text": data.decode()})


def _messages_of(value: Any) -> list[Any] | None:
    """The messages of a steer; None for anything but words and files of the user."""
    if isinstance(value, str):
        return items_in(value) if value.strip() else None
    messages = [as_dict(item) for item in as_list(value)]
    return messages if messages and all(map(_is_of_user, messages)) else None


def _is_of_user(message: dict[str, Any]) -> bool:
    content = message.get("content")
    is_message = message.get("type", "message") == "message" and message.get("role") == "user"
    if isinstance(content, str):
        return is_message and bool(content.strip())
    parts = [as_dict(part).get("type") for part in as_list(content)]
    return is_message and bool(parts) and all(kind in _PARTS for kind in parts)


def _pending(
    reason: str, previous: str, steers: list[_Steer], required: list[dict[str, Any]]
) -> dict[str, Any]:
    """What says that words wait, and for what."""
    facts = [{"id": steer.id, "previous_response_id": previous} for steer in steers]
    members = {"reason": reason, "required_input": required, "steer": facts[0]}
    return {"type": "response.steer.pending", **members}


def _error_in(body: bytes | bytearray) -> dict[str, Any]:
    try:
        error = as_dict(load_json(bytes(body))).get("error")
    except ValueError:
        error = None
    return {"error": error or {"type": "server_error", "code": None, "message": "no answer"}}
