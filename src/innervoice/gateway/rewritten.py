"""The third way of a request: it is read, gets back what its client lost, and is planned and written anew; without I/O.

    body ──► read ──► restore ──► for each candidate: plan ──► bytes or canon ──► an attempt

The request is forwarded as the bytes that came if the client speaks the upstream's dialect and nothing has to change: no reasoning was
restored, and neither the settings nor the history had to be fitted. Every change that the library makes has a note, so a request without
notes is one without changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import blake2b
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from innervoice.canon.bounded import Bounded
from innervoice.canon.messages import Message, user
from innervoice.canon.notes import Notebook
from innervoice.canon.parts import Opaque, Part, Text, Thinking
from innervoice.canon.reasoning import Reasoning
from innervoice.canon.request import Request, Wire
from innervoice.canon.response import Response
from innervoice.canon.target import Target
from innervoice.canon.words import BILLING_LINE
from innervoice.conversation.body import DIGEST_BYTES
from innervoice.conversation.digest import ConversationDigest, TurnKeys
from innervoice.conversation.stable import unbilled_request
from innervoice.conversation.turns import seals_in, seals_of, without_seals
from innervoice.gateway.appended import Appended, first_sent
from innervoice.gateway.effort_policy import GovernedRequest, governed_by
from innervoice.gateway.endpoints import Endpoint
from innervoice.gateway.estimates import estimate
from innervoice.gateway.forwarded import with_model
from innervoice.gateway.gateway_members import (
    added_members,
    asked_betas,
    known_betas,
    moved_out,
    shown_elsewhere,
    shown_to_client,
    with_marked_errors,
    with_members,
    without_private_members,
)
from innervoice.gateway.limits import LIMITS
from innervoice.gateway.report import ReasoningCounts, Report, counted
from innervoice.gateway.responses.compactions import is_native, opened, without_trigger
from innervoice.memory.effort_history import KnownEfforts, effort_word, with_known_efforts
from innervoice.memory.envelopes import Handle, Summary
from innervoice.memory.records import TurnsByKey
from innervoice.memory.restoring import TurnRestorer, with_turns
from innervoice.planning.compactions import SUMMARY_ASKED, for_summary
from innervoice.planning.effort_changes import EffortWord
from innervoice.planning.encode import decode_request, encoded_plan
from innervoice.planning.plan import Plan, planned
from innervoice.steering.repetition import repetition_in
from innervoice.steering.watch import with_native_limit
from innervoice.text_search import is_searched
from innervoice.wire.controls import MEMBERS
from innervoice.wire.dialect import Dialect
from innervoice.wire.dialects import dialect_named
from innervoice.wire.json_access import as_list
from innervoice.wire.refusals import Refusal, Refused
from innervoice.wire.responses.compactions import items_in

if TYPE_CHECKING:
    from innervoice.gateway.gateway import Gateway
    from innervoice.gateway.routes import Route
    from innervoice.gateway.upstreams import Candidate

__all__ = ["Attempt", "RefusedSeals", "RewrittenRequest"]

_WARNINGS = frozenset(
    {
        "control_unknown",
        "effort_at_top",
        "reasoning_missing",
        "restoration_refused",
        "stop_in_reasoning",
        "unknown_model",
    }
)
"""Notes about something that is sent unchanged."""
_SPELLED = frozenset[str]().union(*MEMBERS.values())
"""The members in which hosts of one dialect accept reasoning settings, each in its own."""
_SETTINGS = ("thinking", "output_config", "additionalModelRequestFields")
"""Members in which a client may combine settings that a model does not accept together: off and an effort, on and no budget."""


class Attempt(NamedTuple):
    """A request as it is sent to one candidate, in one of three ways."""

    candidate: Candidate
    request: Request
    wire: Wire
    digest: ConversationDigest
    """The conversation as the client sends it."""
    body: bytes | None = None
    """The client's own bytes, on the byte path."""
    betas: tuple[str, ...] = ()
    """The client's flags that the upstream knows."""
    members: Mapping[str, Any] = MappingProxyType({})
    """What the gateway added to the body."""
    appended: Appended | None = None
    """What is sent, for the next request to continue."""
    rewritten: RewrittenRequest | None = None
    """The request, if all of it was read."""
    effort: EffortWord | None = None
    """The effort in force, where the one at the top of the request may be another."""
    is_summary: bool = False
    """Whether the upstream is asked for the summary that a compaction of the gateway carries."""
    is_compaction: bool = False
    """Whether a compaction is asked for, here or of the upstream."""

    @property
    def in_force(self) -> EffortWord | None:
        """The effort that the answer is written with; None for a budget."""
        if self.effort is not None:
            return self.effort
        return self.appended.effort if self.appended else effort_word(self.request.reasoning)

    @property
    def sent(self) -> bytes | None:
        """The body that is sent, if it is already written."""
        return self.appended.frame.body if self.appended else self.body

    @property
    def is_bytes(self) -> bool:
        """Whether the client's bytes are forwarded, and the answer's bytes sent back."""
        return self.body is not None


class RefusedSeals:
    """Reasoning that a host refused, each at its place in its conversation, so that it is not sent there again; the last ones of one process.

    After a compaction Claude Code keeps its last turn with a signature that is bound to messages that no longer exist. The first request with
    it is refused, and sent again without it (H8). Without this memory every following request would be refused as well, and the reasoning in
    between would be bound to a history that is never sent again.
    """

    def __init__(self) -> None:
        self._seals: Bounded[bytes, frozenset[str]] = Bounded(LIMITS.refused_turns)

    def add(
        self,
        upstream: bytes,
        turns: Mapping[int, TurnKeys],
        messages: Sequence[Message],
        seals: frozenset[str],
    ) -> None:
        """Adds seals that an upstream refused in these messages."""
        for number, keys in turns.items():
            if refused := seals_in(messages[number : number + 1]) & seals:
                self._seals[upstream + keys.place] = refused

    def among(self, upstream: bytes, turns: Mapping[int, TurnKeys]) -> frozenset[str]:
        """The seals that were refused at the places of these turns."""
        if not self._seals:
            return frozenset()
        refused = (self._seals.get(upstream + keys.place) for keys in turns.values())
        return frozenset().union(*(seals for seals in refused if seals))


class BrokenAnswers:
    """What clients were shown of answers that broke off; the last ones of one process.

    A client may send such a beginning back at the end of the history. In an API with prefill, one that is not known here is a prefill.
    """

    def __init__(self) -> None:
        self._shown: Bounded[bytes, None] = Bounded(LIMITS.broken_answers)

    def add(self, tenant: str, response: Response) -> None:
        """Adds what was received of an answer."""
        if text := response.text:
            self._shown[_digest_of(tenant, text)] = None

    def mended(self, request: Request, tenant: str, dialect: str) -> Request:
        """A request whose last message, if it is the beginning of an answer that broke off, says so."""
        last = request.messages[-1] if request.messages else None
        if last is None or last.role != "assistant" or not last.text:
            return request
        row = dialect_named(dialect)
        if row.has_prefill and _digest_of(tenant, last.text) not in self._shown:
            return request
        place = max(at for at, part in enumerate(last.parts) if isinstance(part, Text))
        cut = last.parts[place].replace(complete=False)
        parts = (*last.parts[:place], cut, *last.parts[place + 1 :])
        return request.replace(messages=(*request.messages[:-1], last.replace(parts=parts)))


def _digest_of(tenant: str, text: str) -> bytes:
    """A digest of a text, without the white space around it: clients may strip it."""
    data = f"{tenant}\0{text.strip()}".encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=DIGEST_BYTES).digest()


class RewrittenRequest:
    """A request that was read."""

    def __init__(
        self,
        gateway: Gateway,
        endpoint: Endpoint,
        body: bytes,
        value: dict[str, Any],
        report: Report,
        headers: Mapping[str, str],
        turns: Sequence[Message] = (),
        *,
        translated: bool = False,
    ) -> None:
        """`turns` are turns of the request as their providers sent them, where they are known. With `translated` its answer is never the
        provider's bytes."""
        self._is_translated = translated
        self.endpoint = endpoint
        self.report = report
        self.name = endpoint.model or str(value.get("model") or "")
        """The model's name as the client wrote it."""
        stream = value.get("stream", dialect_named(endpoint.dialect).streams_unasked)
        self.stream = bool(stream) if endpoint.stream is None else endpoint.stream
        dialect = dialect_named(endpoint.dialect)
        value, self._private = without_private_members(body, value, dialect)
        self._body, self._value = body, value
        self._sealer, self._secret = gateway.sealer, gateway.lookup_key
        self._headers = headers
        self._betas = asked_betas(headers, value)
        request = with_turns(decode_request(value, endpoint.dialect), turns)
        messages, self.trigger = without_trigger(request.messages)
        """The item that asks for a compaction; None if an answer is wanted."""
        messages, self._opened_compactions = opened(messages, self._opened_summary)
        if self.trigger is not None or self._opened_compactions:
            request = request.replace(messages=messages)
        if self.trigger is None:
            request = gateway.broken.mended(request, report.tenant, endpoint.dialect)
        self.request = request
        self._restorer = TurnRestorer(
            self.request,
            report.tenant,
            self._secret,
            self._opened,
            older=gateway.older_lookup_keys,
        )
        self._refused = gateway.refused
        self._efforts = KnownEfforts((), None, None)
        """The efforts of the conversation, for the last candidate."""
        self._left_out = 0
        """Pieces of reasoning that were refused before."""
        self.stored: TurnsByKey = {}
        """The turns that a store has under the keys of the request."""
        self._places: frozenset[tuple[int, int]] = frozenset()
        self._restored = self.request
        self._restored_for: Target | None = None
        self.is_taken_back = False
        """Whether its provider refused what was restored, so that it is sent as the client wrote it."""
        self.is_looked_up = False
        """Whether the store was read."""

    @cached_property
    def tokens(self) -> int:
        """About how many tokens it has."""
        return estimate(self._value)

    @property
    def digest(self) -> ConversationDigest:
        """The conversation, up to the end of the request."""
        return self._restorer.digest

    @property
    def covered_turns(self) -> int:
        """How many messages a compaction of the conversation stands for."""
        return len(self.request.messages)

    @property
    def items(self) -> list[Any]:
        """The items of the conversation, as they came."""
        return items_in(self._value.get(dialect_named(self.endpoint.dialect).history))

    def _opened_summary(self, envelope: str) -> Summary | None:
        return self._sealer.open_summary(envelope, self.report.tenant, self.endpoint.dialect)

    # ---- what was lost -------------------------------------------------------------------------

    @property
    def wanted(self) -> list[bytes]:
        """The keys of the turns in the request."""
        return self._restorer.wanted

    def restore(self, turns: TurnsByKey) -> None:
        """Uses the turns that a store returned for these keys."""
        self.is_looked_up, self.stored = True, turns

    def _restore_for(self, target: Target) -> None:
        """Puts back what the client lost; of several turns that match, the ones that the target can read."""
        if self.is_looked_up and self._restored_for is not target:
            self._restored_for = target
            stored = {} if self.is_taken_back else self.stored
            self._restored, self._places = self._restorer.restored(stored, target)
            if self.is_taken_back:
                self._restorer.notebook.add("restoration_refused")

    def take_back(self, candidate: Candidate) -> bool:
        """Takes back what was restored: a provider of the client's own API refused it. Returns whether there was anything."""
        if not self._places or candidate.target.dialect != self.endpoint.dialect:
            return False
        self.is_taken_back, self._restored_for = True, None
        return True

    def _opened(self, text: str, slot: str) -> Part | Handle | None:
        return self._sealer.open(text, self.report.tenant, self.endpoint.dialect, slot)

    # ---- sending -------------------------------------------------------------------------------

    def attempt(self, candidate: Candidate, route: Route) -> Attempt:
        """The request as it is sent to a candidate; raises `UsageError` if it cannot be sent."""
        target, notebook = candidate.target, Notebook()
        self._restore_for(target)
        request = self._fitted(candidate, route, notebook)
        notebook.take(self._restorer.notebook)
        plan = planned(request, target, checked=True, notebook=notebook)
        wire = encoded_plan(plan)
        self._check_server_state(request, plan.plan, notebook)
        is_same = (
            target.dialect == self.endpoint.dialect
            and not self._is_translated
            and route.steering is None
            and not self._places
            and not self._is_changed(wire, target)
            and request.stream == self.stream
            # Reasoning in the text must be split out of it.
            and not is_searched(target)
        )
        body = None
        if is_same:
            body = with_model(self._body, self._value.get("model"), target.model)
        self.report.way = "canon" if body is None else "bytes"
        betas = known_betas(self._betas, target, notebook)
        members: Mapping[str, Any] = {}
        if body is None:
            for name in self._private:
                notebook.add("extra_dropped", name)
            owner = self.report.tenant, self._secret
            flags = tuple(dict.fromkeys([*betas, *as_list(wire.body.get("anthropic_beta"))]))
            members = added_members(request, self._value, target, flags, owner, notebook)
            wire = with_members(wire, members)
        self._report(candidate, plan.plan, notebook)
        sent = None
        efforts = self._efforts
        if body is None and not efforts.is_waiting and self.trigger is None:
            sent = first_sent(plan, wire, request, betas, self.digest, self.report)
            if sent is not None:
                notes = tuple(note for note in sent.notes if note.code != "effort_at_top")
                sent = replace(sent, effort=efforts.in_force, notes=notes)
        return Attempt(
            candidate,
            request,
            wire,
            self.digest,
            body,
            betas,
            members,
            sent,
            self,
            efforts.in_force,
            self._is_summary_for(target),
            self.trigger is not None,
        )

    def _is_summary_for(self, target: Target) -> bool:
        """Whether a candidate that makes no compactions is asked for a summary."""
        return self.trigger is not None and not is_native(target, self.endpoint.dialect)

    def _check_server_state(self, request: Request, plan: Plan, notebook: Notebook) -> None:
        """Raises `Refused` if something is not sent that stands for content which another provider stores: an answer would be wrong."""
        dialect = dialect_named(self.endpoint.dialect)
        for note in notebook.notes():
            if note.code == "extra_dropped" and note.detail in dialect.server_state:
                text = f"{note.detail} refers to the provider of another API and cannot be used with this model; {dialect.server_state[note.detail]}"
                raise Refused(Refusal(text=text, param=note.detail))
        for decision in plan.decisions:
            if decision.note != "opaque_dropped" or decision.part is None:
                continue
            part = request.messages[decision.message].parts[decision.part]
            value = part.value if isinstance(part, Opaque) else None
            if name := _first_member(value, dialect.file_references):
                text = f"messages refer to a file that another provider stores ({name}), which this model cannot read; send the file's content"
                raise Refused(Refusal(text=text, param=name))

    def _is_changed(self, wire: Wire, target: Target) -> bool:
        """Whether the body that is sent differs in meaning from the one that came."""
        known = target.host.knows if target.host else ()
        if any(name not in known for name in self._private):
            return True
        if any(note.code not in _WARNINGS for note in wire.notes):
            return True
        # Settings that make reasoning come back at all, settings that only this host needs, and settings that it spells differently.
        row = dialect_named(wire.dialect)
        host_members = target.host.members.get(wire.dialect, {}) if target.host else {}
        names = (*row.unstored, *host_members, *_SETTINGS, *_SPELLED)
        if any(wire.body.get(name) != self._value.get(name) for name in names):
            return True
        if row.turns_are_items and _count(wire.body, row) != _count(self._value, row):
            return True
        # Where the path names the model, the body must not.
        return ("model" in wire.body) != ("model" in self._value)

    def refuse(self, candidate: Candidate, seals: frozenset[str]) -> None:
        """Handles a candidate's refusal of these seals: at their place in the history, they are not sent to it again."""
        messages = self._restored.messages
        if len(messages) != len(self.request.messages):
            messages = self.request.messages  # turns were rejoined, and have other positions
        self._refused.add(candidate.id, self._restorer.turns, messages, seals)
        places = [
            (number, position)
            for number, message in enumerate(self._restored.messages)
            for position, part in enumerate(message.parts)
            if isinstance(part, Thinking) and not seals.isdisjoint(seals_of(part))
        ]
        self.report.leave_out(len(places), sum(place in self._places for place in places))

    def _fitted(self, candidate: Candidate, route: Route, notebook: Notebook) -> Request:
        """The request without content that only its client's own provider understands, and with the limits of the configuration."""
        target, request = candidate.target, self._restored
        changes: dict[str, Any] = {}
        messages = self._accepted(candidate, notebook)
        if route.steering is not None and route.steering.loops in ("answer", "stop"):
            messages = _without_loops(messages, notebook)
        if self._opened_compactions:
            notebook.add("compaction_as_text", count=self._opened_compactions)
        if self._is_summary_for(target):
            notebook.add("compaction_made")
            messages, request = (*messages, user(SUMMARY_ASKED)), for_summary(request)
        elif self.trigger is not None:
            messages = (*messages, self.trigger)
        request = request.replace(messages=messages)
        takes_line = target.host is not None and target.host.billing_line
        if not takes_line and (unbilled := unbilled_request(request)) is not request:
            request, messages = unbilled, unbilled.messages
            notebook.add("system_line_dropped", BILLING_LINE)
        dialect = self.endpoint.dialect
        extra = shown_elsewhere(request, dialect, target, notebook)
        setting = request.reasoning
        if route.rules:
            governed = governed_by(route.rules, self._asks_for(messages), target, notebook)
            messages, setting = governed.messages, governed.setting
            self.report.policy = governed.explained
        efforts = with_known_efforts(messages, setting, target, request.extra, notebook)
        self._efforts, setting = efforts, efforts.setting
        if efforts.messages is not request.messages:
            changes["messages"] = efforts.messages
        if extra is request.extra:
            setting = shown_to_client(setting, dialect, target, notebook)
        if route.steering is not None:
            setting = _limited(setting, route.steering.limit, target, notebook)
        request = request.replace(
            **changes,
            reasoning=setting,
            extra=moved_out(extra, target),
            model=candidate.name,
            dialect=target.dialect,
            base_url=candidate.base_url,
            scope=target.scope,
            stream=self.stream or target.row.stream_only or route.steering is not None,
        )
        return with_marked_errors(request, target)

    def _asks_for(self, messages: tuple[Message, ...]) -> GovernedRequest:
        """The facts of the request that rules of the configuration depend on."""
        return GovernedRequest(
            self.report.tenant, self._headers, self.request.replace(messages=messages)
        )

    def _accepted(self, candidate: Candidate, notebook: Notebook) -> tuple[Message, ...]:
        """The messages without the reasoning that this candidate refused before."""
        messages = self._restored.messages
        seals = self._refused.among(candidate.id, self._restorer.turns)
        self._left_out = len(seals_in(messages) & seals) if seals else 0
        if not self._left_out:
            return messages
        notebook.add("refused_before", count=self._left_out)
        return without_seals(messages, seals)

    def _report(self, candidate: Candidate, plan: Plan, notebook: Notebook) -> None:
        counts = counted(
            self._restored.messages, plan, candidate.target, self._places, self._restorer.carried
        )
        if self._left_out:
            counts = counts.and_more(ReasoningCounts(omitted=self._left_out, rules=("H8",)))
        decisions = tuple(item for item in plan.decisions if item.action != "kept")
        self.report.sent_to(candidate, self.report.way, counts, notebook.notes())
        self.report.plan = decisions[: LIMITS.explained_decisions]


def _first_member(value: Any, names: Sequence[str]) -> str | None:
    """The first of these members that a block has, at any depth."""
    if not isinstance(value, dict):
        return None
    here = next((name for name in names if name in value), None)
    return here or next(filter(None, (_first_member(item, names) for item in value.values())), None)


def _count(body: Mapping[str, Any], dialect: Dialect) -> int:
    """How many items the history of a body has."""
    return len(as_list(body.get(dialect.history)))


def _limited(
    setting: Reasoning | None, limit: int | None, target: Target, notebook: Notebook
) -> Reasoning | None:
    """The setting with the limit of the configuration as its budget, where the target takes one."""
    if limit is None:
        return setting
    limited = with_native_limit(setting, limit, target)
    if limited != setting:
        notebook.add("budget_limited", f"at most {limit}")
    return limited


def _without_loops(messages: tuple[Message, ...], notebook: Notebook) -> tuple[Message, ...]:
    """The messages without reasoning that only repeats itself; sealed reasoning stays, because its provider reads the seal."""
    kept = [tuple(part for part in message.parts if not _is_looped(part)) for message in messages]
    count = sum(
        len(message.parts) - len(parts) for message, parts in zip(messages, kept, strict=True)
    )
    if not count:
        return messages
    notebook.add("looped_thinking_omitted", count=count)
    return tuple(
        message if len(parts) == len(message.parts) else message.replace(parts=parts)
        for message, parts in zip(messages, kept, strict=True)
    )


def _is_looped(part: Part) -> bool:
    """Whether a part is readable reasoning that only repeats itself."""
    if not isinstance(part, Thinking) or any(seals_of(part)):
        return False
    return repetition_in(part.text) is not None
