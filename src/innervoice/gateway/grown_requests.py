"""Translated requests that grow: an agent sends the same conversation again, followed by the answer and the results of its tools.

What was read, planned and written of a conversation stays as it was sent; only the new part of the next request is read and written, and
appended to the same bytes. So a step of an agent costs only its new messages, and the provider gets the same prefix as last time, byte for
byte, as prompt caches and bound reasoning require.

    body ──► members and messages, unread ──► same settings, same beginning? ──► read the new messages ──► the bytes of last time, and the new ones

This is done where the new messages cannot change anything before them: the client sends the answer as it got it, and only results of its
calls follow. A new question moves the place where the open turn begins, on which rules depend: then the whole request is read
(`client_request.py`), once.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.messages import Message, user
from innervoice.canon.notes import Note
from innervoice.canon.parts import Part, Thinking, ToolResult
from innervoice.canon.request import Request, Wire
from innervoice.errors import InnervoiceError
from innervoice.gateway.gateway_members import with_marked_errors
from innervoice.gateway.known_requests import SplitRequest, is_simple
from innervoice.gateway.report import ReasoningCounts, counted
from innervoice.memory.changed_turns import RenamedCalls, call_ids
from innervoice.memory.envelopes import Handle, is_envelope
from innervoice.memory.restoring import Opened, lost_parts, seals_of
from innervoice.memory.turn_keys import ConversationDigest, shown_turn
from innervoice.planning.decisions import Decision
from innervoice.planning.encode import encoded_plan
from innervoice.planning.plan import Plan, Planned, planned
from innervoice.planning.prefix import Prefix
from innervoice.wire.dialects import dialect_named

if TYPE_CHECKING:
    from innervoice.gateway.client_request import Attempt
    from innervoice.gateway.report import Report
    from innervoice.gateway.routes import Candidate

__all__ = ["Frame", "GrownRequests", "GrownWay", "first_way", "framed"]

_MOST_BYTES = 256_000_000
_MOST_SECONDS = 900.0
"""Entries that were not used for so long are forgotten."""
_BYTES_A_TOKEN = 4
_RESTORED = "thinking_restored"
_MARKS = (b'"cache_control"', b'"cachePoint"')
"""Cache marks move with every request, so bytes that contain them do not stay the same."""


class Frame(NamedTuple):
    """The bytes of a body: its pieces up to the end of its last message, and the rest."""

    before: tuple[bytes, ...]
    after: bytes
    size: int
    """The size of all pieces."""

    @property
    def body(self) -> bytes:
        """The whole body."""
        return b"".join((*self.before, self.after))

    def grown(self, messages: list[Any]) -> Frame:
        """The body with further messages."""
        piece = b"," + dump_json(messages)[1:-1]
        return Frame((*self.before, piece), self.after, self.size + len(piece))


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
    return Frame((head[:-2],), b"]" + tail, len(head) + len(tail) - 1)


@dataclass(frozen=True, slots=True)
class _Sent:
    """A conversation as it was sent, and the answer to it."""

    frame: Frame
    request: Request
    """Without its messages."""
    wire: Wire
    """Without its body."""
    betas: tuple[str, ...]
    prefix: Prefix
    digest: ConversationDigest
    """The conversation as the client sends it, without the answer."""
    answer: Message
    counts: ReasoningCounts
    notes: tuple[Note, ...]
    estimate: int
    is_settled: bool
    """Whether nothing that was sent depends on where the open turn begins."""
    used: float


@dataclass(frozen=True, slots=True)
class GrownWay:
    """A request that continues what was sent last time."""

    frame: Frame
    request: Request
    wire: Wire
    prefix: Prefix
    digest: ConversationDigest
    counts: ReasoningCounts
    notes: tuple[Note, ...]
    is_settled: bool
    estimate: int = 0
    """About how many tokens it has."""


class GrownRequests:
    """What was sent of conversations that may continue, in one process."""

    def __init__(
        self, most_bytes: int = _MOST_BYTES, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._most, self._now = most_bytes, now
        self._size = 0
        self._sent: OrderedDict[bytes, _Sent] = OrderedDict()

    def clear(self) -> None:
        """Forgets everything: another configuration may change what is sent."""
        self._sent.clear()
        self._size = 0

    def __len__(self) -> int:
        return len(self._sent)

    def find(
        self, split: SplitRequest, candidate: Candidate, betas: tuple[str, ...], opened: Opened
    ) -> GrownWay | None:
        """How a request continues at a candidate; None for one that must be read as a whole."""
        end, count = _end(split, candidate), len(split.messages)
        for number, digest in reversed(split.digests().items()):
            sent = self._sent.get(digest + end) if number < count else None
            if sent is not None:
                break
        else:
            return None
        if sent.betas != betas or self._now() - sent.used > _MOST_SECONDS:
            return None
        return _Growth(split, sent, candidate, opened).way(split.messages[number:])

    def learn(
        self,
        split: SplitRequest,
        attempt: Attempt,
        answer: Message,
        estimate: int,
    ) -> None:
        """Remembers a conversation that was sent this way and was answered."""
        way, digest = attempt.grown, split.digests().get(len(split.messages))
        # Pieces before the last one were checked when they were new.
        if way is None or digest is None or any(mark in way.frame.before[-1] for mark in _MARKS):
            return
        sent = _Sent(
            way.frame,
            way.request.replace(messages=()),
            way.wire.replace(body={}, notes=()),
            attempt.betas,
            way.prefix,
            way.digest,
            answer,
            way.counts,
            way.notes,
            estimate,
            way.is_settled,
            self._now(),
        )
        self._keep(digest + _end(split, attempt.candidate), sent)

    def forget(self, split: SplitRequest, candidate: Candidate) -> None:
        """Handles the refusal of a request that continued from here."""
        end = _end(split, candidate)
        for digest in split.digests().values():
            self._drop(digest + end)

    def _keep(self, key: bytes, sent: _Sent) -> None:
        self._drop(key)
        self._sent[key] = sent
        self._size += sent.frame.size
        while self._size > self._most or self._is_old():
            self._drop(next(iter(self._sent)))

    def _is_old(self) -> bool:
        oldest = next(iter(self._sent.values()), None)
        return oldest is not None and self._now() - oldest.used > _MOST_SECONDS

    def _drop(self, key: bytes) -> None:
        sent = self._sent.pop(key, None)
        if sent is not None:
            self._size -= sent.frame.size


def _end(split: SplitRequest, candidate: Candidate) -> bytes:
    """The settings and the destination of a conversation."""
    return split.settings(candidate)


class _Growth:
    """Writes the new part of a request."""

    def __init__(
        self, split: SplitRequest, sent: _Sent, candidate: Candidate, opened: Opened
    ) -> None:
        self._split, self._sent = split, sent
        self._target, self._opened = candidate.target, opened
        self._carried: list[Part] = []

    def way(self, new: list[Any]) -> GrownWay | None:
        """The whole request; None if anything but the end may have to change."""
        try:
            turn, *rest = self._split.read([load_json(item) for item in new]).messages
        except (InnervoiceError, ValueError, TypeError, KeyError, AttributeError):
            return None  # reading the whole request reports what is wrong
        if not self._is_answer(turn) or not self._is_continued(turn, rest):
            return None
        sent = self._sent
        request = self._request(turn, rest)
        plan = planned(request, self._target, checked=True)
        if plan.plan.thinking_off or any(map(_moves, plan.plan.decisions)):
            return None
        wire = encoded_plan(plan)
        tail = wire.body[dialect_named(wire.dialect).history][1:]
        prefix, digest = sent.prefix.copy(), sent.digest.copy()
        for message in plan.plan.messages[1:]:
            prefix.add(message, message.parts)
        for message in (turn, *rest):
            digest.add(message)
        counts = self._counted(turn, plan.plan, request.messages)
        return GrownWay(
            frame=sent.frame.grown(tail),
            request=sent.request,
            wire=sent.wire.replace(prefix=prefix.value),
            prefix=prefix,
            digest=digest,
            counts=counts,
            notes=_recounted((*sent.notes, *wire.notes), counts.restored),
            estimate=sent.estimate + sum(map(len, new)) // _BYTES_A_TOKEN,
            is_settled=sent.is_settled and not any(map(_is_filled, plan.plan.decisions)),
        )

    def _is_answer(self, turn: Message) -> bool:
        """Whether a message is the answer as the client got it, with all, some or none of its reasoning."""
        answer = self._sent.answer
        if turn.role != "assistant" or shown_turn(turn).data != shown_turn(answer).data:
            return False
        own_seals = {seal for part in answer.parts for seal in seals_of(part)}
        thoughts = [part.text for part in answer.parts if isinstance(part, Thinking)]
        texts = {"", "".join(thoughts), answer.thinking, *thoughts}
        for part in turn.parts:
            for seal in seals_of(part):
                if seal in own_seals:
                    continue
                content = self._opened(seal, part.type) if is_envelope(seal) else None
                if content is None or isinstance(content, Handle) or content not in answer.parts:
                    return False
                self._carried.append(content)
            if isinstance(part, Thinking) and part.text not in texts:
                return False
        return True

    def _is_continued(self, turn: Message, rest: list[Message]) -> bool:
        """Whether only texts and results follow, one result for each call; texts only if nothing depends on where the open turn begins."""
        if not rest or not all(map(is_simple, rest)):
            return False
        parts = [part for message in rest for part in message.parts]
        results = [part.call_id for part in parts if isinstance(part, ToolResult)]
        has_words = len(results) < len(parts)
        is_answered = sorted(results) == sorted(call.id for call in turn.tool_calls)
        return is_answered and (self._sent.is_settled or not has_words)

    def _request(self, turn: Message, rest: list[Message]) -> Request:
        """The new messages, after a question that stands for everything before."""
        answer, ids = self._sent.answer, RenamedCalls()
        ids.add(call_ids((turn,)), call_ids((answer,)))
        messages = (user("."), _unbound(answer), *map(ids.with_own, rest))
        request = self._sent.request.replace(messages=messages, system=None, tools=())
        return with_marked_errors(request, self._target)

    def _counted(self, turn: Message, plan: Plan, messages: Sequence[Message]) -> ReasoningCounts:
        whole = turn.replace(parts=(*turn.parts, *self._carried))
        places = {(1, position) for position in lost_parts(messages[1], [whole])}
        new = counted(messages, plan, self._target, places, self._carried)
        return self._sent.counts.and_more(new)


def first_way(
    planned: Planned, wire: Wire, request: Request, digest: ConversationDigest, report: Report
) -> GrownWay | None:
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
    is_settled = not any(map(_is_filled, plan.decisions))
    return GrownWay(
        frame, request, wire, planned.prefix, digest, counts, tuple(report.notes), is_settled
    )


def _moves(decision: Decision) -> bool:
    """Whether a decision may differ in the next request, or depends on earlier messages."""
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
