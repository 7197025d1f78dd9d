"""The second way of a request: last time's bytes, and what is new.

What was read, planned and written of a translated conversation stays as it was sent; only the new part of the next request is read and
written, and appended to the same bytes. So a step of an agent costs only its new messages, and the provider gets the same prefix as last
time, byte for byte, as prompt caches and bound reasoning require.

    body ──► same settings, same beginning? ──► read the new messages ──► the bytes of last time, and the new ones

Neither a cache mark nor Claude Code's billing line is kept: a message with a mark is written once more without it, for the next request, and the
line is that of each request.

This is done where the new messages cannot change anything before them: the client sends the answer as it got it, and only results of its
calls follow. A new question moves the place where the open turn begins, on which rules depend: then the whole request is read
(`rewritten.py`), once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from innervoice.canon.bounded import Bounded
from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message, user
from innervoice.canon.notes import Note
from innervoice.canon.parts import Part, Thinking
from innervoice.canon.request import Request, Wire
from innervoice.conversation.body import SplitBody
from innervoice.conversation.digest import ConversationDigest
from innervoice.conversation.growth import Beginnings, Growth, growth_of, result_ids
from innervoice.conversation.prefix import Prefix
from innervoice.conversation.stable import is_billed, with_billing_line
from innervoice.conversation.turns import RenamedCalls, call_ids, seals_of, shown_turn
from innervoice.gateway.gateway_members import with_marked_errors
from innervoice.gateway.limits import LIMITS
from innervoice.gateway.report import ReasoningCounts, Report, counted
from innervoice.memory.envelopes import Handle, is_envelope
from innervoice.memory.restoring import Opened, lost_parts
from innervoice.memory.retention import says_more
from innervoice.planning.cache_marks import may_keep_marks
from innervoice.planning.decisions import Decision
from innervoice.planning.effort_changes import EffortWord
from innervoice.planning.encode import encoded_plan
from innervoice.planning.plan import Plan, Planned, planned
from innervoice.wire.dialects import dialect_named

if TYPE_CHECKING:
    from innervoice.gateway.upstreams import Candidate

__all__ = ["Appended", "AppendedRequests", "Frame", "first_sent", "framed", "with_own_line"]

_BYTES_A_TOKEN = 4
_RESTORED = "thinking_restored"


class Frame(NamedTuple):
    """The bytes of a body: its pieces up to the end of its last message, and the rest."""

    before: tuple[bytes, ...]
    after: bytes
    size: int
    """The size of all pieces."""
    history: bytes
    """How the list of messages begins, in the first piece."""
    has_line: bool = False
    """Whether the system prompt, which is not among the messages, begins with a billing line."""

    @property
    def body(self) -> bytes:
        """The whole body."""
        return b"".join((*self.before, self.after))

    def with_line(self, line: str) -> Frame | None:
        """The body with this billing line in the place of its own; None if it has not exactly one outside of its messages."""
        start = self.before[0].index(self.history)
        head, in_head = with_billing_line(self.before[0][:start], line)
        after, in_rest = with_billing_line(self.after, line)
        if in_head + in_rest != 1:
            return None
        before = (head + self.before[0][start:], *self.before[1:])
        size = sum(map(len, (*before, after)))
        return self._replace(before=before, after=after, size=size)

    def grown(self, messages: list[Any]) -> Frame:
        """The body with further messages."""
        piece = b"," + dump_json(messages)[1:-1]
        return self._replace(before=(*self.before, piece), size=self.size + len(piece))


def framed(wire: Wire) -> Frame | None:
    """The frame of a body; None for one whose messages are not in their usual place."""
    history = dialect_named(wire.dialect).history
    messages = wire.body.get(history)
    if not isinstance(messages, list) or not messages:
        return None
    names = list(wire.body)
    place = names.index(history)
    head = dump_json({name: wire.body[name] for name in names[: place + 1]})
    rest = dump_json({name: wire.body[name] for name in names[place + 1 :]})
    tail = b"," + rest[1:] if len(rest) > 2 else b"}"
    history_start = dump_json(history) + b":["
    return Frame((head[:-2],), b"]" + tail, len(head) + len(tail) - 1, history_start)


@dataclass(frozen=True, slots=True)
class Appended:
    """A conversation as it is sent: what went before, and what is new."""

    frame: Frame
    unmarked: Frame
    """The same without the cache marks of its messages, as it is written where there are none: the next request has them elsewhere."""
    request: Request
    """Without its messages."""
    wire: Wire
    """Without its body."""
    betas: tuple[str, ...]
    prefix: Prefix
    digest: ConversationDigest
    """The conversation as the client sends it."""
    counts: ReasoningCounts
    notes: tuple[Note, ...]
    is_settled: bool
    """Whether nothing that was sent depends on where the open turn begins."""
    tokens: int = 0
    """About how many tokens it has."""
    effort: EffortWord | None = None
    """The effort in force."""


class _Answered(NamedTuple):
    """What was sent, and the answer to it."""

    sent: Appended
    answer: Message
    at: float
    marks: tuple[Any, ...]
    """The cache marks that the client sent, each with what contains it."""
    marked_settings: tuple[bytes, ...]


class AppendedRequests:
    """What was sent of conversations that may continue, in one process. `owner` is the tenant, the settings and the candidate."""

    def __init__(
        self,
        most_bytes: int = LIMITS.appended_bytes,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._now = now
        self._values: Bounded[bytes, _Answered] = Bounded(most_bytes, _size)
        self.beginnings = Beginnings(self._values)

    def clear(self) -> None:
        """Forgets everything: another configuration may change what is sent."""
        self.beginnings.clear()

    def __len__(self) -> int:
        return len(self.beginnings)

    def find(
        self,
        body: SplitBody,
        owner: bytes,
        candidate: Candidate,
        betas: tuple[str, ...],
        opened: Opened,
    ) -> Appended | None:
        """What is sent for a request that continues at a candidate; None for one that must be read as a whole."""
        again = self.beginnings.whole(body, owner)
        if (
            again is not None
            and again.marks == body.marked_items
            and self._fits(again, body, betas)
        ):
            return again.sent
        first_marked = body.marked_items[0][0] if body.marked_items else None
        match = self.beginnings.longest(body, owner, answered=True, most=first_marked)
        if match is None or not self._fits(match[1], body, betas):
            return None
        # Where marks were moved, the last turns are written again, each from what is known of it.
        count, answered = match
        sent: Appended | None = replace(answered.sent, frame=answered.sent.unmarked)
        steps = (
            [*self.beginnings.between(body, owner, count, len(body.items))] if first_marked else []
        )
        for end, following in (*steps, (len(body.items), None)):
            if sent is None:
                break
            step = _Appending(sent, answered.answer, candidate, opened)
            sent = step.appended(body, count, end)
            if following is not None:
                count, answered = end, following
        return sent

    def _fits(self, answered: _Answered, body: SplitBody, betas: tuple[str, ...]) -> bool:
        return (
            answered.sent.betas == betas
            and answered.marked_settings == body.marked_settings
            and not self._is_old(answered)
        )

    def answered(self, body: SplitBody, owner: bytes, sent: Appended, answer: Message) -> None:
        """Remembers a conversation that was sent this way and was answered."""
        while self._values and self._is_old(next(iter(self._values.values()))):
            self._values.pop(next(iter(self._values)))
        facts = (body.marked_items, body.marked_settings)
        self.beginnings.add(body, owner, _Answered(sent, answer, self._now(), *facts))

    def forget(self, body: SplitBody, owner: bytes) -> None:
        """Handles the refusal of a request that continued from here."""
        self.beginnings.forget(body, owner)

    def _is_old(self, answered: _Answered) -> bool:
        return self._now() - answered.at > LIMITS.appended_seconds


def _size(answered: _Answered) -> int:
    frame, unmarked = answered.sent.frame, answered.sent.unmarked
    marks = sum(len(item) for _, item in answered.marks)
    return frame.size + marks + (0 if unmarked is frame else unmarked.size)


class _Appending:
    """Writes the new part of a request."""

    def __init__(
        self, sent: Appended, answer: Message, candidate: Candidate, opened: Opened
    ) -> None:
        self._sent, self._answer = sent, answer
        self._target, self._opened = candidate.target, opened
        self._carried: list[Part] = []

    def appended(self, body: SplitBody, start: int, end: int) -> Appended | None:
        """The whole request; None if anything but the end may have to change."""
        growth = growth_of(body, start, end)
        if growth is None or not self._is_answer(growth.turn) or not self._goes_on(growth):
            return None
        sent, request = self._sent, self._request(growth)
        plan = planned(request, self._target, checked=True)
        if plan.plan.thinking_off or any(map(_moves, plan.plan.decisions)):
            return None
        wire = encoded_plan(plan)
        prefix, digest = sent.prefix.copy(), sent.digest.copy()
        for message in plan.plan.messages[1:]:
            prefix.add(message, message.parts)
        for message in (growth.turn, *growth.rest):
            digest.add(message)
        counts = self._counted(growth.turn, plan.plan, request.messages)
        frame = sent.frame.grown(_new_items(wire))
        return replace(
            sent,
            frame=frame,
            unmarked=self._unmarked(body, start, end, wire) or frame,
            wire=sent.wire.replace(prefix=prefix.value),
            prefix=prefix,
            digest=digest,
            counts=counts,
            notes=_recounted((*sent.notes, *wire.notes), counts.restored),
            tokens=sent.tokens + sum(map(len, body.items[start:end])) // _BYTES_A_TOKEN,
            is_settled=sent.is_settled and not any(map(_is_filled, plan.plan.decisions)),
        )

    def _unmarked(self, body: SplitBody, start: int, end: int, wire: Wire) -> Frame | None:
        """The body as it is written without cache marks; None if that is the body that is sent."""
        sent = self._sent
        if any(start <= number < end for number, _ in body.marked_items) and may_keep_marks(
            body.dialect, self._target
        ):
            turn, *rest = body.unmarked.messages(start, end)
            wire = encoded_plan(
                planned(self._request(Growth(turn, tuple(rest))), self._target, checked=True)
            )
        elif sent.unmarked is sent.frame:
            return None
        return sent.unmarked.grown(_new_items(wire))

    def _is_answer(self, turn: Message) -> bool:
        """Whether a message is the answer as the client got it, with all, some or none of its reasoning."""
        answer = self._answer
        if shown_turn(turn).data != shown_turn(answer).data:
            return False
        seals = {seal for part in answer.parts for seal in seals_of(part)}
        thoughts = [part.text for part in answer.parts if isinstance(part, Thinking)]
        texts = {"", "".join(thoughts), answer.thinking, *thoughts}
        for part in turn.parts:
            for seal in seals_of(part):
                if seal in seals:
                    continue
                content = self._opened(seal, part.type) if is_envelope(seal) else None
                if content is None or isinstance(content, Handle) or content not in answer.parts:
                    return False
                self._carried.append(content)
            if isinstance(part, Thinking) and part.text not in texts:
                return False
        return True

    def _goes_on(self, growth: Growth) -> bool:
        """Whether only texts and results follow, one result for each call; texts only if nothing depends on where the open turn begins."""
        if not growth.rest or not growth.is_answered:
            return False
        has_words = len(result_ids(growth.rest)) < sum(len(one.parts) for one in growth.rest)
        return self._sent.is_settled or not has_words

    def _request(self, growth: Growth) -> Request:
        """The new messages, after a question that stands for everything before."""
        # A turn that loses nothing is not stored: whoever reads the whole request would send it as the client does.
        turn = self._answer if any(map(says_more, self._answer.parts)) else growth.turn
        ids = RenamedCalls()
        ids.add(call_ids((growth.turn,)), call_ids((turn,)))
        messages = (user("."), _unbound(turn), *map(ids.with_host_ids, growth.rest))
        request = self._sent.request.replace(messages=messages, system=None, tools=())
        return with_marked_errors(request, self._target)

    def _counted(self, turn: Message, plan: Plan, messages: Sequence[Message]) -> ReasoningCounts:
        whole = turn.replace(parts=(*turn.parts, *self._carried))
        places = {(1, position) for position in lost_parts(messages[1], [whole])}
        new = counted(messages, plan, self._target, places, self._carried)
        return self._sent.counts.and_more(new)


def first_sent(
    planned: Planned,
    wire: Wire,
    request: Request,
    betas: tuple[str, ...],
    digest: ConversationDigest,
    report: Report,
) -> Appended | None:
    """What was planned and written of a whole request, for the next one to continue; None if the next one may change earlier parts."""
    plan = planned.plan
    frame = framed(wire)
    if (
        frame is None
        or plan.thinking_off
        or any(decision.part is None for decision in plan.decisions)
    ):
        return None
    counts = ReasoningCounts(
        report.kept, report.carried, report.restored, report.omitted, report.rules
    )
    frame = frame._replace(has_line=is_billed(request))
    return Appended(
        frame,
        frame,
        request.replace(messages=()),
        wire.replace(body={}, notes=()),
        betas,
        planned.prefix,
        digest,
        counts,
        tuple(report.notes),
        is_settled=not any(map(_is_filled, plan.decisions)),
    )


def _new_items(wire: Wire) -> list[Any]:
    """The written items, behind the question that stands for everything before."""
    items: list[Any] = wire.body[dialect_named(wire.dialect).history][1:]
    return items


def with_own_line(sent: Appended, line: str | None) -> Appended | None:
    """What is sent, with the billing line of this request; None if only one of both has such a line."""
    if line is None or not sent.frame.has_line:
        return None if line is not None or sent.frame.has_line else sent
    frame = sent.frame.with_line(line)
    unmarked = frame if sent.unmarked is sent.frame else sent.unmarked.with_line(line)
    return replace(sent, frame=frame, unmarked=unmarked) if frame and unmarked else None


def _moves(decision: Decision) -> bool:
    """Whether a decision may differ in the next request, or depends on earlier messages."""
    if decision.note == "cache_mark_dropped":
        return False  # which changes nothing before it
    return decision.part is None or decision.action == "converted"


def _is_filled(decision: Decision) -> bool:
    return decision.action == "filled"


def _unbound(answer: Message) -> Message:
    """The answer without the data that binds it to everything before, since that is what it is bound to."""
    parts = tuple(
        part.replace(origin=part.origin.replace(prefix=None))
        if part.origin and part.origin.prefix
        else part
        for part in answer.parts
    )
    return answer.replace(parts=parts)


def _recounted(notes: Sequence[Note], restored: int) -> tuple[Note, ...]:
    """The notes of a conversation that was continued: each once, with the current number of restored thoughts."""
    once = {(note.code, note.detail): note for note in notes if note.code != _RESTORED}
    restored_notes = (Note(_RESTORED, count=restored),) if restored else ()
    return (*once.values(), *restored_notes)
