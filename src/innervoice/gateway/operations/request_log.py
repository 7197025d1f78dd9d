"""Keeps requests of the gateway for the viewer: passes them to the log (`sources/request_log/write.py`), which has its own thread.

A request costs three hand-overs, however long its answer is: while answers arrive, one timer checks all of them and passes on what is
new. The shape is updated once a second, texts ten times.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from innervoice.client.log import LogPosition
from innervoice.conversation.body import SplitBody
from innervoice.gateway.gateway_members import STORE
from innervoice.gateway.limits import LIMITS
from innervoice.gateway.operations.journal import explain
from innervoice.gateway.report import Report
from innervoice.gateway.upstreams import GatewayExchange
from innervoice.sources.request_log.files import LogBounds
from innervoice.sources.request_log.records import Level
from innervoice.sources.request_log.write import Asked, LoggedRequest, RequestLog, session_of

__all__ = ["FollowedRequest", "GatewayLog"]

_STEPS: dict[Level, float] = {"full": 0.1, "shape": 1.0}
"""How often an arriving answer is checked, in seconds."""


class FollowedRequest:
    """A request whose answer is logged while it arrives."""

    def __init__(self, log: GatewayLog, logged: LoggedRequest) -> None:
        self._log, self._logged = log, logged
        self._exchange: GatewayExchange | None = None
        self._position = LogPosition()
        self.looked = 0.0

    @property
    def level(self) -> Level:
        """What is kept of it."""
        return self._logged.keeper.level

    def follow(self, exchange: GatewayExchange) -> None:
        """From now on the answer is this one."""
        self._exchange = exchange
        self._position = exchange.events.new_position()
        if self.level == "full":
            exchange.batch = LIMITS.watched_batch_bytes
        self._log.watch(self)

    def go_on(self, exchange: GatewayExchange) -> None:
        """From now on this exchange goes on with the answer."""
        self._exchange = exchange

    def look(self) -> None:
        """Passes on what arrived since."""
        exchange, position = self._exchange, self._position
        if exchange is None or not exchange.has_output or position.index >= len(exchange.events):
            return
        events = exchange.events[position.index :]
        position.index += len(events)
        self._logged.grow(events)

    def end(self, report: Report) -> None:
        """Handles the end of the request."""
        self._log.leave(self)
        response = self._exchange.response if self._exchange else None
        if response is not None and not (response.parts or response.ended):
            response = None
        self._logged.end(response, lambda: explain(report))


class GatewayLog:
    """The log of one process. `level` may change at any time; "none" keeps nothing."""

    def __init__(
        self,
        folder: Path,
        level: Literal["none", "shape", "full"],
        bounds: LogBounds,
        say: Callable[[str], None],
    ) -> None:
        self.level = level
        self.folder = folder
        self._log = RequestLog(folder, by="gateway", bounds=bounds, say=say)
        self._open: set[FollowedRequest] = set()
        self._timer: asyncio.TimerHandle | None = None

    def begin(
        self,
        report: Report,
        body: bytes,
        headers: Mapping[str, str],
        split: SplitBody | None = None,
    ) -> FollowedRequest | None:
        """Begins a request; None if nothing is kept of it."""
        # Only the client's header counts here. `store: false` in a body is about responses that can be retrieved, and many programs always send it.
        allowed = headers.get(STORE)
        if self.level == "none" or allowed == "off":
            return None
        level: Level = "shape" if allowed == "ram" else self.level
        question = Asked(
            id=report.id,
            at=report.begun,
            dialect=report.dialect,
            body=body,
            model=report.asked,
            tenant=report.tenant,
            caller=report.caller,
            session=session_of(headers),
            split=split,
        )
        logged = self._log.begin(question, level)
        return FollowedRequest(self, logged) if logged else None

    def watch(self, request: FollowedRequest) -> None:
        """Starts checking an answer."""
        self._open.add(request)
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(_STEPS[request.level], self._look, loop)

    def leave(self, request: FollowedRequest) -> None:
        """Stops checking it."""
        self._open.discard(request)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now, step = loop.time(), _STEPS["shape"]
        for request in list(self._open):
            steps = _STEPS[request.level]
            step = min(step, steps)
            if now - request.looked >= steps * 0.9:
                request.looked = now
                request.look()
        if self._open:
            self._timer = loop.call_later(step, self._look, loop)

    @property
    def written(self) -> list[Path]:
        """The files that this process has begun."""
        return self._log.written

    def flush(self) -> bool:
        """Waits until everything is written."""
        return self._log.flush()

    def close(self) -> None:
        """Writes what is left."""
        self._log.close()
