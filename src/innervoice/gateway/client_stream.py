"""The answer to one client over ASGI: its head, its pieces, keep-alives during silence, its time limits, and its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import Any, NamedTuple, Protocol

from innervoice.frames.frame import Frame
from innervoice.gateway.answers import ClientAnswer
from innervoice.gateway.incoming import Receive, Send, WriteNow
from innervoice.gateway.report import Report
from innervoice.wire.dialects import dialect_named

__all__ = ["ClientStream", "Pings", "TimeLimits", "Watched", "reply"]

_UNBUFFERED = {"cache-control": "no-cache, no-transform", "x-accel-buffering": "no"}
"""Proxies between the gateway and the client pass every piece on at once, and compress nothing."""
_BLANK_LINE = b"\n"
"""The keep-alive between two events of an API whose SDKs do not know comments. Google's older SDK for JavaScript, which LangChain uses,
does not know blank lines either: in a stream the next event is begun in its place, and white space goes on before its JSON."""
_FIELD = b"data:"
_EMPTY_EVENT = b"{}\n\n"


class TimeLimits(NamedTuple):
    """Limits of an answer, in seconds."""

    ping: float
    """The silence after which the client of a stream gets a keep-alive."""
    whole_ping: float
    """The silence after which a client that waits for a whole body gets white space."""
    first_byte: float
    """The longest wait for the beginning of an answer."""
    idle: float
    """The longest silence of an upstream in the middle of an answer."""
    total: float


async def reply(send: Send, status: int, headers: Mapping[str, str], body: bytes) -> None:
    """Sends a whole reply."""
    length = {"content-length": str(len(body))}
    await send(_head(status, {"content-type": "application/json", **headers, **length}))
    await send({"type": "http.response.body", "body": body})


async def stream_frames(
    send: Send, headers: Mapping[str, str], frames: AsyncGenerator[bytes, None], receive: Receive
) -> None:
    """Sends events that were made for others too, until they end or the client leaves."""
    head = {"content-type": "text/event-stream", **_UNBUFFERED, **headers}

    async def sent() -> None:
        await send(_head(200, head))
        async for frame in frames:
            await send({"type": "http.response.body", "body": frame, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def left() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    loop = asyncio.get_running_loop()
    tasks = [loop.create_task(sent()), loop.create_task(left())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await frames.aclose()


class ClientStream:
    """Writes one answer. Its head is sent with the first piece, so that an error can still have a status of its own."""

    def __init__(
        self,
        send: Send,
        report: Report,
        pings: Pings,
        limits: TimeLimits,
        write_now: WriteNow | None = None,
    ) -> None:
        self.has_begun = False
        """The head was sent, with a piece of the answer or with a keep-alive."""
        self.has_said = False
        """A piece of the answer was sent."""
        self.answer: ClientAnswer | None = None
        """The answer whose keep-alives are sent."""
        self.headers: dict[str, str] = {}
        self.expired: str | None = None
        """The limit that was exceeded, in words; its task is cancelled then."""
        self._send = send
        self._write_now = write_now
        self._report = report
        self._pings = pings
        self._limits = limits
        self._began = self._sent = self._heard = 0.0
        self._has_heard = self._is_sending = self._is_event_open = False
        self._task: asyncio.Task[Any] | None = None
        self._pinging: asyncio.Task[None] | None = None
        self._now = pings.now

    def open(self) -> None:
        """Starts the time limits of the answer."""
        self._now = asyncio.get_running_loop().time
        self._began = self._sent = self._heard = self._now()
        self._task = asyncio.current_task()
        self._pings.add(self)

    def close(self) -> None:
        """Stops the time limits of the answer."""
        self._pings.remove(self)

    def ask_again(self) -> None:
        """Restarts the wait for the beginning of an answer: another upstream is called."""
        self._has_heard, self._heard = False, self._now()

    def hear(self) -> None:
        """The upstream has sent something."""
        self._has_heard, self._heard = True, self._now()

    def write_now(self, data: bytes) -> bool:
        """Sends bytes of an answer that has begun, if that can be done in this step of the event loop; returns whether it was done."""
        write = self._write_now
        if write is None or not self.has_said or self._is_event_open or not write(data):
            return False
        self._has_heard = True
        self._sent = self._heard = self._now()
        return True

    async def write(self, data: bytes) -> None:
        """Sends bytes of an answer; waits while the client is slow."""
        self.hear()
        if self._is_event_open:
            data = await self._continued(data)
        self._sent = self._heard
        self._is_sending = True
        if not self.has_said:
            self.has_said = True
            if self._report.first_byte is None:
                self._report.first_byte = self._sent - self._began
            if not self.has_begun:
                await self._begin()
        await self._send({"type": "http.response.body", "body": data, "more_body": True})
        self._is_sending = False

    async def fail(self, data: bytes) -> None:
        """Ends an answer that has begun with an error of the dialect.

        After white space before a whole body, its status is spent, and official SDKs would read the error as an answer without content. The
        body is then left unfinished: the server closes the connection, and every client raises an exception. The same is done to a stream
        whose SDKs raise nothing for the dialect's own error, which they get before.
        """
        row = dialect_named(self._report.dialect)
        if not self._report.stream:
            self.close()
        elif row.error_is_quiet:
            self.close()
            error = data.removesuffix(row.framing(Frame(row.last_mark)))
            await self._send({"type": "http.response.body", "body": error, "more_body": True})
        else:
            await self.end(data)

    async def end(self, data: bytes = b"") -> None:
        """Sends the last piece."""
        self.close()
        if self._report.first_byte is None:
            self._report.first_byte = self._now() - self._began
        if self._is_event_open:
            data = await self._continued(data)
        if not self.has_begun:
            is_whole = not self._report.stream
            await self._begin({"content-length": str(len(data))} if is_whole else {})
        await self._send({"type": "http.response.body", "body": data})

    # ---- silences ------------------------------------------------------------------------------

    def look(self, now: float) -> None:
        """Sends a keep-alive if one is due, and ends the waiting if the time is up."""
        limits = self._limits
        if self._is_sending:
            return  # the client is slow
        if now - self._began > limits.total:
            self._expire(f"not finished within {limits.total:g} s")
        elif self._report.stream and not self._has_heard and now - self._heard > limits.first_byte:
            self._expire(f"no answer within {limits.first_byte:g} s")
        elif self._has_heard and now - self._heard > limits.idle:
            self._expire(f"no data for {limits.idle:g} s")
        elif now - self._sent >= (limits.whole_ping if self._waits_for_body else limits.ping):
            self._sent = now
            self._ping()

    @property
    def _waits_for_body(self) -> bool:
        return self.answer is not None and self.answer.media_type == "application/json"

    def _expire(self, words: str) -> None:
        self.close()
        self.expired = words
        if self._task is not None:
            self._task.cancel()

    def _ping(self) -> None:
        """Sends a keep-alive, without waiting for a client that does not read."""
        data = self.answer.ping() if self.answer else b""
        if data and (self._pinging is None or self._pinging.done()):
            if data == _BLANK_LINE and not self._waits_for_body:
                data = b" " if self._is_event_open else _FIELD + b" "
                self._is_event_open = True
            self._pinging = asyncio.get_running_loop().create_task(self._write_ping(data))

    async def _continued(self, data: bytes) -> bytes:
        """What is sent of a piece behind a keep-alive that has begun an event."""
        if self._pinging is not None:
            await self._pinging
        self._is_event_open = False
        if data.startswith(_FIELD):
            return data[len(_FIELD) :]
        # An error without a field name is the JSON of the event; anything else begins anew.
        return data if data.startswith(b"{") else _EMPTY_EVENT + data

    async def _write_ping(self, data: bytes) -> None:
        if not self.has_begun:
            await self._begin()
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def _begin(self, more: Mapping[str, str] | None = None) -> None:
        assert self.answer is not None
        self.has_begun = True
        unbuffered = _UNBUFFERED if self._report.stream else {}
        headers = {"content-type": self.answer.media_type, **unbuffered, **self.headers}
        await self._send(_head(200, {**headers, **(more or {})}))


def _head(status: int, headers: Mapping[str, str]) -> dict[str, Any]:
    pairs = [
        (name.encode("latin-1"), value.encode("latin-1", "replace"))
        for name, value in headers.items()
    ]
    return {"type": "http.response.start", "status": status, "headers": pairs}


# One timer for all open answers: it checks each of them, and they send their keep-alives and check their time limits.


_STEP = 0.5
"""How often the timer checks, in seconds."""


class Watched(Protocol):
    """An open answer."""

    def look(self, now: float) -> None:
        """Does what is due, without waiting."""
        ...


class Pings:
    """The timer; it runs only while there are answers."""

    def __init__(self, step: float = _STEP) -> None:
        self._step = step
        self._open: set[Watched] = set()
        self._timer: asyncio.TimerHandle | None = None

    def now(self) -> float:
        """The time of the event loop."""
        return asyncio.get_running_loop().time()

    def add(self, answer: Watched) -> None:
        """Starts checking this answer."""
        self._open.add(answer)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._step, self._look)

    def remove(self, answer: Watched) -> None:
        """Stops checking it."""
        self._open.discard(answer)

    def __len__(self) -> int:
        return len(self._open)

    def _look(self) -> None:
        self._timer = None
        now = self.now()
        for answer in list(self._open):
            answer.look(now)
        if self._open:
            self._timer = asyncio.get_running_loop().call_later(self._step, self._look)
