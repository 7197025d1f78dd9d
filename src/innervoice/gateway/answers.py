"""The answer on its way back: which parts of it the client gets, and when.

    BytesAnswer      the upstream's own bytes; the last frames wait until the turn is stored
    CompactedStream, CompactedBody    a compaction, from the summary that the upstream wrote
    StreamedAnswer   events in the client's dialect, as soon as they are settled
    WholeAnswer      nothing before the end, then one body

Nothing is sent to the client before the upstream has sent something: until then the request can be retried, or sent elsewhere.
"""

from __future__ import annotations

import re
from typing import Any, Protocol

from innervoice.answering.writing import (
    StreamEncoder,
    WrittenAnswer,
    encode_response,
    written,
)
from innervoice.canon.events import Finish, UsageUpdate
from innervoice.canon.jsontext import dump_json, in_utf8, load_json
from innervoice.canon.notes import Note
from innervoice.canon.parts import Opaque, Part
from innervoice.canon.response import Failure, Response
from innervoice.canon.usage import Usage
from innervoice.errors import UsageError
from innervoice.frames.eventstream import EventStream, event_bytes
from innervoice.frames.frame import Frame, FrameError
from innervoice.frames.sse import ServerSentEvents
from innervoice.gateway.client_request import ClientRequest
from innervoice.gateway.estimates import estimated_usage
from innervoice.gateway.responses.compactions import compacted
from innervoice.gateway.rewritten import Attempt
from innervoice.gateway.upstreams import GatewayExchange
from innervoice.inline.marks import UNSETTLED
from innervoice.wire.dialects import dialect_named
from innervoice.wire.json_access import as_dict
from innervoice.wire.late_errors import late_refusal
from innervoice.wire.responses.compactions import compacted_body
from innervoice.wire.serve import StoredAnswers

__all__ = ["ClientAnswer", "TranslatedAnswer", "answer_for", "silent_ping"]

_NUMBER = re.compile(rb'"sequence_number":\s*(\d+)')
_SSE = "text/event-stream"
_LINES = "application/x-ndjson"
_BINARY = "application/vnd.amazon.eventstream"
_LOOKED_AT = 1024
"""How many bytes are searched for the beginning of an answer: blanks may come before it."""
_SHORTEST_FRAME = 16
"""Bytes of an AWS event stream: lengths and checksums."""


class ClientAnswer(Protocol):
    """The answer in the client's dialect, in pieces."""

    media_type: str

    def take(self) -> bytes:
        """The bytes that can be sent now."""
        ...

    def last(self) -> bytes:
        """The rest, once the answer has ended and is stored."""
        ...

    def fail(self, failure: Failure) -> bytes:
        """A valid end for an answer that was cut off."""
        ...

    def ping(self) -> bytes:
        """A keep-alive that is allowed at this point; b"" if none is."""
        ...

    def written(self) -> dict[str, Any] | None:
        """The whole answer as the client has it, once it has ended; None if it is not an answer."""
        ...

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes about parts that the client's dialect cannot represent."""
        ...

    @property
    def compaction(self) -> dict[str, Any] | None:
        """The compaction that the gateway made of the answer; None if the answer is another one."""
        ...


def silent_ping(media_type: str, dialect: str) -> bytes:
    """A keep-alive outside of any answer: a comment, or white space before JSON; lines and binary frames have none."""
    if media_type == _SSE:
        return dialect_named(dialect).framing(Frame(None))
    return b"\n" if media_type == "application/json" else b""


def answer_for(request: ClientRequest, attempt: Attempt, exchange: GatewayExchange) -> ClientAnswer:
    """Chooses how the answer of an exchange is sent back."""
    if attempt.is_bytes:
        exchange.tap = bytearray()
        return BytesAnswer(request, attempt, exchange)
    if attempt.is_compaction and (attempt.is_summary or request.is_compact):
        kind = CompactedStream if request.stream else CompactedBody
        return kind(request, attempt, exchange)
    if request.stream:
        return StreamedAnswer(request, attempt, exchange)
    return WholeAnswer(request, attempt, exchange)


class TranslatedAnswer:
    """What whole and streamed answers in the client's dialect have in common: their token counts."""

    compaction: dict[str, Any] | None = None

    def __init__(self, request: ClientRequest, attempt: Attempt, exchange: GatewayExchange) -> None:
        self._request = request
        self._attempt = attempt
        self._tools = attempt.request.tools
        self._exchange = exchange
        self._is_estimated = False

    def follow(self, attempt: Attempt, exchange: GatewayExchange) -> None:
        """Another exchange has taken over the events, and goes on with the answer."""
        self._attempt, self._exchange = attempt, exchange

    def _counted(self, response: Response) -> Response:
        """The answer with its token counts; if the provider sent none, all of them are estimates, not only the one at the beginning."""
        if response.usage.total_tokens is not None:
            return response
        self._is_estimated = True
        return response.replace(usage=estimated_usage(response, self._request.tokens()))

    def _compacted(self) -> Response:
        """The answer with its compaction; raises `ServerError` if there is none."""
        response = compacted(self._request, self._attempt, self._exchange.response)
        if self._attempt.is_summary:
            part = response.parts[0]
            assert isinstance(part, Opaque)
            self.compaction = part.value
        return self._counted(response)

    def _with_estimate(self, notes: tuple[Note, ...]) -> tuple[Note, ...]:
        return (*notes, Note("tokens_estimated")) if self._is_estimated else notes


class StreamedAnswer(TranslatedAnswer):
    """Events in the client's dialect, as soon as they are settled."""

    def __init__(self, request: ClientRequest, attempt: Attempt, exchange: GatewayExchange) -> None:
        super().__init__(request, attempt, exchange)
        endpoint = request.endpoint
        self._position = exchange.events.new_position()
        queued = request.queued
        self._encoder = StreamEncoder(
            endpoint.dialect,
            request.name,
            id=queued.id if queued else None,
            seal=_Sealing(request),
            tools=self._tools,
            array=endpoint.array,
            echo=request.echo(attempt),
            created=queued.created if queued else None,
        )
        if queued:
            self._encoder.queue()  # the client has these events
        self._has_begun = False
        self._dialect = endpoint.dialect
        row = dialect_named(endpoint.dialect)
        self.media_type = "application/json" if endpoint.array else row.media_type

    def take(self) -> bytes:
        """The bytes that can be sent now; none before the upstream has sent something."""
        exchange, position = self._exchange, self._position
        events = exchange.events
        if not exchange.has_output or position.index == len(events):
            return b""
        pieces = [self._begun()]
        while position.index < len(events):
            event = events[position.index]
            position.index += 1
            if type(event) is Finish:
                break
            bound = exchange.bound if position.index == len(events) else UNSETTLED
            pieces.append(self._encoder.feed(event, bound))
        return b"".join(pieces)

    def last(self) -> bytes:
        """The end of the answer."""
        before = self.take()
        response = self._counted(self._exchange.response)
        return before + self._begun() + self._encoder.feed(Finish(response))

    def fail(self, failure: Failure) -> bytes:
        """The end of an answer that was cut off."""
        response = self._counted(self._exchange.response)
        return self._begun() + self._encoder.feed(Finish(_broken(response, failure)))

    def written(self) -> dict[str, Any] | None:
        """The same answer as one body."""
        try:
            return self._encoder.body
        except UsageError:  # the answer has no end
            return None

    def ping(self) -> bytes:
        """A keep-alive. Before the first event it contains nothing of the answer, which may still come from another upstream."""
        if self._has_begun:
            return self._encoder.ping()
        return silent_ping(self.media_type, self._dialect)

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes about parts that the client's dialect cannot represent, and about estimated counts."""
        return self._with_estimate(self._encoder.notes)

    def _begun(self) -> bytes:
        """The beginning, with an estimate of the input tokens, which clients show until the count arrives."""
        if self._has_begun:
            return b""
        self._has_begun = True
        return self._encoder.feed(UsageUpdate(Usage(input_tokens=self._request.tokens())))


class WholeAnswer(TranslatedAnswer):
    """One body, at the end."""

    media_type = "application/json"

    def __init__(self, request: ClientRequest, attempt: Attempt, exchange: GatewayExchange) -> None:
        super().__init__(request, attempt, exchange)
        self._written: WrittenAnswer | None = None

    def take(self) -> bytes:
        """Nothing before the end."""
        return b""

    def last(self) -> bytes:
        """The body."""
        request = self._request
        self._written = written(
            self._counted(self._exchange.response),
            request.endpoint.dialect,
            request.name,
            tools=self._tools,
            seal=_Sealing(request),
            echo=request.echo(self._attempt),
        )
        return dump_json(self._written.body)

    def written(self) -> dict[str, Any] | None:
        """The body."""
        return self._written.body if self._written else None

    def fail(self, failure: Failure) -> bytes:
        """The body of the error."""
        return _error_body(self._request.endpoint.dialect, failure)

    def ping(self) -> bytes:
        """White space before the body, which JSON allows."""
        return silent_ping(self.media_type, self._request.endpoint.dialect)

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes about parts that the client's dialect cannot represent, and about estimated counts."""
        return self._with_estimate(self._written.notes if self._written else ())


class CompactedStream(StreamedAnswer):
    """A compaction as a stream: it begins with the upstream's answer, whose text is not sent."""

    def take(self) -> bytes:
        """The beginning, once the upstream writes; nothing of the summary."""
        return b"" if self._has_begun or not self._exchange.has_output else self._begun()

    def last(self) -> bytes:
        """The item, and the end."""
        return self._begun() + self._encoder.feed(Finish(self._compacted()))

    def fail(self, failure: Failure) -> bytes:
        """The end of a compaction that did not succeed."""
        response = _broken(self._exchange.response, failure).replace(parts=())
        return self._begun() + self._encoder.feed(Finish(self._counted(response)))


class CompactedBody(WholeAnswer):
    """A compaction as one body: an answer, or the object of the path for compactions."""

    def last(self) -> bytes:
        """The body."""
        request = self._request
        answer = written(
            self._compacted(),
            request.endpoint.dialect,
            request.name,
            echo=request.echo(self._attempt),
        )
        if not request.is_compact or self._attempt.rewritten is None:
            self._written = answer
            return dump_json(answer.body)
        return dump_json(compacted_body(answer.body, self._attempt.rewritten.items))


class BytesAnswer:
    """The upstream's own bytes; if it sends one body where a stream was requested, a stream that is written here."""

    compaction = None

    def __init__(self, request: ClientRequest, attempt: Attempt, exchange: GatewayExchange) -> None:
        endpoint = request.endpoint
        row = dialect_named(endpoint.dialect)
        self._request = request
        self._attempt, self._exchange = attempt, exchange
        self._streamed: StreamedAnswer | None = None
        self._terminal = row.last_mark
        self._others = row.other_marks
        self._end = b""
        self._failure: Failure | None = None
        self._is_held = not request.stream
        self._has_begun = False
        self._number: int | None = None
        self._is_numbered = row.numbers_events
        is_stream = request.stream and not endpoint.array
        self.media_type = row.media_type if is_stream else "application/json"

    def take(self) -> bytes:
        """The bytes received so far, except the frames that end the answer."""
        exchange = self._exchange
        tap = exchange.tap
        assert tap is not None
        if self._is_held or not exchange.has_output or not tap:
            return b""
        if (
            self._terminal in tap
            or (not self._has_begun and self._is_one_body(tap))
            or (self._others and any(mark in tap for mark in self._others))
        ):
            self._is_held = True
            return b""
        if self.media_type == _SSE and tap.endswith(b"\n\n"):
            return self._taken(tap, len(tap))  # mostly, each chunk has whole events
        return self._taken(tap, _whole_frames(tap, self.media_type))

    def last(self) -> bytes:
        """The rest. An answer that was cut off after its end gets the frame that it lacks."""
        tap = self._exchange.tap
        assert tap is not None
        if self._is_one_body(tap):
            self._streamed = StreamedAnswer(self._request, self._attempt, self._exchange)
            return self._streamed.last()
        notes = self._exchange.response.notes
        is_cut = any(note.code == "broken_after_end" for note in notes)
        data = self._taken(tap, _whole_frames(tap, self.media_type) if is_cut else len(tap))
        frame = dialect_named(self._request.endpoint.dialect).closing
        if self._request.stream and frame and self._terminal not in data:
            space = b"" if not data or data.endswith((b"\n\n", b"\r\n\r\n")) else b"\n\n"
            data += space + frame
        self._end = data
        return data

    def written(self) -> dict[str, Any] | None:
        """The upstream's own object, from its body or from the event that ends it; for an answer that was cut off, what was received of it."""
        if self._streamed is not None:
            return self._streamed.written()
        if self._failure is not None:
            response = _broken(self._exchange.response, self._failure)
            dialect = self._request.endpoint.dialect
            echo = self._request.echo(self._attempt)
            return encode_response(response, dialect, echo=echo) if response.id else None
        api = dialect_named(self._request.endpoint.dialect).stored_answers
        if api is None:
            return None
        if not self._request.stream:
            return _object_of(Frame(self._end), None)
        return self._streamed_object(api)

    def _streamed_object(self, api: StoredAnswers) -> dict[str, Any] | None:
        """The upstream's own object, from the end of its stream, or from all of it where the last event does not have the object."""
        if not api.is_in_last_event:
            return encode_response(self._exchange.response, api.dialect)
        events = ServerSentEvents()
        frames = [*events.feed(self._end), *events.finish()]
        answer = next(
            filter(None, (_object_of(frame, api.noun) for frame in reversed(frames))), None
        )
        if answer is None or api.output in answer:
            return answer
        # The last event of some APIs has everything but what the model said.
        return {**encode_response(self._exchange.response, api.dialect), **answer}

    def fail(self, failure: Failure) -> bytes:
        """The dialect's own error in the middle of a stream."""
        self._failure = failure if self._request.stream else None
        if not self._request.stream:
            return _error_body(self._request.endpoint.dialect, failure)
        row = dialect_named(self._request.endpoint.dialect)
        error = self._failed_answer() or row.server.write_stream_error(
            late_refusal(failure, row.name)
        )
        if self._request.endpoint.array:
            return (b"," if self._has_begun else b"[") + (error.data or b"") + b"]"
        has_done = row.last_mark.startswith(b"[")
        closing = (row.closing or row.framing(Frame(row.last_mark))) if has_done else b""
        return self._numbered(row.framing(error)) + closing

    def _failed_answer(self) -> Frame | None:
        """The event with an answer that failed, in the API whose answers say that themselves; None in others, or if nothing of it came."""
        api = dialect_named(self._request.endpoint.dialect).stored_answers
        if api is None or api.ended_early is None or not (answer := self.written()):
            return None
        name, items = f"{api.noun}.failed", answer[api.output]
        answer[api.output] = [item for item in items if item.get("status") != "incomplete"]
        event = {"type": name, api.noun: answer, "sequence_number": 0}
        return Frame(dump_json(event), name)

    def _numbered(self, data: bytes) -> bytes:
        """A frame written by the gateway, which continues the upstream's numbering."""
        number = 0 if self._number is None else self._number + 1
        return _NUMBER.sub(b'"sequence_number":%d' % number, data)

    def ping(self) -> bytes:
        """A keep-alive, in the dialect's own form once the answer has begun."""
        dialect = self._request.endpoint.dialect
        if self._has_begun and self.media_type == _SSE:
            return StreamEncoder(dialect).ping()
        return b"" if self._has_begun else silent_ping(self.media_type, dialect)

    @property
    def notes(self) -> tuple[Note, ...]:
        """No notes unless the answer was rewritten: nothing else is left out."""
        return () if self._streamed is None else self._streamed.notes

    def _is_one_body(self, tap: bytearray) -> bool:
        """Whether the upstream sends one JSON object where a stream was requested; a line of JSON is a stream already."""
        if not self._request.stream or self._has_begun or self.media_type == _LINES:
            return False
        return tap[:_LOOKED_AT].lstrip()[:1] == b"{"

    def _in_utf8(self, data: bytes) -> bytes:
        if self.media_type == _BINARY:
            return _with_text(data)
        if not self._request.stream and data.lstrip()[:1] not in (b"{", b"["):
            return data  # something else came than was asked for, such as a stream of binary frames
        return in_utf8(data)

    def _taken(self, tap: bytearray, end: int) -> bytes:
        data = bytes(tap) if end == len(tap) else bytes(tap[:end])
        del tap[:end]
        if not data.isascii():
            data = self._in_utf8(data)
        self._has_begun = self._has_begun or bool(data)
        if not self._is_numbered:
            return data
        if (place := data.rfind(b'"sequence_number":')) >= 0 and (
            match := _NUMBER.match(data, place)
        ):
            self._number = int(match[1])
        return data


def _with_text(data: bytes) -> bytes:
    """Binary frames whose payloads are valid UTF-8; damaged ones stay as they are, for the client to refuse."""
    try:
        frames = EventStream().feed(data)
    except FrameError:
        return data
    valid = [frame.replace(data=in_utf8(frame.data or b"")) for frame in frames]
    return data if valid == frames else b"".join(map(event_bytes, valid))


def _behind_character(data: bytearray) -> int:
    """How many of the bytes are whole characters."""
    for length in range(1, min(4, len(data) + 1)):
        byte = data[-length]
        if byte >= 0xC0:  # the first byte of a character of two to four
            return (
                len(data) - length if length < (2 + (byte >= 0xE0) + (byte >= 0xF0)) else len(data)
            )
        if byte < 0x80:
            break
    return len(data)


def _whole_frames(data: bytearray, media_type: str) -> int:
    """How many of the bytes are whole frames; only these are sent, so that a keep-alive or an error can follow at any time."""
    if media_type == _SSE:
        return max(_behind(data, b"\n\n"), _behind(data, b"\r\n\r\n"), _behind(data, b"\r\r"))
    if media_type == _LINES:
        return _behind(data, b"\n")
    if media_type != _BINARY:
        return _behind_character(data)
    end = 0
    while end + 4 <= len(data):
        length = int.from_bytes(data[end : end + 4], "big")
        if length < _SHORTEST_FRAME:
            return len(data)  # not an event stream
        if end + length > len(data):
            break
        end += length
    return end


def _behind(data: bytearray, mark: bytes) -> int:
    place = data.rfind(mark)
    return place + len(mark) if place >= 0 else 0


def _object_of(frame: Frame, member: str | None) -> dict[str, Any] | None:
    """The answer in a body, or in this member of an event; None if there is none."""
    try:
        value = as_dict(load_json(frame.data or b"null"))
    except ValueError:
        return None
    return as_dict(value.get(member) if member else value) or None


class _Sealing:
    """Seals parts for the client, each once: a writer may ask for the same part twice."""

    def __init__(self, request: ClientRequest) -> None:
        self._request = request
        self._last: tuple[Part, str | None] | None = None

    def __call__(self, part: Part) -> str | None:
        if self._last is None or self._last[0] is not part:
            self._last = (part, self._request.seal(part))
        return self._last[1]


def _error_body(dialect: str, failure: Failure) -> bytes:
    return dump_json(dialect_named(dialect).server.write_error(late_refusal(failure, dialect)))


def _broken(response: Response, failure: Failure) -> Response:
    return response.replace(ended=False, error=failure)
