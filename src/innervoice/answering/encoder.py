"""Writes an answer in any dialect as its events arrive: the inverse of `decoder.py`.

    events ──► settled events ──► one part at a time ──► the dialect's writer ──► frames ──► bytes

Output that was sent to a client cannot be taken back. Text that could still turn out to be reasoning is therefore held back, as far as the
caller says what is settled: `decode_stream` and the clients' streams know it, and `StreamEncoder.feed` takes it as an argument.

Most dialects have one part open at a time. A text that continues after another part has begun is ended there and continues in a new
part. A call waits until the one before it is complete.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from innervoice.answering.outgoing import OutgoingPart, skip_sent
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
from innervoice.canon.notes import Note
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, Text, Thinking, ToolCall
from innervoice.canon.response import Response
from innervoice.canon.views import BLANKS, AnswerSpacing
from innervoice.errors import UsageError
from innervoice.folding import PartFolder
from innervoice.frames.frame import Frame
from innervoice.frames.sse import sse_bytes
from innervoice.inline.marks import SettledPlace
from innervoice.wire.answer import AnswerWriter, Carrier
from innervoice.wire.free_form import input_of_function, is_free_form
from innervoice.wire.late_errors import late_refusal

__all__ = ["AnswerEncoder"]

_DELTAS = (TextDelta, ThinkingDelta, ToolCallDelta)


class AnswerEncoder:
    """Feeds a writer with an answer as its events arrive; `feed` and `finish` return bytes, `ping` returns a keep-alive.

    With `exact`, nothing is done for the comfort of clients: blank texts stay, and so does a finish reason that ignores calls. A text
    that arrives at once is written in deltas of `delta_size` characters.
    """

    def __init__(
        self,
        writer: AnswerWriter,
        framing: Callable[[Frame], bytes] = sse_bytes,
        *,
        exact: bool = False,
        delta_size: int | None = None,
    ) -> None:
        self._is_exact, self._delta_size = exact, delta_size
        self._writer, self._framing, self._notebook = writer, framing, writer.notebook
        self._free_form: set[str] = set()  # functions that replace the client's free-form tools
        self._folder = PartFolder(OutgoingPart)
        self._current: OutgoingPart | None = None
        self._blocks = 0
        self._spacing = AnswerSpacing()
        self._is_sealing = writer.is_sealing
        self._late: list[Part] = []
        """Parts with more to carry than their blocks, which have ended."""
        self._texts: list[Part] = []
        """Sealed texts, whose seals only a turn with calls has to carry."""
        self._last: type[Part] | None = None
        """The kind of the last block."""
        self._has_called = False
        self._first = 0  # the first part that is not written to its end
        self._has_begun = self._is_over = self._is_freed = False
        self._is_ended = False
        """Whether the answer has its end: what is incomplete was cut by a limit, not by a failure."""

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes about parts that the dialect cannot represent."""
        return self._notebook.notes()

    @property
    def body(self) -> dict[str, Any]:
        """The same answer as a whole body, after its end."""
        if not self._is_over:
            raise UsageError("the answer is not over; feed a Finish or call finish() first")
        return self._writer.body()

    def body_with(self, others: Sequence[AnswerEncoder]) -> dict[str, Any]:
        """One body of this answer and of others to the same request, where the dialect has several choices.

        :param others: The encoders of the other answers.
        """
        return self._writer.joined([self.body, *(other.body for other in others)])

    def write_whole(self, response: Response) -> None:
        """Writes an answer of which only the body is wanted.

        :param response: The answer.
        """
        self._writer.is_whole = True
        self.feed(Finish(response))

    def feed(self, event: Event, settled: SettledPlace | None = None) -> bytes:
        """Writes an event.

        :param event: The event.
        :param settled: Everything from this place on is held back; without it everything is written.
        """
        if type(event) is Heartbeat and not self._is_over:
            return self.ping() if self._writer.passes_pings else b""
        self._write_event(event, settled)
        return self._taken()

    def frames(self, event: Event) -> list[Frame]:
        """Writes an event, and returns frames in place of bytes.

        :param event: The event.
        """
        self._write_event(event, None)
        return self._writer.taken()

    def _write_event(self, event: Event, settled: SettledPlace | None) -> None:
        if self._is_over:
            raise UsageError("the answer is over; an encoder writes one answer")
        if isinstance(event, _DELTAS) and self._goes_on(event, settled):
            return
        if type(event) is UsageUpdate:
            self._writer.usage = event.usage
        self._begin()
        if type(event) is Finish:
            self._end(event.response)
        elif type(event) is Recast:
            self._recast(event)
            self._advance(settled)
        elif type(event) is not UsageUpdate:
            self._folder.feed(event)
            self._advance(settled)

    def finish(self) -> bytes:
        """Ends the events; if the end is missing, the answer is written as one that was cut off."""
        if not self._is_over:
            self._begin()
            parts = tuple(folded.now() for folded in self._folder.parts)
            self._end(Response(parts=parts, usage=self._writer.usage))
        return self._taken()

    def queue(self) -> bytes:
        """Announces an answer that begins later, in dialects with answers in the background."""
        self._writer.queue()
        return self._taken()

    def announced(self) -> list[Frame]:
        """The same as frames."""
        self._writer.queue()
        return self._writer.taken()

    def ping(self) -> bytes:
        """A keep-alive, which is allowed between any two frames; nothing where the dialect has none, or after the end."""
        return b"" if self._is_over else self._framing(self._writer.ping())

    # ---- parts ---------------------------------------------------------------------------------

    def _begin(self) -> None:
        if not self._has_begun:
            self._has_begun = True
            self._writer.start()

    def _taken(self) -> bytes:
        frames = self._writer.taken()
        if len(frames) == 1:
            return self._framing(frames[0])
        return b"".join(map(self._framing, frames))

    def _advance(self, bound: SettledPlace | None) -> None:
        """Writes everything that can be written, part by part; repeats it if the end of one lets others begin."""
        self._is_freed = True
        while self._is_freed:
            self._is_freed = False
            self._pass(bound)

    def _pass(self, bound: SettledPlace | None) -> None:
        parts = self._folder.parts
        stop = len(parts) if bound is None else min(len(parts), bound.part + 1)
        for index in range(self._first, stop):
            part, most = parts[index], parts[index].length
            is_whole = bound is None or index < bound.part
            if bound is not None and not is_whole:
                most = min(most, bound.characters)
            is_over = is_whole and not part.is_open
            if is_over and not self._is_ended and not getattr(part.part, "complete", True):
                is_over = False  # only the end of the answer says why
            if part.is_written:
                continue
            if self._stands_for_free_form(part.part):
                self._write_free_form(part, is_over=is_over)
            else:
                self._write(part, most, is_over=is_over)
        while self._first < len(parts) and parts[self._first].is_written:
            self._first += 1
        if self._late and not self._writer.ends_in_text and not self._is_busy:
            self._give_late()

    def _write(self, part: OutgoingPart, most: int, *, is_over: bool) -> None:
        """Writes the new text of a part, up to a character; and its end."""
        writer = self._writer
        has_text = most > part.sent_length and bool(part.pieces)
        call = part.part if isinstance(part.part, ToolCall) else None
        is_call = call is not None
        if not (has_text or is_over or (is_call and part.number is None)):
            return
        if self._must_wait(part) or (call and not call.name and not is_over):
            return
        if is_over and part.was_closed and part.number is None and not has_text:
            self._close(part)
            self._keep_late(part)
            return
        text = self._spaced(part, part.take(most))
        if text or is_call or (is_over and not self._says_nothing(part.part)):
            self._open(part)
        if part.number is not None:
            width = self._delta_size or len(text) or 1
            for start in range(0, len(text), width):
                writer.add(part.number, text[start : start + width])
            if is_over:
                self._end_block(part, part.number)
        if is_over:
            self._close(part)
            if self._is_sealing and (origin := part.part.origin) and origin.seals:
                self._carry(part)

    def _end_block(self, part: OutgoingPart, number: int) -> None:
        if not part.was_closed:
            self._writer.end(number, part.part if self._writer.carries_parts else part.whole())
            return
        self._writer.end(number, self._so_far(part))
        self._keep_late(part)

    def _so_far(self, part: OutgoingPart) -> Part:
        return part.so_far(self._writer.dialect if self._is_sealing else None)

    def _keep_late(self, part: OutgoingPart) -> None:
        """Keeps a part that ended behind its block, if it turned out to be more than was known there."""
        if type(part.part) is Thinking and part.part != part.known:
            self._late.append(part.part)

    def _give_late(self) -> None:
        """Gives the client what it has to carry beyond what the blocks have."""
        late, self._late = self._late, []
        for part in late:
            self._writer.recall(part)

    def _end_late(self) -> None:
        """The same at the end of the answer. Behind the text of a final one nothing may stand, for some clients."""
        if self._has_called:
            self._late += self._texts
        if self._has_called or self._last is not Text or not self._writer.ends_in_text:
            self._give_late()
        lost = [] if self._has_called else [*self._late, *self._texts]
        for part in lost:
            carried = part.carried if isinstance(part, Carrier) else None
            if self._has_foreign_seal(carried or part):
                self._notebook.add("seal_after_text", part.type)

    def _stands_for_free_form(self, part: Part) -> bool:
        if not isinstance(part, ToolCall) or part.name not in self._free_form:
            return False
        return not is_free_form(part)

    def _write_free_form(self, part: OutgoingPart, *, is_over: bool) -> None:
        """Writes a call of a function as that of the free-form tool, whose input is known when the arguments are complete."""
        call = part.part
        if not is_over or not isinstance(call, ToolCall):
            return
        if _is_json(call.arguments):
            self._write(part, part.become(self._as_free_form(call)), is_over=True)
        else:
            # Any text is a valid input: an incomplete one must not be run.
            part.is_written = True
            part.pieces.clear()
            self._notebook.add("call_omitted", call.name)

    def _as_free_form(self, call: ToolCall) -> ToolCall:
        text, dialect = input_of_function(call), self._writer.dialect
        block = self._writer.free_form_block(call, text)
        if block is None:
            return call
        return call.replace(arguments=text, origin=Origin(dialect=dialect, block=block))

    def _open(self, part: OutgoingPart) -> None:
        """Begins the block of a part, if it is not open; ends another open one where the dialect has one at a time."""
        if part.number is not None:
            return
        current, self._current = self._current, part
        if current is not None and current.number is not None and not self._writer.interleaves:
            known = self._so_far(current)
            self._writer.end(current.number, known)
            current.number = None
            current.leave(known)
            current.is_written = type(current.part) is ToolCall
        self._last = type(part.part)
        if self._last is ToolCall:
            self._has_called = True
            if self._is_sealing and not part.is_open:
                self._carry(part)
            if self._late or self._texts:
                self._late, self._texts = [*self._late, *self._texts], []
                self._give_late()
        part.number, self._blocks = self._blocks, self._blocks + 1
        self._writer.begin(part.number, part.part)

    def _carry(self, part: OutgoingPart) -> None:
        """Keeps a call or a text with a seal of another dialect, once, for a place where the client can carry it."""
        carried = part.part
        if isinstance(carried, (Text, ToolCall)) and not part.is_carried:
            part.is_carried = self._has_foreign_seal(carried)
            is_given = isinstance(carried, ToolCall) or self._writer.has_late_slot
            late = self._late if is_given else self._texts
            late += [Carrier("", "hidden", carried=carried)] if part.is_carried else []

    def _has_foreign_seal(self, part: Part) -> bool:
        """Whether a part has a seal of another dialect, and the client carries such seals. Gemini signs its calls and texts."""
        origin = part.origin
        if origin is None or not self._is_sealing:
            return False
        return bool(origin.seals) and origin.dialect != self._writer.dialect

    def _goes_on(
        self, event: TextDelta | ThinkingDelta | ToolCallDelta, settled: SettledPlace | None
    ) -> bool:
        """Writes a piece that only continues the open part, as most do; returns False for others."""
        part, parts = self._current, self._folder.parts
        if part is None or event.index >= len(parts) or parts[event.index] is not part:
            return False
        if part.number is None or part.pieces or not part.is_open:
            return False
        text = event.arguments if isinstance(event, ToolCallDelta) else event.text
        if settled is not None and settled < (event.index, part.length + len(text)):
            return False
        spaced = text
        if part.spacing is not None:
            spaced = part.spacing.feed(text)
        elif type(event) is TextDelta and not self._spacing.passes(text, self._writer.has_gap):
            return False
        part.pass_on(text, spaced)
        if spaced:
            self._writer.add(part.number, spaced)
        return True

    def _spaced(self, part: OutgoingPart, text: str) -> str:
        """A piece without the white space next to reasoning in the text."""
        if part.spacing:
            self._spacing.cut()
        if not text:
            return ""
        if self._is_exact and not part.spacing and not self._spacing.is_cut:
            self._spacing.skip(text)
            return text
        if part.spacing:
            spaced = part.spacing.feed(text)
        elif type(part.part) is Text:
            spaced = self._spacing.feed(text, has_gap=self._writer.has_gap)
            self._writer.has_gap = self._writer.has_gap and not spaced
        else:
            return text
        part.note_spacing(text, spaced)
        return spaced

    def _says_nothing(self, part: Part) -> bool:
        """Whether a part is a text of only white space that carries nothing else; an empty block of the same dialect stays.

        Gemini ends answers with an empty text that holds a signature. No other dialect has an equivalent, and agents use the last text
        as the answer.
        """
        if self._is_exact or not isinstance(part, Text) or part.text.strip(BLANKS):
            return False
        if part.origin is None:
            return True
        is_same = part.origin.dialect == self._writer.dialect
        is_own = is_same and part.origin.markup is None
        is_carried = part.origin.seals and (is_same or self._writer.carries_parts)
        return not (is_carried or (is_own and not part.text))

    def _must_wait(self, part: OutgoingPart) -> bool:
        """Whether an earlier part of its kind has not ended, or an open call has not, where the dialect has one part at a time."""
        kind, current = type(part.part), self._current
        mingles = kind is ToolCall and self._writer.interleaves
        for other in self._folder.parts[self._first :]:
            if other is part:
                break
            is_ahead = type(other.part) is kind and not other.is_written and not other.is_said
            if is_ahead and (not mingles or other.number is None):
                return True
        if self._writer.interleaves or current is None or current is part:
            return False
        return type(current.part) is ToolCall and not _is_object("".join(current.sent))

    @property
    def _is_busy(self) -> bool:
        """Whether a block is open that must be the only one."""
        return bool(self._current and self._current.number is not None) and (
            not self._writer.interleaves
        )

    def _close(self, part: OutgoingPart) -> None:
        part.number, part.is_written, self._is_freed = None, True, True
        if self._current is part:
            self._current = None

    def _recast(self, event: Recast) -> None:
        """Replaces the parts from one on; text of the old ones that was written is not written again."""
        old, new = self._folder.recast(event)
        current = self._current
        if current is not None and current.number is not None and current in old:
            self._writer.end(current.number, self._so_far(current))
            self._current = None
        for kind in (Text, Thinking):
            sent = "".join("".join(part.sent) for part in old if type(part.part) is kind)
            sent = skip_sent(sent, [part for part in new if type(part.part) is kind])
            if sent:
                # It was written as something else, and is not written twice.
                skip_sent(sent, [part for part in new if type(part.part) is not kind])
                self._notebook.add("sent_before_recast")
        self._first = min(self._first, event.index)

    # ---- the end -------------------------------------------------------------------------------

    def _end(self, response: Response) -> None:
        if response.finish_reason == "stop" and response.tool_calls and not self._is_exact:
            # Some hosts report "stop" for a turn with calls; clients run the calls only if the finish reason says so.
            response = response.replace(finish_reason="tool_calls", wire_finish_reason=None)
        if response.finish_reason is None and response.tool_calls and response.ended:
            # A word that is not known stays in its own API; any other gets the usual one.
            response = response.replace(finish_reason="tool_calls")
        if response.finish_reason == "refusal" and not self._blocks:
            self._writer.is_refused = True
        has_failed = not self._is_exact and (response.error is not None or not response.ended)
        self._is_ended = not has_failed
        for part in self._folder.parts:
            if part.is_open and not has_failed:
                part.end(part.now())
        for index in range(len(self._folder.parts), len(response.parts)):
            # Parts that no event described: a response that was built by hand.
            self._folder.feed(PartStart(index, response.parts[index].type, None))
            self._folder.feed(PartEnd(index, response.parts[index]))
        self._advance(None)
        if has_failed:
            self._break_off(response)
            return
        for part in self._folder.parts:
            if isinstance(part.part, ToolCall) and "".join(part.pieces).strip():
                self._notebook.add("arguments_after_end", part.part.name)
        if response.text and (blank := self._spacing.rest()):
            self._writer.begin(self._blocks, Text(""))
            self._writer.add(self._blocks, blank)
            self._writer.end(self._blocks, Text(blank))
        if self._late or self._texts:
            self._end_late()
        self._take_usage(response)
        self._writer.finish(response)
        self._note_end(response)

    def _break_off(self, response: Response) -> None:
        """Ends an answer that broke off: what is open stays open, so that no client takes it for whole, and an error follows."""
        for part in self._folder.parts:
            if part.number is not None:
                self._writer.leave(part.number, part.now())
            is_unsent = part.number is None and not part.is_written
            is_left_out = self._writer.is_whole and part.number is not None
            if isinstance(part.part, ToolCall) and (is_unsent or is_left_out):
                self._notebook.add("call_omitted", part.part.name)
            elif is_unsent and "".join(part.pieces).strip():
                self._notebook.add("unsent_after_break", part.part.type)
        self._take_usage(response)
        came_in = response.origin.dialect if response.origin else None
        refusal = late_refusal(response.error, self._writer.dialect, came_in=came_in)
        self._writer.fail(refusal, response)

    def _take_usage(self, response: Response) -> None:
        self._is_over = True
        if response.usage.raw is not None or response.usage.total_tokens is not None:
            self._writer.usage = response.usage

    def _note_end(self, response: Response) -> None:
        """Notes an end that the dialect has no member for."""
        reason, ended = response.finish_reason, self._writer.ended_as(response)
        if reason == "tool_calls" and not response.tool_calls:
            reason = "stop"
        if reason is not None and reason != ended:
            self._notebook.add("finish_reason_changed", f"{reason} became {ended}")

    def expect(self, last: Event) -> None:
        """Takes note of the last event before the first one is written: whether the answer is a refusal is known only there.

        :param last: The last event.
        """
        is_refused = isinstance(last, Finish) and last.response.finish_reason == "refusal"
        self._writer.is_refused = is_refused


def _is_json(arguments: str) -> bool:
    try:
        load_json(arguments)
    except ValueError:
        return False
    return True


def _is_object(arguments: str) -> bool:
    """Whether the arguments of a call are complete; a number might still continue."""
    if not arguments.rstrip().endswith("}"):
        return False
    try:
        return isinstance(load_json(arguments), dict)
    except ValueError:
        return False
