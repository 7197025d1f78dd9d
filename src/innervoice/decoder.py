"""Bytes, chunks or objects -> events and, in the end, a response.

    what comes ──► frames ──► JSON ──► wire reader ──► inline stage ──► events, Finish

Nothing that comes raises here: garbage, a damaged frame or an error of the provider end in a `Finish`
whose response says so.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from innervoice.canon.events import Event, Finish, Heartbeat
from innervoice.canon.jsontext import load_json
from innervoice.canon.notes import Note, Notebook
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, Text, Thinking, is_inline
from innervoice.canon.reasoning import ReasoningReport
from innervoice.canon.request import Request, Wire
from innervoice.canon.response import Failure, Response
from innervoice.canon.rows import Card, Host
from innervoice.catalog.lookup import card_of, dialect_at, host_of
from innervoice.catalog.targets import names_of
from innervoice.errors import DecodeError, UsageError
from innervoice.frames.frame import LIMIT, Frame
from innervoice.frames.sniff import AnyFraming
from innervoice.inline.calls import call_notes
from innervoice.inline.formats import DEFAULT_TAGS
from innervoice.inline.head import HeadStage
from innervoice.inline.machine import SplitMachine
from innervoice.inline.marks import Place
from innervoice.inline.stage import InlineStage
from innervoice.inline.vocabulary import INLINE, vocabulary
from innervoice.wire.dialects import DEFAULT, dialect_named, dialect_of, kin_at, reader_of
from innervoice.wire.objects import json_of
from innervoice.wire.protocol import Context, Reader

__all__ = ["StreamDecoder"]

_DEFAULT_CARD = Card(family="unknown", match=(), source="defaults")


class StreamDecoder:
    """Reads an answer that comes piece by piece.

    `feed` takes bytes cut anywhere, text, dicts or an SDK's chunks; it and `finish` give lists of events,
    the last of which is a `Finish`. `provider` and `model` name the source of the answer, `dialect` overrides the
    provider's usual one; without any of them the dialect is recognized by the shape of the data. `scope` names the account that
    seals are bound to. `inline` switches the search for reasoning in the text: "off", "on", or "all" for
    every tag name.
    """

    _framing: AnyFraming | None = None  # made when bytes come
    _reader: Reader | None = None
    _stage: InlineStage | None = None
    _failure: Failure | None = None
    _first = b""
    _finished: Response | None = None

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
        asked = _asked(request) if request is not None else _NOT_ASKED
        self._report, self._prefix = asked.report, asked.prefix
        self._scope = scope if scope is not None else asked.scope
        self._inline = inline
        self._limit = limit
        self._notebook = Notebook()
        self._values: list[Any] = []  # messages that came before the dialect was recognized

    @property
    def response(self) -> Response:
        """The whole response, after `finish`."""
        if self._finished is None:
            raise UsageError("call finish() first; the response is complete only then")
        return self._finished

    @property
    def failed(self) -> bool:
        """Whether something came that ends the answer in an error."""
        return self._failure is not None or bool(self._reader and self._reader.error)

    @property
    def settled(self) -> Place | None:
        """The first place that is not settled: what stands before it stays what it is, whatever comes.

        None if all that came out is settled. `innervoice.inline.marks.Place` states the rules.
        """
        return self._stage.settled if self._stage and self._finished is None else None

    def feed(self, chunk: Any) -> list[Event]:
        """Takes bytes cut anywhere, text, a dict or an SDK's chunk."""
        if self._finished is not None:
            raise UsageError("the stream was finished; a decoder reads one answer")
        if self._failure:
            return []
        if isinstance(chunk, str):
            chunk = chunk.encode("utf-8", "surrogatepass")
        try:
            if isinstance(chunk, (bytes, bytearray, memoryview)):
                data = chunk if type(chunk) is bytes else bytes(chunk)
                if len(self._first) < 80:
                    self._first += data[:80]
                if self._framing is None:
                    self._framing = AnyFraming(limit=self._limit)
                return self._read_frames(self._framing.feed(data))
            return self._read(json_of(chunk), None)
        except DecodeError as error:
            return self._break(error)

    def feed_json(self, value: Any) -> list[Event]:
        """Takes one message that is JSON already."""
        return self._read(value, None)

    def finish(self) -> list[Event]:
        """The stream is over."""
        if self._finished is not None:
            raise UsageError("finish was called already; a decoder reads one answer")
        events: list[Event] = []
        if self._framing and not self._failure:
            try:
                events += self._read_frames(self._framing.finish())
            except DecodeError as error:
                events += self._break(error)
        if self._reader is None and self._values and not self._failure:
            self._start(self._values[0], dialect_of(self._values[0]))
            events += [event for value in self._values for event in self._translate(value, None)]
        events += self._close()
        self._finished = self._response()
        return [*events, Finish(self._finished)]

    # ---- reading -------------------------------------------------------------------------------

    def _read_frames(self, frames: list[Frame]) -> list[Event]:
        events: list[Event] = []
        for frame in frames:
            if (data := frame.data) is None:
                events.append(Heartbeat())
                continue
            try:
                value = load_json(data)
            except ValueError:
                events += self._read_no_json(data)
                if self._failure:
                    break
                continue
            if frame.failed and isinstance(value, dict):
                self._failure = Failure(
                    type=frame.name, message=value.get("message") or value.get("Message"), raw=value
                )
                break
            if self._reader is None:
                events += self._read(value, frame.name)
                continue
            read = self._reader.feed(value, frame.name)
            if not (stage := self._stage) or (len(read) == 1 and type(read[0]) in stage.passing):
                events += read
            else:
                events += stage.feed(read)
        return events

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
        if self._reader is None:
            usual = self._host.dialect if self._host else None
            looks = None if self._dialect else dialect_of(value, name, usual)
            if self._dialect is None and looks is None and not self._host:
                self._values.append(value)
                return []
            self._start(value, looks)
        return self._translate(value, name)

    def _translate(self, value: Any, name: str | None) -> list[Event]:
        assert self._reader is not None
        events = self._reader.feed(value, name)
        return self._stage.feed(events) if self._stage else events

    def _break(self, error: DecodeError) -> list[Event]:
        self._failure = Failure(type=type(error).__name__, message=str(error))
        return []

    # ---- the reader ----------------------------------------------------------------------------

    def _start(self, value: Any, looks: str | None) -> None:
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
        )
        self._reader = reader_of(dialect, context)
        if self._inline != "off":
            self._stage = self._stage_of(dialect, self._model or _echoed(value), self._reader)

    def _stage_of(self, dialect: str, model: str, reader: Reader) -> InlineStage:
        """What looks for reasoning in the text: anywhere, or only before the answer (rule S10)."""
        card = card_of(model)
        if not self._looks_inside(dialect, card):
            return HeadStage(lambda number: _origin_of(reader, number), self._notebook)
        tags = DEFAULT_TAGS if self._inline == "all" else (card or _DEFAULT_CARD).tags
        card, own = card or _DEFAULT_CARD, card.writes if card else ()
        words = vocabulary(tags, card.markup, card.ends, own)
        # A host that separates reasoning, but for leaks, would not pass on a text that starts inside of it.
        starts_inside = card.prefix_open and not (self._host and self._host.id in card.leaks)

        def make(number: int, goes_on: bool) -> SplitMachine:
            return SplitMachine(
                words,
                prefix="card" if starts_inside and not goes_on else "no",
                stutter=card.stutter,
                goes_on=goes_on,
                origin=_origin_of(reader, number),
            )

        return InlineStage(make, self._notebook)

    def _looks_inside(self, dialect: str, card: Card | None) -> bool:
        """Whether the whole text may hold reasoning (rule S10)."""
        if self._inline is not None:
            return True
        if self._host is None:
            return dialect_named(dialect).inline_reasoning
        return self._host.inline or bool(card and self._host.id in card.leaks)

    # ---- the end -------------------------------------------------------------------------------

    def _close(self) -> list[Event]:
        reader = self._reader
        if reader is None:
            if not self._failure:
                shown = f": {_shown(self._first)}" if self._first else ""
                self._failure = Failure(
                    type="DecodeError", message=f"no answer was received{shown}"
                )
            return []
        if self._failure:
            reader.ended = False
        elif not reader.has_begun:
            self._failure = Failure(
                type="DecodeError", message="the JSON has none of the members of an answer"
            )
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
        apart, said = _look(parts)
        if apart:
            self._notebook.add("field_thinking")
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
            reasoning=self._report,
            notes=(*reader.notebook.notes(), *self._notebook.notes()),
            error=self._failure or reader.error,
            alternatives=self._alternatives(reader) if reader.others else (),
            origin=origin,
        )
        if response.reasoning and _is_ignored(response.reasoning, response):
            response = response.replace(notes=(*response.notes, Note("setting_ignored")))
        if candidates := call_notes(parts):
            response = response.replace(notes=(*response.notes, *candidates))
        if not said and response.status == "empty" and response.has_thinking:
            return response.replace(notes=(*response.notes, Note("answer_in_reasoning")))
        return response

    def _alternatives(self, reader: Reader) -> tuple[Response, ...]:
        found: list[Response] = []
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
            found.append(decoder.response)
        return tuple(found)


class _Asked(NamedTuple):
    """What the request determines about the answer: the reasoning settings, the prefix digest and the account."""

    report: ReasoningReport | None = None
    prefix: str | None = None
    scope: str | None = None


_NOT_ASKED = _Asked()


def _asked(request: Any) -> _Asked:
    """Reads it from a request, or from the Wire that encode returned."""
    match request:
        case Wire():
            return _Asked(request.reasoning, request.prefix, request.scope)
        case Request():
            from innervoice.history.plan import planned  # noqa: PLC0415 - only who names the request needs it

            fitted, plan = planned(request, checked=True)
            return _Asked(fitted.report, plan.prefix, request.scope)
        case _:
            kind = type(request).__name__
            raise UsageError(
                f"request must be a Request or the Wire that encode returned, not {kind}"
            )


def _is_ignored(report: ReasoningReport, response: Response) -> bool:
    """Whether an answer shows that the setting for reasoning was not obeyed."""
    asked = report.requested
    if asked is None:
        return False
    if asked.effort == "none":
        return response.has_thinking or bool(response.usage.reasoning_tokens)
    return asked.show in ("full", "summary") and not response.has_thinking and response.ended


def _look(parts: tuple[Part, ...]) -> tuple[bool, bool]:
    """Whether there is reasoning that came apart from the text, and whether there is text that is not blank."""
    apart = said = False
    for part in parts:
        if isinstance(part, Thinking):
            apart = apart or not is_inline(part)
        elif isinstance(part, Text):
            said = said or bool(part.text and not part.text.isspace())
    return apart, said


def _echoed(value: Any) -> str:
    model = value.get("model") if isinstance(value, dict) else None
    return model if isinstance(model, str) else ""


def _origin_of(reader: Reader, number: int) -> Origin:
    """The origin of what is found in the text with this number."""
    return reader.origin().replace(item=f"text_{number}")


def _shown(data: bytes) -> str:
    text = data[:60].decode("utf-8", "replace")
    return repr(text + ("..." if len(data) > 60 else ""))
