"""Bytes, chunks or objects -> events and, in the end, a response.

    input ──► frames ──► JSON ──► wire reader ──► inline stage ──► events, Finish

Invalid input never raises here: garbage, a damaged frame or an error of the provider end in a `Finish`
whose response has the error.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from innervoice.canon.events import Event, Finish, Heartbeat
from innervoice.canon.jsontext import UNUSUAL_JSON, load_damaged_json, load_json, usual_json
from innervoice.canon.notes import Note
from innervoice.canon.parts import Part, Text, Thinking
from innervoice.canon.response import Failure, Response
from innervoice.canon.rows import Host
from innervoice.canon.views import kinds_of
from innervoice.catalog.lookup import dialect_at, host_of
from innervoice.catalog.targets import names_of
from innervoice.errors import DecodeError, UsageError
from innervoice.frames.frame import LIMIT, Frame
from innervoice.frames.sniff import AnyFraming
from innervoice.inline.calls import call_notes
from innervoice.inline.marks import SettledPlace
from innervoice.inline.stage import InlineStage
from innervoice.inline.vocabulary import INLINE
from innervoice.text_search import stage_for
from innervoice.wire.dialects import (
    DEFAULT,
    ENVELOPE_MEMBERS,
    dialect_named,
    dialect_of,
    kin_at,
    reader_of,
)
from innervoice.wire.json_access import members_of
from innervoice.wire.objects import bytes_of, json_of
from innervoice.wire.protocol import Context, Reader

if TYPE_CHECKING:
    from innervoice.canon.reasoning import ReasoningReport

__all__ = ["StreamDecoder"]

_FIELD_THINKING = Note("field_thinking")
_TOO_DEEP = Failure(type="DecodeError", message="the JSON is nested too deeply")


class StreamDecoder:
    """Reads an answer that arrives piece by piece.

    `feed` takes bytes cut anywhere, text, dicts or an SDK's chunks; it and `finish` return lists of events,
    the last of which is a `Finish`.

    :param provider: The provider that answered; without it the dialect is recognized by the shape of the data.
    :param model: The model that answered, for what its family writes into the text.
    :param dialect: The wire format, if it is not the provider's usual one.
    :param request: The `Request` or `Wire` that was sent, to compare the setting with the answer.
    :param scope: The account that seals are bound to.
    :param inline: The search for reasoning in the text: "off", "on", "all" for every tag name, or None to decide by provider and model.
    :param limit: The most bytes of one frame.
    """

    _framing: AnyFraming | None = None  # created when bytes arrive
    _reader: Reader | None = None
    _stage: InlineStage | None = None
    _failure: Failure | None = None
    _first = b""
    _values: list[Any]  # messages from before the dialect was recognized
    _early_notes: list[str] | None = None  # codes of notes from before that
    _report: ReasoningReport | None
    _prefix: str | None
    _is_over = False
    _is_whole = False  # the answer is a single message
    _stored = False  # the input is a line of a file, which has one answer
    _opening: tuple[Any, str | None] = (None, None)
    _finished: Response | None = None

    new_call_id: Callable[[], str] | None = None
    """Makes the id of a call that has none; None: a number, unique in the answer."""

    def __init__(
        self,
        provider: str | None = None,
        model: str | None = None,
        dialect: str | None = None,
        request: Any = None,
        scope: str | None = None,
        inline: str | None = None,
        limit: int = LIMIT,
    ) -> None:
        if inline not in INLINE:
            raise UsageError(f"inline must be one of 'on', 'off', 'all' or None, not {inline!r}")
        if dialect is not None:
            dialect_named(dialect)  # raises for a name that is not one
        self._provider, self._model = names_of(provider, model)
        self._host: Host | None = host_of(self._provider) if self._provider else None
        self._dialect = dialect
        request_names = (None, None, None) if request is None else _asked_module().asked_by(request)
        self._report, self._prefix, own_scope = request_names
        self._scope = scope if scope is not None else own_scope
        self._inline, self._limit = inline, limit
        self._values = []

    @property
    def response(self) -> Response:
        """The whole response, after `finish`."""
        if self._finished is None:
            raise UsageError("call finish() first; the response is complete only then")
        return self._finished

    @property
    def failed(self) -> bool:
        """Whether the answer has already ended in an error."""
        return self._failure is not None or bool(self._reader and self._reader.error)

    @property
    def id(self) -> str | None:
        """The id of the answer, once it has come."""
        return self._reader.id if self._reader else None

    @property
    def settled(self) -> SettledPlace | None:
        """The first place that is not settled: everything before it stays as it is, whatever arrives later.

        None if all output so far is settled. `innervoice.inline.marks.Place` states the rules.
        """
        return self._stage.settled if self._stage and self._finished is None else None

    def feed(self, chunk: Any) -> list[Event]:
        """Reads the next piece and returns its events.

        :param chunk: Bytes cut anywhere, text, a dict or an SDK's chunk.
        """
        if self._finished is not None:
            raise UsageError("the stream was finished; a decoder reads one answer")
        if self._failure:
            return []
        try:
            if type(chunk) is not bytes:
                original, chunk = chunk, bytes_of(chunk)
                if chunk is None:
                    return self._read(json_of(original), None)
            if len(self._first) < 80:
                self._first += chunk[:80]
            if self._framing is None:
                self._framing = AnyFraming(limit=self._limit)
            return self._read_frames(self._framing.feed(chunk))
        except DecodeError as error:
            return self._break(error)
        except RecursionError:
            self._failure = _TOO_DEEP
            return []

    def feed_json(self, value: Any, *, whole: bool = False) -> list[Event]:
        """Reads one message that is already parsed.

        :param value: The JSON value.
        :param whole: Whether it is the only message.
        """
        self._is_whole = whole
        return self._read(value, None)

    def finish(self) -> list[Event]:
        """Ends the stream."""
        if self._finished is not None:
            raise UsageError("finish was called already; a decoder reads one answer")
        try:
            events = self._rest(self._framing) if self._framing and not self._failure else []
            if self._reader is None and self._values and not self._failure:
                events += self._read_kept()
            events += self._close()
            self._finished = self._response()
        except RecursionError:
            events = []
            self._finished = Response(provider=self._provider, model=self._model, error=_TOO_DEEP)
        return [*events, Finish(self._finished)]

    # ---- reading -------------------------------------------------------------------------------

    def _read_frames(self, frames: list[Frame]) -> list[Event]:
        events: list[Event] = []
        for frame in frames:
            if (data := frame.data) is None:
                events.append(Heartbeat())
                continue
            try:
                value = usual_json(data)
            except UNUSUAL_JSON:
                try:
                    value = load_json(data)
                except ValueError as error:
                    if not isinstance(error, UnicodeError) or (value := self._mended(data)) is None:
                        events += self._read_no_json(data)
                        if self._failure:
                            break
                        continue
            if frame.failed and isinstance(value, dict):
                self._failure = Failure(
                    type=frame.name, message=value.get("message") or value.get("Message"), raw=value
                )
                break
            if (reader := self._reader) is None:
                events += self._read(value, frame.name)
                continue
            # As `Reader.feed` does: this is done for each delta.
            read: list[Event] = []
            reader.events = read
            reader.read(value, frame.name)
            if not (stage := self._stage) or (len(read) == 1 and type(read[0]) in stage.passing):
                events += read
            else:
                events += stage.feed(read)
        return events

    def _mended(self, data: bytes) -> Any:
        """The JSON of a message with invalid bytes; None if there is none."""
        try:
            value = load_damaged_json(data)
        except ValueError:
            return None
        self._note("invalid_utf8")
        return value

    def _read_kept(self) -> list[Event]:
        """Reads the messages that were kept for the end."""
        first = self._values[0]
        self._opening = first, None
        reader = self._start(first, dialect_of(first))
        events = [event for value in self._values for event in reader.feed(value)]
        if self._stored and reader.parts and reader.wire_finish_reason is None:
            reader.ended = True  # a file holds whole answers
        return self._stage.feed(events) if self._stage else events

    def _rest(self, framing: AnyFraming) -> list[Event]:
        """Reads what only the end of the stream completes."""
        self._is_over = True
        try:
            frames = framing.finish()
            if self._reader is None and len(frames) == 1:
                self._is_whole = True
            return self._read_frames(frames)
        except DecodeError as error:
            return self._break(error)

    def _read_no_json(self, data: bytes) -> list[Event]:
        text = data.strip()
        if text == b"[DONE]":
            if self._reader:
                self._reader.ended = True
        elif text:
            return self._break(
                DecodeError(f"expected JSON in a message of the stream, not {_shown(text)}")
            )
        return []

    def _read(self, value: Any, name: str | None) -> list[Event]:
        if (reader := self._reader) is None:
            if self._stored or (isinstance(value, dict) and not ENVELOPE_MEMBERS.isdisjoint(value)):
                value = self._unwrap(value)
            usual = self._host.dialect if self._host else None
            looks = None if self._dialect else dialect_of(value, name, usual)
            if value is None or (looks is None and not (self._dialect or self._host)):
                self._values += [] if value is None else [value]
                return []
            self._opening = value, name
            reader = self._start(value, looks)
        events = reader.feed(value, name)
        if (stage := self._stage) is None:
            return events
        if self._is_whole and reader.ends_late:
            stage.finish_reason = reader.finish_reason
        return stage.feed(events)

    def _unwrap(self, value: Any) -> Any:
        """The answer in an envelope; None if there is nothing to read yet.

        A line of a batch file is read at the end, when it is certain that the line is the only one.
        """
        if self._stored:
            self._break(DecodeError("expected one answer, not several lines: decode each line"))
            return None
        from innervoice.wire.envelopes import opened  # noqa: PLC0415 - few answers have one

        try:
            content = opened(value, lambda inner: dialect_of(inner) is not None)
        except DecodeError as error:
            self._break(error)
            return None
        if content is None:
            return value
        self._stored, self._failure = content.is_stored, content.failure
        if content.failure or not content.is_stored:
            return content.answer
        self._values = [content.answer]
        return None

    def _break(self, error: DecodeError) -> list[Event]:
        if self._is_over and self._reader:
            # A message is cut off, so the stream was; the messages before it are complete.
            if self._reader.ended:
                self._note("broken_after_end")
            return []
        self._failure = Failure(type=type(error).__name__, message=str(error))
        return []

    def _note(self, code: str) -> None:
        if self._reader:
            self._reader.notebook.add(code)
        else:
            self._early_notes = self._early_notes or []
            self._early_notes.append(code)

    # ---- the reader ----------------------------------------------------------------------------

    def _start(self, value: Any, looks: str | None) -> Reader:
        """Chooses the reader: by the arguments, or by the dialect that the first message looks like."""
        host = self._host
        dialect = self._dialect or (kin_at(looks, host.dialect) if host else looks)
        if dialect is None:
            dialect = dialect_at(host, self._model or "") if host else DEFAULT
        context = Context(
            provider=self._provider,
            model=self._model,
            dialect=dialect,
            scope=self._scope,
            prefix=self._prefix,
            cumulative=host.cumulative if host else False,
            separate_reasoning=host.separate_reasoning if host else False,
            whole=self._is_whole and type(value) is dict,
            new_call_id=self.new_call_id,
        )
        reader = self._reader = reader_of(dialect, context)
        for code in self._early_notes or ():
            reader.notebook.add(code)
        if self._inline != "off":
            self._stage = stage_for(reader, self._model or _echoed(value), host, self._inline)
        return reader

    # ---- the end -------------------------------------------------------------------------------

    def _close(self) -> list[Event]:
        reader = self._reader
        if reader is None:
            if not self._failure:
                beginning = f": {_shown(self._first)}" if self._first else ""
                self._failure = Failure(
                    type="DecodeError", message=f"no answer was received{beginning}"
                )
            return []
        if self._failure:
            reader.ended = False
        elif not reader.has_begun and dialect_of(*self._opening) is None:
            came = members_of(self._opening[0])
            message = f"the JSON is not an answer of a known API: {came}"
            self._failure = Failure(type="DecodeError", message=message)
        if not self._stage or self._stage.untouched:
            return reader.finish()
        self._stage.finish_reason = reader.finish_reason
        return self._stage.feed(reader.finish()) + self._stage.finish(reader.parts)

    def _response(self) -> Response:
        reader = self._reader
        if reader is None:
            return Response(provider=self._provider, model=self._model, error=self._failure)
        stage = self._stage
        parts = stage.parts if stage and not stage.untouched else tuple(reader.parts)
        apart, said = kinds_of(parts)
        notes = reader.notebook.notes()
        origin = reader.origin(reader.message_block or None, reader.message_seals)
        response = Response(
            parts=parts,
            provider=self._provider,
            model=reader.model or self._model,
            id=reader.id,
            ended=reader.ended,
            finish_reason=reader.finish_reason,
            wire_finish_reason=reader.wire_finish_reason,
            usage=reader.usage,
            reasoning_report=self._report,
            notes=(*notes, _FIELD_THINKING) if apart else notes,
            error=self._failure or reader.error,
            alternatives=self._alternatives(reader) if reader.others else (),
            origin=origin,
        )
        if response.reasoning_report and _asked_module().is_ignored(
            response.reasoning_report, response
        ):
            response = response.replace(notes=(*response.notes, Note("setting_ignored")))
        if candidates := call_notes(parts):
            response = response.replace(notes=(*response.notes, *candidates))
        return response if said else self._without_answer(response, reader)

    def _without_answer(self, response: Response, reader: Reader) -> Response:
        """A response that has no text, with a note about where the answer may be."""
        if response.status == "empty" and response.has_thinking:
            return response.replace(notes=(*response.notes, Note("answer_in_reasoning")))
        if response.error is not None or any(map(_says, response.parts)):
            return response
        from innervoice.wire.unread import unread_members  # noqa: PLC0415 - few answers are empty

        blocks = [part.origin.block for part in response.parts if part.origin]
        names = unread_members([self._opening[0], reader.message_block, *blocks]) or reader.unread
        if not names:
            return response
        note = Note("content_unread", ", ".join(names))
        return response.replace(notes=(*response.notes, note))

    def _alternatives(self, reader: Reader) -> tuple[Response, ...]:
        alternatives: list[Response] = []
        for _, values in sorted(reader.others.items()):
            decoder = StreamDecoder(
                provider=self._provider,
                model=self._model,
                dialect=reader.dialect,
                scope=self._scope,
                inline=self._inline,
            )
            for value in values:
                decoder.feed_json(value)
            decoder.finish()
            alternatives.append(decoder.response)
        return tuple(alternatives)


@cache
def _asked_module() -> Any:
    """Imported only if the caller names the request."""
    return import_module("innervoice.planning.asked")


def _says(part: Part) -> bool:
    """Whether a part is more than an empty text or empty reasoning."""
    if not isinstance(part, (Text, Thinking)):
        return True
    return bool(part.text) or (part.origin is not None and bool({*part.origin.seals} - {"id"}))


def _echoed(value: Any) -> str:
    model = value.get("model") if isinstance(value, dict) else None
    return model if isinstance(model, str) else ""


def _shown(data: bytes) -> str:
    text = data[:60].decode("utf-8", "replace")
    return repr(text + ("..." if len(data) > 60 else ""))
