"""Writes an answer, whole or as its events arrive: the inverse of `decoding.py`."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from typing import Any, overload

from innervoice.answering.encoder import AnswerEncoder
from innervoice.answering.stream_encoder import StreamEncoder
from innervoice.canon.events import Event, Finish, Recast
from innervoice.canon.response import Response
from innervoice.canon.tools import Tool
from innervoice.inline.marks import Place
from innervoice.wire.answer import Seal

__all__ = ["encode_events", "encode_response", "encode_stream"]


def encode_response(
    response: Response,
    dialect: str,
    model: str | None = None,
    *,
    tools: Iterable[Tool] = (),
    seal: Seal | None = None,
    echo: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Writes a whole answer: the inverse of `decode`.

    Its alternatives are written where the dialect has several choices. `tools` are those of the client's request, for its free-form ones;
    `seal` returns what a client has to carry in the opaque member of a part that came from another dialect, `echo` has members of the request
    that a Responses answer repeats. `StreamEncoder` has notes about parts that the dialect cannot represent.
    """
    name, known = model or response.model, _own_id(response, dialect)
    encoders: list[StreamEncoder] = []
    for choice, one in enumerate((response, *response.alternatives)):
        encoder = StreamEncoder(
            dialect, name, id=known, choice=choice, tools=tools, seal=seal, echo=echo
        )
        known = encoder.id
        encoder.feed(Finish(one))
        encoders.append(encoder)
    first, *others = encoders
    return first.body_with(others)


@overload
def encode_stream(
    events: AsyncIterable[Event],
    dialect: str,
    model: str | None = ...,
    *,
    tools: Iterable[Tool] = ...,
) -> AsyncIterator[bytes]: ...
@overload
def encode_stream(
    events: Iterable[Event], dialect: str, model: str | None = ..., *, tools: Iterable[Tool] = ...
) -> Iterator[bytes]: ...
def encode_stream(
    events: Iterable[Event] | AsyncIterable[Event],
    dialect: str,
    model: str | None = None,
    *,
    tools: Iterable[Tool] = (),
) -> Iterator[bytes] | AsyncIterator[bytes]:
    """Writes an answer as its events arrive: the inverse of `decode_stream`; an async iterable yields an async iterator.

    Events of `decode_stream` and of a client's stream come with the place that is settled. A list is first searched for a `Recast`.
    """
    return encode_events(events, StreamEncoder(dialect, model, tools=tools))


@overload
def encode_events(events: AsyncIterable[Event], encoder: AnswerEncoder) -> AsyncIterator[bytes]: ...
@overload
def encode_events(events: Iterable[Event], encoder: AnswerEncoder) -> Iterator[bytes]: ...
def encode_events(
    events: Iterable[Event] | AsyncIterable[Event], encoder: AnswerEncoder
) -> Iterator[bytes] | AsyncIterator[bytes]:
    """Writes an answer with this encoder as its events arrive."""
    if isinstance(events, AsyncIterable):
        return _encode_async(events, encoder)
    return _encode(events, encoder)


def _encode(events: Iterable[Event], encoder: AnswerEncoder) -> Iterator[bytes]:
    held = _bounds_of(events) if isinstance(events, (list, tuple)) else None
    for number, event in enumerate(events):
        bound = held[number] if held else getattr(events, "settled", None)
        if data := encoder.feed(event, bound):
            yield data
    if data := encoder.finish():
        yield data


async def _encode_async(
    events: AsyncIterable[Event], encoder: AnswerEncoder
) -> AsyncIterator[bytes]:
    async for event in events:
        if data := encoder.feed(event, getattr(events, "settled", None)):
            yield data
    if data := encoder.finish():
        yield data


def _bounds_of(events: list[Event] | tuple[Event, ...]) -> list[Place | None]:
    """For each event of a whole list, the first part that a later `Recast` replaces."""
    bounds: list[Place | None] = []
    bound: Place | None = None
    for event in reversed(events):
        bounds.append(bound)
        if isinstance(event, Recast) and (bound is None or event.index < bound.part):
            bound = Place(event.index, 0)
    return bounds[::-1]


def _own_id(response: Response, dialect: str) -> str | None:
    came_from = response.origin.dialect if response.origin else None
    return response.id if came_from in (None, dialect) else None
