"""Writes an answer in any dialect as its events come: the other way of `decoder.py`.

    events ──► what is settled ──► one part at a time ──► the dialect's writer ──► frames ──► bytes

A client cannot be told to forget what it was sent. Text that could still turn out to be reasoning is therefore held back, as far as the
caller says what is settled: `decode_stream` and the clients' streams know it, and `StreamEncoder.feed` takes it as an argument.

Most dialects have one part open at a time. A text that goes on while another part has begun is ended there and goes on in a part of its
own. A call waits until the one before it is complete.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from secrets import token_hex
from typing import Any

from innervoice.answering.outgoing import OutgoingPart
from innervoice.answering.spacing import AnswerSpacing
from innervoice.canon.events import (
    Event,
    Finish,
    Heartbeat,
    PartEnd,
    PartStart,
    Recast,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    UsageUpdate,
)
from innervoice.canon.jsontext import load_json
from innervoice.canon.notes import Note, Notebook
from innervoice.canon.parts import Part, Text, Thinking, ToolCall
from innervoice.canon.response import Failure, Response
from innervoice.canon.tools import Tool
from innervoice.canon.views import BLANKS
from innervoice.errors import UsageError
from innervoice.folding import PartFolder, content_of
from innervoice.inline.marks import Place
from innervoice.wire.answer_writer import AnswerHead, AnswerWriter, Seal
from innervoice.wire.dialects import dialect_named
from innervoice.wire.free_form import as_free_form, is_free_form
from innervoice.wire.refusals import Refusal

__all__ = ["StreamEncoder"]

_CUT = "the connection to the provider ended before the answer did"


class StreamEncoder:
    """Writes an answer as its events come.

    `feed` and `finish` give bytes, framed as the dialect's API frames them; `ping` gives its sign of life. `model` and `id` are what
    the answer says of itself. `seal` gives what a client is to carry in the opaque slot of a part that came in another dialect. `tools`
    are those of the client's request: calls of functions that stood for its free-form tools are written as the client knows them.
    """

    def __init__(
        self,
        dialect: str,
        model: str | None = None,
        *,
        id: str | None = None,  # noqa: A002 - the name that the wire has for it
        seal: Seal | None = None,
        tools: Iterable[Tool] = (),
    ) -> None:
        self._dialect = dialect_named(dialect)
        self._free_form = {tool.name for tool in tools if tool.is_free_form}
        self._notebook = Notebook()
        now = time.time()
        head = AnswerHead(
            id=id or f"{self._dialect.id_start}{token_hex(12)}",
            model=model or "",
            created=int(now),
            created_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)),
        )
        self._writer: AnswerWriter = self._dialect.answer_writer(head, self._notebook, seal)
        self._folder = PartFolder(OutgoingPart)
        self._current: OutgoingPart | None = None
        self._blocks = 0
        self._spacing = AnswerSpacing()
        self._first = 0  # the first part that is not written to its end
        self._has_begun = self._is_over = False

    @property
    def notes(self) -> tuple[Note, ...]:
        """What the dialect had no place for."""
        return self._notebook.notes()

    @property
    def body(self) -> dict[str, Any]:
        """The same answer as a whole body, after its end."""
        if not self._is_over:
            raise UsageError("the answer is not over; feed a Finish or call finish() first")
        return self._writer.body()

    def feed(self, event: Event, settled: Place | None = None) -> bytes:
        """Takes an event. What stands from `settled` on is held back; without it everything goes out."""
        if self._is_over:
            raise UsageError("the answer is over; an encoder writes one answer")
        if type(event) is Heartbeat:
            return self.ping()
        if type(event) is UsageUpdate:
            self._writer.usage = event.usage
        self._begin()
        if type(event) is Finish:
            self._end(event.response)
        elif type(event) is Recast:
            self._recast(event)
            self._advance(settled)
        elif type(event) is not UsageUpdate:
            part = self._folder.feed(event)
            is_delta = type(event) in (TextDelta, ThinkingDelta, ToolCallDelta)
            if is_delta and settled is None and part is not None and part is self._current:
                self._write(part, part.length, is_over=False)
            else:
                self._advance(settled)
        return self._taken()

    def finish(self) -> bytes:
        """The events are over; one that lacks its end is written as an answer that was cut off."""
        if not self._is_over:
            self._begin()
            parts = tuple(folded.now() for folded in self._folder.parts)
            self._end(Response(parts=parts, usage=self._writer.usage))
        return self._taken()

    def ping(self) -> bytes:
        """A sign of life, which may stand between any two frames."""
        return self._dialect.framing(self._writer.ping())

    # ---- parts ---------------------------------------------------------------------------------

    def _begin(self) -> None:
        if not self._has_begun:
            self._has_begun = True
            self._writer.start()

    def _taken(self) -> bytes:
        return b"".join(map(self._dialect.framing, self._writer.taken()))

    def _advance(self, bound: Place | None) -> None:
        """Writes what may be written, part by part."""
        parts = self._folder.parts
        stop = len(parts) if bound is None else min(len(parts), bound.part + 1)
        for index in range(self._first, stop):
            part, most = parts[index], parts[index].length
            is_whole = bound is None or index < bound.part
            if bound is not None and not is_whole:
                most = min(most, bound.characters)
            if not part.is_written:
                self._write(part, most, is_over=is_whole and not part.is_open)
        while self._first < len(parts) and parts[self._first].is_written:
            self._first += 1

    def _write(self, part: OutgoingPart, most: int, *, is_over: bool) -> None:
        """Writes of a part what is new, up to a character; and its end."""
        if self._stands_for_free_form(part.part):
            if not is_over:
                return  # its input is known when the arguments are complete
            assert isinstance(part.part, ToolCall)
            if not _is_json(part.part.arguments):
                part.is_written = True  # any text is a valid input: half of one must not be run
                self._notebook.add("call_omitted", part.part.name)
                return
            most = part.become(as_free_form(part.part, self._dialect.name))
        writer = self._writer
        has_text = most > part.sent_length and bool(part.pieces)
        is_call = type(part.part) is ToolCall
        if not (has_text or is_over or (is_call and part.number is None)):
            return
        if is_over and part.was_closed and part.number is None and not has_text:
            part.is_written = True
            writer.recall(part.part)
            return
        if self._must_wait(part):
            return
        text = self._spaced(part, part.take(most))
        if text or is_call or (is_over and not _says_nothing(part.part)):
            self._open(part)
        if part.number is not None:
            if text:
                writer.add(part.number, text)
            if is_over:
                writer.end(part.number, part.whole())
        if is_over:
            self._close(part)

    def _stands_for_free_form(self, part: Part) -> bool:
        return (
            isinstance(part, ToolCall) and part.name in self._free_form and not is_free_form(part)
        )

    def _open(self, part: OutgoingPart) -> None:
        """Begins the block of a part, if it is not open; another one that is open is ended where the dialect has one at a time."""
        if part.number is not None:
            return
        current, self._current = self._current, part
        if current is not None and current.number is not None and not self._writer.interleaves:
            self._writer.end(current.number, current.so_far())
            current.number, current.was_closed = None, True
            current.is_written = type(current.part) is ToolCall
        part.number, self._blocks = self._blocks, self._blocks + 1
        self._writer.begin(part.number, part.part)

    def _spaced(self, part: OutgoingPart, text: str) -> str:
        """A piece without the white space that stood beside reasoning in the text."""
        if not text:
            return ""
        if part.spacing:
            self._spacing.cut()
            spaced = part.spacing.feed(text)
        elif type(part.part) is Text:
            spaced = self._spacing.feed(text, has_gap=self._writer.has_gap)
            self._writer.has_gap = self._writer.has_gap and not spaced
        else:
            return text
        if part.written is not None:
            part.written.append(spaced)
        elif spaced != text:
            part.written = [*part.sent[:-1], spaced]
        return spaced

    def _must_wait(self, part: OutgoingPart) -> bool:
        """Whether a call is open that is not complete, where the dialect has one part open at a time."""
        current = self._current
        if self._writer.interleaves or current is None or current is part:
            return False
        return type(current.part) is ToolCall and not _is_json("".join(current.sent))

    def _close(self, part: OutgoingPart) -> None:
        part.number, part.is_written = None, True
        if self._current is part:
            self._current = None

    def _recast(self, event: Recast) -> None:
        """Takes other parts from one on; what was written of the old ones is not written again."""
        old, new = self._folder.recast(event)
        current = self._current
        if current is not None and current.number is not None and current in old:
            self._writer.end(current.number, current.so_far())
            self._current = None
        for kind in (Text, Thinking):
            sent = "".join("".join(part.sent) for part in old if type(part.part) is kind)
            for part in new:
                if type(part.part) is kind and sent:
                    same = _shared(sent, content_of(part.part))
                    part.take(same)
                    part.was_closed = True
                    sent = sent[same:]
            if sent:
                self._notebook.add("sent_before_recast")
        self._first = min(self._first, event.index)

    # ---- the end -------------------------------------------------------------------------------

    def _end(self, response: Response) -> None:
        for part in self._folder.parts:
            if part.is_open:
                part.end(part.now())
        for index in range(len(self._folder.parts), len(response.parts)):
            # Parts that no event described: a response that was put together by hand.
            self._folder.feed(PartStart(index, response.parts[index].type, None))
            self._folder.feed(PartEnd(index, response.parts[index]))
        self._advance(None)
        if blank := self._spacing.rest():
            self._writer.begin(self._blocks, Text(""))
            self._writer.add(self._blocks, blank)
            self._writer.end(self._blocks, Text(blank))
        self._is_over = True
        if response.usage.raw is not None or response.usage.total_tokens is not None:
            self._writer.usage = response.usage
        if response.error or not response.ended:
            self._writer.fail(_refusal(response.error), response)
        else:
            self._writer.finish(response)


def _says_nothing(part: Part) -> bool:
    """Whether a part is a text of white space alone that carries nothing else."""
    return (
        isinstance(part, Text)
        and not (part.origin and part.origin.seals)
        and not part.text.strip(BLANKS)
    )


def _refusal(failure: Failure | None) -> Refusal:
    if failure is None:
        return Refusal(text=_CUT, status=502)
    status = failure.code if isinstance(failure.code, int) and 400 <= failure.code < 600 else 502
    return Refusal(
        text=failure.message or _CUT, status=status, type=failure.type, code=failure.code
    )


def _is_json(arguments: str) -> bool:
    try:
        load_json(arguments)
    except ValueError:
        return False
    return True


def _shared(one: str, other: str) -> int:
    """How many characters two texts have in common at their head."""
    if one.startswith(other) or other.startswith(one):
        return min(len(one), len(other))
    return next(at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])
