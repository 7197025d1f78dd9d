"""An exchange whose reasoning is watched, and whose answer goes on after a break; without I/O.

    alarm    ──► the answer is left, and requested again without reasoning; or it ends
    break    ──► the answer is left, and another request goes on from what is settled of it

The client sees one answer: its events are those of all requests (`steering/splicing.py`), its usage is their sum.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any, NoReturn

from innervoice.canon.events import Event, Finish, ThinkingDelta
from innervoice.canon.parts import Text, Thinking
from innervoice.canon.request import Wire
from innervoice.canon.response import Response
from innervoice.canon.usage import Usage
from innervoice.client.error_mapping import SHOWN
from innervoice.client.exchange import Exchange
from innervoice.client.log import Log
from innervoice.conversation.turns import seals_of
from innervoice.errors import (
    AnswerInterruptedError,
    ConnectionFailedError,
    InnervoiceError,
    RateLimitError,
    ServerError,
    TimedOutError,
    UsageError,
)
from innervoice.folding import fold
from innervoice.inline.marks import SettledPlace
from innervoice.planning.encode import encoded
from innervoice.steering.asking import AskedAgain, asked_for_answer, asked_to_go_on, text_of
from innervoice.steering.splicing import Splice, can_go_on, settled_parts
from innervoice.steering.watch import Alarm, Steering, ThoughtWatch, has_native_limit

__all__ = ["SteeredExchange"]

_BREAKS = (AnswerInterruptedError, ConnectionFailedError, RateLimitError, ServerError, TimedOutError)  # fmt: skip
"""Errors after which an answer may go on elsewhere."""
_DONE = {"answer": "requested again without reasoning", "stop": "ended", "note": "left alone"}
_NO_SEAM = "the answer broke off, and what came next does not follow it"


class SteeredExchange(Exchange):
    """An exchange that several requests may answer."""

    is_spliced = False
    """Whether an answer was left, and another one follows it."""
    is_continued = False
    """Whether an answer broke off, and another one goes on with its text."""

    def __init__(self, *arguments: Any, steering: Steering, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._steering = steering
        self._first_request = self._request
        self._splice = Splice()
        self._alarm: Alarm | None = None
        self._bound: SettledPlace | None = None
        """What was not settled when the last answer ended."""
        self._used = Usage()
        """By the answers that were left."""
        self._watch: ThoughtWatch | None = None
        if steering.is_watching:
            request, target = self._request, self._destination.target
            is_native = steering.limit is not None and has_native_limit(steering.limit, target)
            self._watch = ThoughtWatch(
                steering,
                is_native=is_native,
                read=lambda: f"{request.system or ''}\n{text_of(request.messages)}",
            )
        self._held: list[Event] = []
        """Events of an answer that goes on with a text, while they are not settled."""
        self._may_try_again = steering.goes_on
        self._asked_again = 0
        self._has_taken_over = False

    # ---- the running answer --------------------------------------------------------------------

    @property
    def bound(self) -> SettledPlace | None:
        """The first place of the text that could still be recast."""
        if self.is_continued:
            return None  # what is not settled is held back
        return self._splice.place(super().bound) if self.is_spliced else super().bound

    @property
    def response(self) -> Response:
        """The whole response; before the end, what has arrived so far, of all answers."""
        if self._response is not None or not self.is_spliced:
            return super().response
        target = self._destination.target
        folded = fold(self.events)
        return folded.replace(provider=target.provider, model=target.model, usage=self._used)

    @property
    def attempts(self) -> int:
        """How often a request was sent."""
        return super().attempts + self._asked_again - self._has_taken_over

    def started(self, status: int, headers: Mapping[str, str]) -> bool:
        """Reads the head of an answer; what came before stays."""
        if not self.is_spliced:
            return super().started(status, headers)
        log, self.events = self.events, Log()
        goes_on = super().started(status, headers)
        self.events, self.has_output = log, True
        return goes_on

    def feed(self, chunk: bytes) -> bool:
        """Reads bytes of the answer; returns whether to continue reading."""
        decoder, watch = self._decoder, self._watch
        assert decoder is not None
        if len(self._first) < SHOWN:
            self._first += chunk[:SHOWN]
        events = decoder.feed(chunk)
        if not self.thinking_clock.changes.isdisjoint(map(type, events)):
            self._changed(events)
        if watch is not None and (alarm := watch.feed(events)) is not None:
            self._notice(alarm)
        self.events.add(self._passed(events) if self.is_spliced else events)
        return self._alarm is None and not decoder.failed and not self._splice.has_failed

    def _passed(self, events: list[Event]) -> list[Event]:
        """The events of a later answer, as those of the whole."""
        if self.is_continued:
            self._held += events
            if super().bound is not None:
                return []
            events, self._held = self._held, []
        return self._splice.feed(events)

    def end(self, error: Exception | None = None) -> float | None:
        """Handles the end of an answer, or the error that interrupted it; returns the seconds to wait before the next request, if there is one."""
        if self._alarm is not None:
            return self._end_thought(self._alarm)
        if self._splice.has_failed:
            self._fail_at_seam()
        self._bound = self.bound
        log, self.events = self.events, Log()
        try:
            wait = super().end(error)
        except InnervoiceError as problem:
            self.events = log
            wait = self._after_break(problem)
            if wait is None:
                if self.is_spliced and isinstance(problem, _BREAKS):
                    problem.with_facts(response=self.response)
                raise
            return wait
        ended, self.events = list(self.events), log
        if wait is None:
            self._finish(ended)
        return wait

    def _finish(self, ended: list[Event]) -> None:
        """Adds the last events; of several answers they end in the sum of all."""
        response = self._response
        assert response is not None
        if not self.is_spliced:
            self.events.add(ended)
            return
        last = [*self._splice.feed([*self._held, *ended]), *self._splice.finish()]
        if self._splice.has_failed:
            self.is_over, self._response = False, None
            self._fail_at_seam()
        self.events.add(last)
        parts = fold(self.events).parts
        self._response = response.replace(parts=parts, usage=self._used + response.usage)
        self.thinking_clock.end(self._response)
        self.events.add([Finish(self._response)])

    def _fail_at_seam(self) -> NoReturn:
        problem = AnswerInterruptedError(_NO_SEAM)
        self._fail(self._with_facts(problem, self.response))

    # ---- the thought ---------------------------------------------------------------------------

    def _notice(self, alarm: Alarm) -> None:
        if alarm.action == "answer" and self.is_spliced:
            alarm = alarm._replace(action="stop")
        action = _DONE[alarm.action]
        self._notebook.add(alarm.code, f"after about {alarm.tokens} tokens: {action}")
        if alarm.action != "note":
            self._alarm = alarm

    def _end_thought(self, alarm: Alarm) -> float | None:
        """Leaves an answer for its reasoning: it is requested again without, or ends here."""
        self._alarm = None
        response = self._leave(goes_on=False)
        wire = None
        if alarm.action == "answer":
            again = asked_for_answer(self._first_request, self._destination.target)
            with contextlib.suppress(UsageError):  # a rule that only holds without reasoning
                wire = self.written_again(again)
        if wire is not None:
            self.is_spliced = True
            self._used += self.used_by(response)
            self._ask(again, wire)
            assert self._watch is not None
            self._watch.restart()
            return 0.0
        usage = self._used + response.usage
        response = response.replace(
            ended=True, error=None, finish_reason="length", wire_finish_reason=None, usage=usage
        )
        self._response, self.is_over = self._typed(self._noted(response)), True
        self.thinking_clock.end(self._response)
        self.events.add([Finish(self._response)])
        return None

    def _noted(self, response: Response) -> Response:
        if self._watch is not None and self._alarm is None:
            # A whole body has no events before its end: then it can only be noted, as what came last in a stream.
            thoughts = (part.text for part in response.parts if isinstance(part, Thinking))
            whole: list[Event] = [ThinkingDelta(0, thought) for thought in thoughts]
            alarm = self._watch.look([] if self._request.stream else whole)
            if alarm is not None:
                self._notebook.add(
                    alarm.code, f"after about {alarm.tokens} tokens: {_DONE['note']}"
                )
        return super()._noted(response)

    def used_by(self, response: Response) -> Usage:
        """The tokens of an answer that was left."""
        return response.usage

    def _leave(self, *, goes_on: bool) -> Response:
        """Ends the parts of the running answer; returns the whole until now."""
        decoder = self._decoder
        assert decoder is not None
        self.events.add(self._splice.leave(self.events, self._bound, goes_on=goes_on))
        response = self._decoded()
        return response.replace(parts=self._splice.parts)

    def _decoded(self) -> Response:
        """The response of the running answer, by its decoder."""
        decoder = self._decoder
        assert decoder is not None
        (*_, finish) = decoder.finish()
        assert isinstance(finish, Finish)
        return finish.response

    # ---- a break -------------------------------------------------------------------------------

    def _after_break(self, problem: InnervoiceError) -> float | None:
        """The seconds to wait before another request goes on; None if none does."""
        if not self._may_try_again or not self.may_go_on(problem):
            return None
        self._may_try_again = False
        if not self._go_on():
            return None
        self.failure = None
        return 0.0

    def may_go_on(self, problem: InnervoiceError) -> bool:
        """Whether another request can go on after this error."""
        if not self._steering.goes_on or not isinstance(problem, _BREAKS) or not len(self.events):
            return False
        return not self.is_over and can_go_on(fold(self.events).parts)

    def take_over(self, other: SteeredExchange) -> bool:
        """Goes on with the answer of another exchange, at its own upstream; returns whether that is possible."""
        target, before = self._destination.target, other._destination.target
        is_same = (target.provider, target.model) == (before.provider, before.model)
        if not is_same and any(any(seals_of(part)) for part in fold(other.events).parts):
            return False  # text of another model behind a seal is not the turn that was sealed
        self.events, self._splice, self._bound = other.events, other._splice, other._bound
        self._used, self.thinking_clock = other._used, other.thinking_clock
        self._notebook.take(other._notebook)
        self._may_try_again, self._has_taken_over = False, True
        return self._go_on()

    def _go_on(self) -> bool:
        """Prepares the request that goes on; returns whether there is one."""
        target = self._destination.target
        text = "".join(part.text for part in settled_parts(self.events, self._bound) if isinstance(part, Text))  # fmt: skip
        again = asked_to_go_on(self._first_request, target, text)
        wire = None
        if again is not None:
            with contextlib.suppress(UsageError):
                wire = self.written_again(again)
        if again is None or wire is None:
            return False
        if self._decoder is not None:
            self._used += self.used_by(
                fold(self.events).replace(usage=self._decoder.response.usage)
            )
        self.events.add(self._splice.leave(self.events, self._bound, goes_on=True))
        self._bound, self._held = None, []
        self._splice.go_on(is_repeated=again.is_repeated)
        self.is_spliced = self.is_continued = self.has_output = True
        if again.is_prefilled:
            self._inline = "off"  # the reasoning is over
        how = "prefill" if again.is_prefilled else "repeated" if again.is_repeated else "anew"
        self._notebook.add("answer_continued", f"after {len(text)} characters, {how}")
        self._ask(again, wire)
        return True

    # ---- another request -----------------------------------------------------------------------

    def _ask(self, again: AskedAgain, wire: Wire) -> None:
        self._request, self._wire, self._body = again.request, wire, None
        self._asked_again += 1

    def written_again(self, again: AskedAgain) -> Wire:
        """The request for the rest, as it is sent."""
        wire = encoded(again.request, self._destination.target)
        return wire.replace(body={**wire.body, **again.members}) if again.members else wire
