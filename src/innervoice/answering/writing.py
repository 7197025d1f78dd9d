"""Writes an answer, whole or as its events arrive: the inverse of `decoding.py`."""

from __future__ import annotations

import time
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from itertools import zip_longest
from secrets import token_hex
from typing import Any, NamedTuple, overload

from innervoice.answering.encoder import AnswerEncoder
from innervoice.canon.events import (
    Event,
    Finish,
    Recast,
)
from innervoice.canon.notes import Note, Notebook
from innervoice.canon.response import Response
from innervoice.canon.tools import Tool
from innervoice.errors import UsageError
from innervoice.frames.frame import Frame
from innervoice.frames.lines import JsonArray
from innervoice.inline.marks import SettledPlace
from innervoice.wire.answer import AnswerHead, Seal
from innervoice.wire.dialects import dialect_named
from innervoice.wire.write import wholes

__all__ = ["CREATED", "StreamEncoder", "encode_events", "encode_response", "encode_stream"]

# ---- Writes an answer in a provider's dialect as its events arrive.


class StreamEncoder(AnswerEncoder):
    """Writes an answer as its events arrive.

    `feed` and `finish` return bytes, framed as by the dialect's API; `ping` returns a keep-alive.

    :param dialect: The wire format to write.
    :param model: The model's name that is written into the answer.
    :param id: The id that is written into the answer.
    :param seal: Returns what a client has to carry in the opaque member of a part that came from another dialect.
    :param choice: The number of one of several answers.
    :param tools: The tools of the client's request: calls of functions that replaced its free-form tools are written as calls of those.
    :param array: Writes one JSON array, as Gemini does without `alt=sse`.
    :param echo: Members of the request that a Responses answer repeats.
    :param created: The time of the answer, in seconds since 1970; None: now.
    """

    def __init__(
        self,
        dialect: str,
        model: str | None = None,
        *,
        id: str | None = None,  # noqa: A002 - the name that the wire has for it
        seal: Seal | None = None,
        choice: int = 0,
        tools: Iterable[Tool] = (),
        array: bool = False,
        echo: Mapping[str, Any] | None = None,
        created: int | None = None,
    ) -> None:
        row = dialect_named(dialect)
        now = time.time() if created is None else created
        head = AnswerHead(
            id=id or f"{row.id_start}{token_hex(12)}",
            model=model or "",
            created=int(now),
            created_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)),
            choice=choice,
            echo=dict(echo or {}),
        )
        self.id = head.id
        """The id in the answer."""
        if array and not row.streams_lists:
            raise UsageError(
                f"array is for dialects that stream a JSON array, which {dialect!r} does not"
            )
        self._array = JsonArray() if array else None
        super().__init__(row.answer_writer(head, Notebook(), seal), self._array or row.framing)
        self._free_form = {tool.name for tool in tools if tool.is_free_form}

    def _end(self, response: Response) -> None:
        self._writer.ended_at = int(time.time())
        super()._end(response)

    def _taken(self) -> bytes:
        data = super()._taken()
        if self._array and self._is_over:
            data += self._array.end()
            self._array = None
        return data


CREATED = 1_767_225_600
_CREATED_AT = "2026-01-01T00:00:00Z"
"""The first second of 2026: APIs require a time, and none is known."""


class WrittenAnswer(NamedTuple):
    """A whole answer in a dialect."""

    body: dict[str, Any]
    """The answer as JSON."""
    notes: tuple[Note, ...]
    """What the dialect cannot represent."""


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

    Its alternatives are written where the dialect has several choices. `written` also returns notes about parts that the dialect cannot represent.

    :param response: The answer.
    :param dialect: The wire format to write.
    :param model: The model's name that is written into the answer.
    :param tools: The tools of the client's request: calls of functions that replaced its free-form tools are written as calls of those.
    :param seal: Returns what a client has to carry in the opaque member of a part that came from another dialect.
    :param echo: Members of the request that a Responses answer repeats.
    """
    return written(response, dialect, model, tools=tools, seal=seal, echo=echo).body


def written(
    response: Response,
    dialect: str,
    model: str | None = None,
    *,
    tools: Iterable[Tool] = (),
    seal: Seal | None = None,
    echo: Mapping[str, Any] | None = None,
) -> WrittenAnswer:
    """Like `encode_response`, with notes: `.body` is the answer, `.notes` say what the dialect has no place for.

    :param response: The answer.
    :param dialect: The wire format to write.
    :param model: The model's name that is written into the answer.
    :param tools: The tools of the client's request: calls of functions that replaced its free-form tools are written as calls of those.
    :param seal: Returns what a client has to carry in the opaque member of a part that came from another dialect.
    :param echo: Members of the request that a Responses answer repeats.
    """
    if not isinstance(response, Response):
        kind = type(response).__name__
        raise UsageError(
            f"expected a Response, not {kind}; convert(message, to=...) writes a message"
        )
    name, answer_id = model or response.model, _own_id(response, dialect)
    encoders: list[AnswerEncoder] = []
    for choice, one in enumerate((response, *response.alternatives)):
        encoder = StreamEncoder(
            dialect, name, id=answer_id, choice=choice, tools=tools, seal=seal, echo=echo
        )
        answer_id = encoder.id
        encoder.write_whole(one)
        encoders.append(encoder)
    return _joined(encoders)


def _joined(encoders: Sequence[AnswerEncoder]) -> WrittenAnswer:
    notebook = Notebook()
    for encoder in encoders:
        for note in encoder.notes:
            notebook.add(note.code, note.detail, note.count)
    first, *others = encoders
    return WrittenAnswer(first.body_with(others), notebook.notes())


# ---- answers as their own server sent them


def exact_answer(
    response: Response, dialect: str, *, echo: Mapping[str, Any] | None = None
) -> WrittenAnswer:
    """Writes a whole answer as the server of the dialect would have sent it.

    Parts that were split out of a text of this dialect are that text again; those of another dialect stay apart. `echo` has members of
    the request that the answer repeats.
    """
    encoders = []
    for encoder, one in _exact(response, dialect, echo=echo):
        encoder.write_whole(one)
        encoders.append(encoder)
    return _joined(encoders)


def exact_stream(
    response: Response,
    dialect: str,
    size: int,
    *,
    echo: Mapping[str, Any] | None = None,
    queued: bool = False,
) -> Iterator[Frame]:
    """The same answer as a stream, its texts in deltas of `size` characters. Several choices alternate. One that was `queued` says so first."""
    choices: list[list[Frame]] = []
    for encoder, one in _exact(response, dialect, size, echo):
        announced = encoder.announced() if queued else []
        choices.append([*announced, *encoder.frames(Finish(one))])
    for frames in zip_longest(*choices[1:]):
        yield from choices[0][:1]
        del choices[0][:1]
        yield from filter(None, frames)
    yield from choices[0]


def _exact(
    response: Response,
    dialect: str,
    size: int | None = None,
    echo: Mapping[str, Any] | None = None,
) -> Iterator[tuple[AnswerEncoder, Response]]:
    row = dialect_named(dialect)
    answer_id = response.id or f"{row.id_start}0"
    for choice, one in enumerate((response, *response.alternatives)):
        head = AnswerHead(
            answer_id,
            response.model or "",
            CREATED,
            _CREATED_AT,
            choice,
            dict(echo or {}),
            is_exact=True,
        )
        writer = row.answer_writer(head, Notebook())
        writer.usage = response.usage
        writer.is_refused = one.finish_reason == "refusal"
        whole = one.replace(parts=tuple(wholes(one.parts, dialect)), usage=response.usage)
        yield AnswerEncoder(writer, exact=True, delta_size=size), whole


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

    :param events: The events of an answer, from `decode_stream`, a client's stream, or a list.
    :param dialect: The wire format to write.
    :param model: The model's name that is written into the answer.
    :param tools: The tools of the client's request: calls of functions that replaced its free-form tools are written as calls of those.
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
    bounds = None
    if isinstance(events, (list, tuple)) and events:
        bounds = _bounds_of(events)
        encoder.expect(events[-1])
    for number, event in enumerate(events):
        bound = bounds[number] if bounds else getattr(events, "settled", None)
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


def _bounds_of(events: list[Event] | tuple[Event, ...]) -> list[SettledPlace | None]:
    """For each event of a whole list, the first part that a later `Recast` replaces."""
    bounds: list[SettledPlace | None] = []
    bound: SettledPlace | None = None
    for event in reversed(events):
        bounds.append(bound)
        if isinstance(event, Recast) and (bound is None or event.index < bound.part):
            bound = SettledPlace(event.index, 0)
    return bounds[::-1]


def _own_id(response: Response, dialect: str) -> str | None:
    came_from = response.origin.dialect if response.origin else None
    return response.id if came_from in (None, dialect) else None
