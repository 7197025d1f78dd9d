"""One request on its way through the gateway, without I/O.

    body ──► read ──► restore ──► for each candidate: plan ──► bytes or canon ──► an exchange

The request is forwarded as the bytes that came if the client speaks the upstream's dialect and nothing has to change: no reasoning was
restored, and neither the settings nor the history had to be fitted. Every change that the library makes has a note, so a request without
notes is one without changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, get_args

from innervoice.canon.messages import Message
from innervoice.canon.notes import Note, Notebook
from innervoice.canon.parts import Part, Text, Thinking
from innervoice.canon.reasoning import Effort, Reasoning
from innervoice.canon.request import Request, Wire
from innervoice.canon.target import Target
from innervoice.canon.tools import Tool
from innervoice.gateway.byte_path import with_model
from innervoice.gateway.endpoints import Front
from innervoice.gateway.gateway_members import (
    added_members,
    moved_out,
    shown_to_client,
    with_marked_errors,
    with_members,
)
from innervoice.gateway.grown_requests import GrownWay, first_way
from innervoice.gateway.headers import asked_betas, known_betas
from innervoice.gateway.known_turns import with_turns
from innervoice.gateway.refused_turns import RefusedTurns, seals_in, without_seals
from innervoice.gateway.report import ReasoningCounts, Report, counted
from innervoice.gateway.routes import Candidate, Route
from innervoice.memory.envelopes import EnvelopeSealer, Handle, handles_of
from innervoice.memory.records import FoundTurns, TurnRecord
from innervoice.memory.restoring import TurnRestorer, seals_of
from innervoice.memory.turn_keys import ConversationDigest
from innervoice.planning.encode import decode_request, encoded_plan
from innervoice.planning.plan import Plan, planned
from innervoice.text_search import is_searched
from innervoice.wire.controls import MEMBERS
from innervoice.wire.dialects import dialect_named

__all__ = ["Attempt", "ClientRequest", "sealed_for"]

_WARNINGS = frozenset(
    {"control_unknown", "reasoning_missing", "stop_in_reasoning", "unknown_model"}
)
"""Notes about something that is sent unchanged."""
_SPELLED = frozenset[str]().union(*MEMBERS.values())
"""The members in which hosts of one dialect accept reasoning settings, each in its own."""
_EFFORTS = get_args(Effort)
_BILLING = "x-anthropic-billing-header:"
"""How the first line of Claude Code's system prompt begins; its number differs in every request, which defeats prompt caches."""
_SETTINGS = ("thinking", "output_config", "additionalModelRequestFields")
"""Members in which a client may combine settings that a model does not accept together: off and an effort, on and no budget."""
_MOST_TOLD = 50
"""How many decisions about parts are kept for `/v1/explain`."""
_WORTH_KEEPING = 4096
"""Size of a request in bytes below which reading all of it again costs no more than remembering it."""
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class Attempt(NamedTuple):
    """A request as it is sent to one candidate."""

    candidate: Candidate
    request: Request
    wire: Wire
    body: bytes | None
    """The client's own bytes, on the byte path."""
    betas: tuple[str, ...] = ()
    """The client's flags that the upstream knows."""
    members: Mapping[str, Any] = MappingProxyType({})
    """What the gateway added to the body."""
    grown: GrownWay | None = None
    """What was written, for the next request to continue."""

    @property
    def sent(self) -> bytes | None:
        """The body that is sent, if it is already written."""
        return self.grown.frame.body if self.grown else self.body

    @property
    def is_bytes(self) -> bool:
        """Whether the client's bytes are forwarded, and the answer's bytes sent back."""
        return self.body is not None


class ClientRequest:
    """One request of a client."""

    def __init__(
        self,
        front: Front,
        body: bytes,
        value: dict[str, Any],
        *,
        report: Report,
        secret: bytes,
        sealer: EnvelopeSealer,
        older_secrets: Sequence[bytes] = (),
        headers: Mapping[str, str] = _NO_HEADERS,
        turns: Sequence[Message] = (),
        refused: RefusedTurns | None = None,
    ) -> None:
        """`turns` are turns of the request as their providers sent them, where they are known."""
        self.front = front
        self.report = report
        self.name = front.model or str(value.get("model") or "")
        """The model's name as the client wrote it."""
        dialect = dialect_named(front.dialect)
        stream = value.get("stream", dialect.streams_unasked)
        self.stream = bool(stream) if front.stream is None else front.stream
        self._body, self._value = body, value
        self._sealer, self._secret = sealer, secret
        self._betas = asked_betas(headers, value)
        self.request = with_turns(decode_request(value, front.dialect), turns)
        self._notebook = Notebook()
        self._restorer = TurnRestorer(
            self.request, report.tenant, secret, self._opened, older=older_secrets
        )
        self._refused = RefusedTurns() if refused is None else refused
        self._left_out = 0
        """Pieces of reasoning that were refused before."""
        self._places: frozenset[tuple[int, int]] = frozenset()
        self._restored = self.request
        self.is_restored = False
        """Whether the store was read."""
        self.echo: Mapping[str, Any] = {}
        """What the answer repeats of the request, where the client's API does that."""
        self.turn_keys: Sequence[bytes] = ()
        """Further keys of the answer's turn, by which it can be deleted."""

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The client's tools."""
        return self.request.tools

    @property
    def stores_nothing(self) -> bool:
        """Whether the client asks for nothing to be stored."""
        return self._value.get("store") is False

    # ---- what was lost -------------------------------------------------------------------------

    @property
    def wanted(self) -> list[bytes]:
        """The keys of the turns in the request."""
        return self._restorer.wanted

    def restore(self, found: FoundTurns) -> None:
        """Restores the turns that a store returned for these keys."""
        self.is_restored = True
        self._restored, self._places = self._restorer.restored(found)

    def record(self, message: Message) -> tuple[TurnRecord, list[bytes]] | None:
        """The record of the answer and its keys; None if there is nothing that a client could lose."""
        record = self._restorer.record(message)
        if record is None:
            return None
        return record[0], [*record[1], *handles_of(message, self.report.tenant), *self.turn_keys]

    @property
    def digest(self) -> ConversationDigest:
        """The conversation, up to the end of the request."""
        return self._restorer.digest

    def seal(self, part: Part) -> str | None:
        """The envelope that the client carries for the gateway in the opaque member of a part of its own dialect."""
        return sealed_for(part, self._sealer, self.front, self.report)

    def _opened(self, text: str, slot: str) -> Part | Handle | None:
        return self._sealer.open(text, self.report.tenant, self.front.dialect, slot)

    # ---- sending -------------------------------------------------------------------------------

    def attempt(self, candidate: Candidate, route: Route) -> Attempt:
        """The request as it is sent to a candidate; raises `UsageError` if it cannot be sent."""
        target = candidate.target
        request, changes = self._fitted(candidate, route.at_most)
        request = request.replace(
            model=candidate.name,
            dialect=target.dialect,
            base_url=candidate.base_url,
            scope=target.scope,
            stream=self.stream or target.row.stream_only,
        )
        plan = planned(request, target, checked=True)
        wire = encoded_plan(plan)
        is_same = (
            target.dialect == self.front.dialect
            and not self._places
            and not self._is_changed(wire, changes, target)
            and request.stream == self.stream
            # Reasoning in the text must be split out of it.
            and not is_searched(target)
        )
        body = with_model(self._body, self._value, target.model) if is_same else None
        self.report.way = "canon" if body is None else "bytes"
        notebook = Notebook()
        betas = known_betas(self._betas, target, notebook)
        members: Mapping[str, Any] = {}
        if body is None:
            owner = self.report.tenant, self._secret
            members = added_members(request, self._value, target, betas, owner, notebook)
            wire = with_members(wire, members)
        notes = (*changes, *self._restorer.notebook.notes(), *wire.notes, *notebook.notes())
        self._report(candidate, plan.plan, notes)
        grown = None
        if body is None and len(self._body) >= _WORTH_KEEPING:
            grown = first_way(plan, wire, request, self.digest, self.report)
        return Attempt(candidate, request, wire, body, betas, members, grown)

    def _is_changed(self, wire: Wire, changes: tuple[Note, ...], target: Target) -> bool:
        """Whether the body that is sent differs in meaning from the one that came."""
        notes = (*changes, *self._restorer.notebook.notes(), *wire.notes)
        if any(note.code not in _WARNINGS for note in notes):
            return True
        # Settings that make reasoning come back at all, settings that only this host needs, and settings that it spells differently.
        unstored = dialect_named(wire.dialect).unstored
        host_members = target.host.members.get(wire.dialect, {}) if target.host else {}
        names = (*unstored, *host_members, *_SETTINGS, *_SPELLED)
        if any(wire.body.get(name) != self._value.get(name) for name in names):
            return True
        # Where the path names the model, the body must not.
        return ("model" in wire.body) != ("model" in self._value)

    def refuse(self, candidate: Candidate, seals: frozenset[str]) -> None:
        """Handles a candidate's refusal of these seals: at their place in the history, they are not sent to it again."""
        messages = self._restored.messages
        if len(messages) != len(self.request.messages):
            messages = self.request.messages  # turns were rejoined, and have other positions
        self._refused.add(repr(candidate.key).encode(), self._restorer.turns, messages, seals)
        places = [
            (number, position)
            for number, message in enumerate(self._restored.messages)
            for position, part in enumerate(message.parts)
            if isinstance(part, Thinking) and not seals.isdisjoint(seals_of(part))
        ]
        self.report.leave_out(len(places), sum(place in self._places for place in places))

    def _accepted(self, candidate: Candidate, notebook: Notebook) -> Request:
        """The request without the reasoning that this candidate refused before."""
        request = self._restored
        seals = self._refused.among(repr(candidate.key).encode(), self._restorer.turns)
        self._left_out = len(seals_in(request.messages) & seals)
        if not self._left_out:
            return request
        notebook.add("refused_before", count=self._left_out)
        return request.replace(messages=without_seals(request.messages, seals))

    def _fitted(
        self, candidate: Candidate, at_most: Effort | None
    ) -> tuple[Request, tuple[Note, ...]]:
        """The request without content that only its client's own provider understands, and with the limits of the configuration."""
        target, notebook = candidate.target, Notebook()
        request = self._accepted(candidate, notebook)
        is_billed = target.host is not None and target.host.billing_line
        if not is_billed and (messages := _unbilled(request.messages)):
            request = request.replace(messages=messages)
            notebook.add("system_line_dropped", _BILLING)
        request = with_marked_errors(moved_out(request, target), target)
        request = shown_to_client(request, self.front.dialect, target, notebook)
        setting = request.reasoning
        if at_most and setting and _is_above(setting, at_most):
            request = request.replace(reasoning=Reasoning(at_most, show=setting.show))
            notebook.add("effort_limited", f"at most {at_most}")
        return request, notebook.notes()

    def _report(self, candidate: Candidate, plan: Plan, notes: tuple[Note, ...]) -> None:
        report, target = self.report, candidate.target
        report.provider, report.model = target.provider or "", target.model
        report.account = candidate.account.name
        counts = counted(
            self._restored.messages, plan, target, self._places, self._restorer.carried
        )
        if self._left_out:
            counts = counts.and_more(ReasoningCounts(omitted=self._left_out, rules=("H8",)))
        report.count(counts)
        report.plan = tuple(item for item in plan.decisions if item.action != "kept")[:_MOST_TOLD]
        report.notes = list(notes)


def sealed_for(part: Part, sealer: EnvelopeSealer, front: Front, report: Report) -> str:
    """What a client carries for the gateway; the whole part where nothing is stored."""
    return sealer.seal(part, report.tenant, front.dialect, whole=report.keeps == "off")


def _is_above(setting: Reasoning, limit: Effort) -> bool:
    """Whether more than the limit is requested; a budget may be any effort, so the limit replaces it."""
    if setting.effort is None:
        return setting.budget is not None
    return _EFFORTS.index(setting.effort) > _EFFORTS.index(limit)


def _unbilled(messages: tuple[Message, ...]) -> tuple[Message, ...] | None:
    """The messages without the billing line of Claude Code; None if there is none."""
    for number, message in enumerate(messages):
        if message.role != "system":
            continue
        parts = tuple(part for part in message.parts if not _is_billing(part))
        if len(parts) < len(message.parts):
            rest = (message.replace(parts=parts),) if parts else ()
            return (*messages[:number], *rest, *messages[number + 1 :])
    return None


def _is_billing(part: Part) -> bool:
    return isinstance(part, Text) and part.text.startswith(_BILLING)
