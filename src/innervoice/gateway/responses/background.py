"""Responses in the background: a request goes in and is answered at once, and its events go into the store as they come.

    POST      the response is stored as unfinished, and a task of this process serves the request; its client may leave
    GET       the object out of the store; with `stream=true` its events from any number on, those to come included
    cancel    by the process that runs it, or through a counter in the store that this one reads with every beat

A beat is a counter of the store that expires. A response whose process has ended without a word has no beat: it is reported as failed.
So every process that shares the store can answer for every response, and none stays unfinished for ever.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from innervoice.answering.writing import StreamEncoder, exact_stream
from innervoice.canon.jsontext import dump_json, load_json
from innervoice.decoding import decode
from innervoice.errors import InnervoiceError
from innervoice.frames.sse import ServerSentEvents
from innervoice.gateway.client_request import ClientRequest, QueuedAnswer
from innervoice.gateway.errors import NO_STORE, trouble
from innervoice.gateway.limits import LIMITS
from innervoice.gateway.serving import Serving
from innervoice.memory.stores.store import StoreError
from innervoice.wire.dialects import dialect_named
from innervoice.wire.json_access import as_dict
from innervoice.wire.refusals import Refusal, Refused
from innervoice.wire.serve import StoredAnswers

if TYPE_CHECKING:
    from innervoice.gateway.gateway import Gateway
    from innervoice.gateway.responses.stored import StoredResponse

__all__ = ["BackgroundRun", "BackgroundRuns"]

_UNFINISHED = ("queued", "in_progress")
_STOPPED = "the gateway was stopped before the response was complete"
_LOST = "the process that made the response has ended before it was complete"
_LAST = (b"response.completed", b"response.failed", b"response.incomplete")
_REPLAYED = 64
"""Characters of a delta where events are made of a stored response."""
_AT_ONCE = 16
"""Pieces of events that are read in one round trip."""


class BackgroundRun:
    """One response while a task of this process makes it."""

    def __init__(
        self, gateway: Gateway, request: ClientRequest, serve: Callable[[Any], Serving]
    ) -> None:
        """`serve` makes the serving of the request, which sends its answer to a function."""
        api = dialect_named(request.endpoint.dialect).stored_answers
        assert api is not None
        assert request.state is not None
        self._gateway, self._request, self._api = gateway, request, api
        self._state = request.state
        self._encoder = StreamEncoder(request.endpoint.dialect, request.name, echo=self._state.echo)
        self.id = self._encoder.id
        self.tenant = request.report.tenant
        self.frames: list[bytes] = []
        """Its events, each in the place of its number."""
        self.news = asyncio.Event()
        """Set when there are more events; each has a new one."""
        self.is_over = False
        self._rest = b""
        self._stored = self._pieces = 0
        self._end: str | None = None
        """Why it is ended early; "" if it was cancelled."""
        self._refusal = Refusal(text="internal error of the gateway", status=500)
        """Why it did not begin."""
        self._serving = serve(self._send)
        self._task: asyncio.Task[None] | None = None
        self._is_served = False
        self._saving = asyncio.Lock()
        self._record(self._encoder.queue())
        self.body: dict[str, Any] = self._response_in(self.frames[0])
        """The response as it is now."""
        request.queue(QueuedAnswer(self.id, int(self.body["created_at"])))

    @staticmethod
    def _response_in(frame: bytes) -> dict[str, Any]:
        events = ServerSentEvents()
        for one in (*events.feed(frame), *events.finish()):
            return as_dict(as_dict(load_json(one.data or b"null")).get("response"))
        return {}

    # ---- the way of the request ----------------------------------------------------------------

    async def begin(self, on_end: Callable[[], Awaitable[None]]) -> None:
        """Stores the response as unfinished, and starts the task; `on_end` is called at its end."""
        assert self._api.unfinished is not None
        await self._beat()
        await self._state.put(self._api.unfinished(self.body, "in_progress"))
        self._state.kept = None
        self._task = asyncio.get_running_loop().create_task(self._run(on_end))

    async def _run(self, on_end: Callable[[], Awaitable[None]]) -> None:
        beating = asyncio.get_running_loop().create_task(self._beats())
        try:
            await self._serve()
        finally:
            self._is_served = True
            beating.cancel()
            await asyncio.shield(self._finish())
            await asyncio.shield(on_end())

    async def _serve(self) -> None:
        report = self._request.report
        try:
            await self._serving.serve()
        except asyncio.CancelledError:
            if self._end is None:
                self._end = _STOPPED
                raise
            await self._serving.disconnected()
            if self._end:
                report.status, report.error = 503, "Stopped"
        except (InnervoiceError, Refused) as error:
            dialect = self._request.endpoint.dialect
            self._refusal = (
                error.refusal
                if isinstance(error, Refused)
                else trouble(error, dialect, self._serving.upstream)
            )
            report.status, report.error = self._refusal.status, type(error).__name__
        except Exception as error:  # noqa: BLE001 - an internal error ends this response alone, without any text of the request
            report.status, report.error = 500, type(error).__name__

    async def _finish(self) -> None:
        """Stores the end, whatever it is; its event is the last that clients get."""
        if self.is_over:
            self.body = self._state.kept or self._response_in(self.frames[-1])
            if self._state.kept is None:
                await self._state.put(self.body)
        else:
            data = self._early_end()
            self.body = self._response_in(data)
            await self._state.put(self.body)
            self._record(data)
        await self._save()

    def _early_end(self) -> bytes:
        """The event of a response that was ended, or did not begin."""
        assert self._api.ended_early is not None
        problem = self._end or None
        if self._end is None:
            problem = self._refusal.text
        body = self._api.ended_early(self._state.kept or self.body, problem)
        if self._end is None and isinstance(self._refusal.code, str):
            body["error"]["code"] = self._refusal.code
        return last_frame(self._api, body, len(self.frames))

    def end(self, problem: str = "") -> None:
        """Ends it: it is cancelled or, with a problem, has failed. One that has ended stays as it is."""
        is_open = not (self.is_over or self._is_served) and self._end is None
        if self._task is not None and is_open:
            self._end = problem
            self._task.cancel()

    async def ended(self) -> None:
        """Waits for the end."""
        if self._task is not None:
            await asyncio.wait({self._task})

    # ---- its events ----------------------------------------------------------------------------

    async def _send(self, message: dict[str, Any]) -> None:
        """Takes what would be sent to a client; an end that was forced has an event of its own."""
        if message["type"] == "http.response.body" and self._end is None:
            self._record(message.get("body", b""))

    def _record(self, data: bytes) -> None:
        self._rest += data
        while (place := self._rest.find(b"\n\n")) >= 0:
            frame, self._rest = self._rest[: place + 2], self._rest[place + 2 :]
            if not frame.startswith(b":"):
                self.frames.append(frame)
                self.is_over = self.is_over or any(mark in frame[:64] for mark in _LAST)
        self._wake()

    def _wake(self) -> None:
        news, self.news = self.news, asyncio.Event()
        news.set()

    async def _beats(self) -> None:
        while True:
            await asyncio.sleep(LIMITS.beat_seconds)
            await self._save()
            if await self._beat():
                self.end()

    async def _beat(self) -> bool:
        """Gives a sign of life; returns whether another process wants the response cancelled."""
        beat, cancel = beat_name(self.tenant, self.id), cancel_name(self.tenant, self.id)
        try:
            sums = await self._gateway.calls.wait(
                lambda: self._gateway.store.count({beat: 1, cancel: 0}, 3 * LIMITS.lost_seconds),
                LIMITS.store_seconds,
            )
        except StoreError:
            return False
        return sums[cancel] > 0

    async def _save(self) -> None:
        """Stores the events since the last time."""
        async with self._saving:
            frames, number = self.frames[self._stored :], self._pieces
            if not frames:
                return
            data = b"%d\n%b" % (self._stored, b"".join(frames))
            durable = self._gateway.keeps(self._request.report) != "ram"
            self._pieces += 1  # a slow store may still store it, so the next piece has another number in any case
            if await self._gateway.responses.put_events(
                self._api, self.tenant, self.id, number, data, durable=durable
            ):
                self._stored += len(frames)


def last_frame(api: StoredAnswers, body: dict[str, Any], number: int) -> bytes:
    """The event with which a response ends early."""
    answer = decode(body, dialect=api.dialect)
    frame = list(exact_stream(answer, api.dialect, _REPLAYED, echo=_members(body)))[-1]
    value = as_dict(load_json(frame.data or b"null"))
    data = dump_json({**value, "response": body, "sequence_number": number})
    return dialect_named(api.dialect).framing(frame.replace(data=data))


def _members(body: dict[str, Any]) -> dict[str, Any]:
    """The members of a response that are written again as they are."""
    return {name: value for name, value in body.items() if name not in ("output", "status")}


def _digest(tenant: str, name: str) -> str:
    data = f"{tenant}\0{name}".encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=16).hexdigest()


def beat_name(tenant: str, name: str, before: int = 0) -> str:
    """The counter for the signs of life of a response in a span of time, so many before the current one."""
    span = int(time.time() / LIMITS.lost_seconds) - before
    return f"beat {_digest(tenant, name)} {span}"


def cancel_name(tenant: str, name: str) -> str:
    """The counter that says whether a response is to be cancelled."""
    return f"cancel {_digest(tenant, name)}"


class BackgroundRuns:
    """The responses in the background: those of this process, and what the store says of the others."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._runs: dict[tuple[str, str], BackgroundRun] = {}

    async def start(
        self,
        request: ClientRequest,
        serve: Callable[[Any], Serving],
        on_end: Callable[[], Awaitable[None]],
    ) -> BackgroundRun:
        """Starts a response; raises if the request cannot be sent at all."""
        route = self._gateway.routes.route(request.name)
        if request.state is not None:
            await request.state.load()  # the first event names the conversation
        run = BackgroundRun(self._gateway, request, serve)
        await request.attempt(route.candidates[0], route)
        place = (run.tenant, run.id)
        self._runs[place] = run

        async def ended() -> None:
            self._runs.pop(place, None)
            await on_end()

        await run.begin(ended)
        return run

    async def close(self) -> None:
        """Ends all responses of this process; each is reported as failed."""
        runs = list(self._runs.values())
        for run in runs:
            run.end(_STOPPED)
        for run in runs:
            await run.ended()

    # ---- what clients ask ----------------------------------------------------------------------

    async def current(
        self, api: StoredAnswers, tenant: str, response: StoredResponse
    ) -> dict[str, Any]:
        """A response as it is now."""
        body = response.body
        if response.status not in _UNFINISHED or api.background is None:
            return body
        is_here = (tenant, response.id) in self._runs
        if is_here or await self._is_alive(tenant, response.id):
            return body
        # Its end may have been stored in between.
        last = await self._again(api, tenant, response)
        assert api.ended_early is not None
        return last.body if last.status not in _UNFINISHED else api.ended_early(body, _LOST)

    async def _again(
        self, api: StoredAnswers, tenant: str, response: StoredResponse
    ) -> StoredResponse:
        stored = await self._gateway.responses.get(api, tenant, [response.id])
        return stored.responses.get(response.id, response)

    async def _is_alive(self, tenant: str, name: str) -> bool:
        """Whether some process makes a response."""
        beats = {beat_name(tenant, name, before): 0.0 for before in (-1, 0, 1)}
        try:
            sums = await self._gateway.calls.wait(
                lambda: self._gateway.store.count(beats, LIMITS.lost_seconds), LIMITS.store_seconds
            )
        except StoreError:
            raise Refused(NO_STORE) from None
        return any(sums.values())

    async def cancel(
        self, api: StoredAnswers, tenant: str, response: StoredResponse
    ) -> dict[str, Any]:
        """Cancels a response, and returns it; one that has ended stays as it is."""
        run = self._runs.get((tenant, response.id))
        if run is not None:
            run.end()
            await run.ended()
            return run.body
        body = await self.current(api, tenant, response)
        if body["status"] not in _UNFINISHED:
            return body
        name = cancel_name(tenant, response.id)
        try:
            await self._gateway.calls.wait(
                lambda: self._gateway.store.count({name: 1}, LIMITS.conversation_seconds),
                LIMITS.store_seconds,
            )
        except StoreError:
            raise Refused(NO_STORE) from None
        end = time.monotonic() + LIMITS.cancel_seconds
        while body["status"] in _UNFINISHED and time.monotonic() < end:
            await asyncio.sleep(LIMITS.beat_seconds / 4)
            body = await self.current(api, tenant, await self._again(api, tenant, response))
        return body

    async def forget(self, api: StoredAnswers, tenant: str, name: str) -> None:
        """Ends a response that is to be deleted, wherever it runs, and deletes its events."""
        stored = await self._gateway.responses.get(api, tenant, [name])
        response = stored.responses.get(name)
        if api.background is None or response is None:
            return
        if response.status in _UNFINISHED:
            await self.cancel(api, tenant, response)
            async for _ in self.events(api, tenant, response):
                pass  # the last one is stored after the response
        await self._gateway.responses.delete_events(api, tenant, name)

    # ---- events --------------------------------------------------------------------------------

    def events(
        self, api: StoredAnswers, tenant: str, response: StoredResponse, after: int = -1
    ) -> AsyncGenerator[bytes, None]:
        """The events of a response behind a number, as frames: those that were stored, those to come, or those that it can be made of."""
        run = self._runs.get((tenant, response.id))
        if run is not None:
            return self.live(run, after)
        if response.body.get(api.background or ""):
            return self._recorded(api, tenant, response, after)
        return _replayed(api, response.body, after)

    async def live(self, run: BackgroundRun, after: int = -1) -> AsyncGenerator[bytes, None]:
        """The events of a response of this process, with keep-alives while there are none."""
        number = after + 1
        silence = self._gateway.time_limits.ping
        while True:
            news = run.news
            for frame in run.frames[number:]:
                number += 1
                yield frame
            if run.is_over and number >= len(run.frames):
                return
            try:
                await asyncio.wait_for(news.wait(), silence)
            except TimeoutError:
                yield b": ping\n\n"

    async def _recorded(
        self, api: StoredAnswers, tenant: str, response: StoredResponse, after: int
    ) -> AsyncGenerator[bytes, None]:
        """The events that another process stores, or has stored."""
        piece, number, deadline = 0, 0, 0.0
        while True:
            pieces = await self._gateway.responses.get_events(
                api, tenant, response.id, range(piece, piece + _AT_ONCE)
            )
            before = piece
            for place, data in sorted((pieces or {}).items()):
                start, frames = _piece(data)
                if start > number:
                    break  # one before it is still on its way
                for frame in frames[number - start :]:
                    if number > after:
                        yield frame
                    number += 1
                    if any(mark in frame[:64] for mark in _LAST):
                        return
                piece = place + 1
            if piece > before:
                continue
            body = await self.current(api, tenant, await self._again(api, tenant, response))
            if body["status"] not in _UNFINISHED:
                # The response is stored before its last events are.
                deadline = deadline or time.monotonic() + LIMITS.cancel_seconds
                is_late = time.monotonic() > deadline
                if is_late or not await self._is_alive(tenant, response.id):
                    yield last_frame(api, body, number)
                    return
            await asyncio.sleep(LIMITS.beat_seconds / 2)
            yield b": ping\n\n"


def _piece(data: bytes) -> tuple[int, list[bytes]]:
    """A piece of events: the number of the first, and their frames."""
    start, _, frames = data.partition(b"\n")
    return int(start), [frame + b"\n\n" for frame in frames.split(b"\n\n") if frame]


async def _replayed(
    api: StoredAnswers, body: dict[str, Any], after: int
) -> AsyncGenerator[bytes, None]:
    """The events that a stored response can be made of."""
    answer = decode(body, dialect=api.dialect)
    framing = dialect_named(api.dialect).framing
    frames = list(exact_stream(answer, api.dialect, _REPLAYED, echo=_members(body)))
    written = [*map(framing, frames[:-1]), last_frame(api, body, len(frames) - 1)]
    for frame in written[after + 1 :]:
        yield frame
