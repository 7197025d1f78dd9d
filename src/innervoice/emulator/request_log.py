"""What `innervoice emulate --log` keeps of requests: the emulator's own bytes are read, as a client reads them, while they are sent."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from innervoice.canon.events import Event
from innervoice.canon.response import Failure, Response
from innervoice.decoder import StreamDecoder
from innervoice.emulator.routes import Route
from innervoice.errors import InnervoiceError
from innervoice.sources.request_log.write import Asked, LoggedRequest, RequestLog, session_of

if TYPE_CHECKING:
    from innervoice.emulator.core import Reply

__all__ = ["EmulatorLog"]

_STEP = 0.1
"""How often the growth of an answer is written, in seconds."""


class EmulatorLog:
    """Follows the replies of an emulator."""

    def __init__(self, place: Path, **options: Any) -> None:
        self._log = RequestLog(place, by="emulator", **options)

    def followed(
        self, route: Route, model: str, headers: Mapping[str, str], body: bytes, reply: Reply
    ) -> Reply:
        """The same reply; what is read of it is logged. The names of headers are in lower case."""
        question = Asked(
            id=f"em_{token_hex(12)}",
            at=time.time(),
            dialect=route.dialect,
            body=body,
            model=f"{route.provider}/{model}",
            tenant="emulator",
            session=session_of(headers),
        )
        logged = self._log.begin(question, "full")
        if logged is None:
            return reply
        decoder = StreamDecoder(route.provider, model or None, route.dialect)
        return replace(reply, pieces=_read(logged, decoder, route, model, reply))

    def flush(self) -> bool:
        """Waits until everything is written."""
        return self._log.flush()

    def close(self) -> None:
        """Writes what is left."""
        self._log.close()


def _read(
    logged: LoggedRequest, decoder: StreamDecoder, route: Route, model: str, reply: Reply
) -> Iterator[bytes]:
    begun = grown_at = time.monotonic()
    first: float | None = None
    events: list[Event] = []
    try:
        for piece in reply.pieces:
            now = time.monotonic()
            first = now - begun if first is None else first
            if reply.status == 200:
                events += decoder.feed(piece)
            if events and now - grown_at >= _STEP:
                logged.grow(events)
                events, grown_at = [], now
            yield piece
    finally:
        seconds = {"first": first, "total": time.monotonic() - begun}
        report = {
            "provider": route.provider,
            "model": model,
            "status": reply.status,
            "seconds": seconds,
        }
        logged.end(_response(decoder, reply.status), lambda: report)


def _response(decoder: StreamDecoder, status: int) -> Response:
    if status != 200:
        return Response(error=Failure(code=status))
    try:
        decoder.finish()
    except InnervoiceError as error:  # the emulator was configured to write something invalid
        return Response(error=Failure(message=str(error)))
    return decoder.response
