"""One request of a client, and the ways in which it can be sent: forwarded, appended, begun like another one, or read and rewritten.

    body ──► split once ──► forwarded.py         it goes on as it came: known settings, a known beginning, a complete answer
                       ├──► appended.py          last time's bytes and what is new
                       ├──► first_questions.py   the bytes of another conversation, with another question
                       └──► rewritten.py         read, restored, planned and written

The first way that fits a candidate is taken. What all of them share is here: what the answer is called, what may be kept of it, its record,
and the envelopes that the client carries.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.messages import Message
from innervoice.canon.notes import Notebook
from innervoice.canon.parts import Part
from innervoice.canon.usage import Usage
from innervoice.conversation.body import DIGEST_BYTES, SplitBody
from innervoice.conversation.digest import ConversationDigest
from innervoice.conversation.growth import last_known
from innervoice.gateway.appended import with_own_line
from innervoice.gateway.endpoints import Endpoint
from innervoice.gateway.estimates import allowed_output, estimate
from innervoice.gateway.gateway_members import STORE, asked_betas, known_betas
from innervoice.gateway.incoming import checked_body
from innervoice.gateway.limits import LIMITS
from innervoice.gateway.owned_ids import OwnedAnswer
from innervoice.gateway.report import ReasoningCounts, Report
from innervoice.gateway.responses.compactions import PATH_VERB, as_request
from innervoice.gateway.responses.state import ResponseState, WholeInput
from innervoice.gateway.rewritten import Attempt, RewrittenRequest
from innervoice.memory.envelopes import Handle, Summary, handles_of
from innervoice.memory.records import TurnRecord
from innervoice.memory.restoring import record_of
from innervoice.planning.cache_marks import may_keep_marks
from innervoice.steering.asking import text_of
from innervoice.wire.dialects import dialect_named
from innervoice.wire.refusals import Refusal, Refused

if TYPE_CHECKING:
    from innervoice.gateway.gateway import Gateway
    from innervoice.gateway.routes import Route
    from innervoice.gateway.upstreams import Candidate

__all__ = ["ClientRequest", "QueuedAnswer"]

Result = TypeVar("Result")


@lru_cache(maxsize=256)
def _bytes_of(endpoint: Endpoint) -> bytes:
    return f"{endpoint}\0".encode()


class QueuedAnswer(NamedTuple):
    """An answer that was announced before it began."""

    id: str
    created: int


class _Members:
    """The members of a body as JSON, for everybody who needs some: a request and its state would otherwise refer to each other."""

    def __init__(self, split: SplitBody | None) -> None:
        self._split = split
        self.value: dict[str, Any] = {}
        """The body, once it was read."""

    def __call__(self, name: str) -> bytes | None:
        """A member; None if there is none."""
        if self._split is not None:
            member = self._split.members.get(name)
            return None if member is None else bytes(member)
        return dump_json(self.value[name]) if name in self.value else None


class ClientRequest:
    """One request of a client for an answer."""

    is_recorded = True
    """Whether its answer is a turn that can be remembered: not if its text comes from several answers."""

    def __init__(
        self,
        gateway: Gateway,
        endpoint: Endpoint,
        body: bytes,
        report: Report,
        headers: Mapping[str, str],
    ) -> None:
        if endpoint.verb == PATH_VERB:
            endpoint, body = endpoint._replace(stream=False), as_request(body)
        self.endpoint, self.report = endpoint, report
        self._gateway, self._headers, self._data = gateway, headers, body
        self._rewritten: RewrittenRequest | None = None
        self._expanded: tuple[WholeInput, RewrittenRequest] | None = None
        self._tokens = 0
        self._last_owner: tuple[Candidate, bytes] | None = None
        self.state: ResponseState | None = None
        """What the request has to do with stored responses; None in APIs without them."""
        self.split = self._split_body()
        """The body in pieces; None for one that had to be read at once."""
        self._member = _Members(self.split)
        if self.split is None:
            self._read()  # which says what is wrong with it
        request = self._rewritten
        self.name = request.name if request else self.split.model if self.split else ""
        """The model's name as the client wrote it."""
        self.stream = request.stream if request else self._is_streamed()
        report.asked, report.stream = self.name, self.stream
        report.keeps = self._allowed()
        self.turn_keys: Sequence[bytes] = ()
        """Further keys of the answer's turn, by which it can be deleted."""
        self.queued: QueuedAnswer | None = None
        """What the client was told of an answer in the background."""
        api = dialect_named(endpoint.dialect).stored_answers
        if api and not (api.is_asked_for and self._member(api.previous) in (None, b"null")):
            self.state = ResponseState(gateway, api, report, self._member)

    @property
    def is_compact(self) -> bool:
        """Whether the answer is a compaction in an object of its own."""
        return self.endpoint.verb == PATH_VERB

    def queue(self, answer: QueuedAnswer) -> None:
        """The answer is made in the background: it was announced, and its events are stored as they come."""
        self.queued, self.stream, self.report.stream = answer, True, True

    def _split_body(self) -> SplitBody | None:
        """The body in pieces; None for one that must be read, because it is too large or not as it should be."""
        try:
            if not self._data.isascii():
                self._data.decode()  # no piece is looked at closely where it was sent before
            body = SplitBody(self._data, self.endpoint.dialect, self.endpoint.model)
        except ValueError:
            return None
        limits = self._gateway.limits
        is_small = len(self._data) <= limits.body_bytes and len(body.items) <= limits.messages
        return body if is_small and body.is_listed and body.model else None

    def _is_streamed(self) -> bool:
        """Whether the client wants a stream."""
        if self.endpoint.stream is not None:
            return self.endpoint.stream
        if self.split is None or "stream" not in self.split.members:
            return dialect_named(self.endpoint.dialect).streams_unasked
        return bool(self.split.value("stream"))

    def _allowed(self) -> Literal["off", "ram"] | None:
        """What the client allows to be kept: its header decides, else the member with which APIs ask to store nothing."""
        header = self._headers.get(STORE)
        if header == "off":
            return "off"
        if header == "ram":
            return "ram"
        if header is not None:
            text = f'the header {STORE} must be "off" or "ram", not {header[:100]!r}'
            raise Refused(Refusal(text=text))
        return "ram" if self._member("store") == b"false" else None

    def owned_answer(self, attempt: Attempt) -> OwnedAnswer:
        """What takes the ids out of the answer to an attempt, for their owner."""
        is_own = attempt.candidate.target.dialect == self.endpoint.dialect
        is_stored = is_own and self.state is not None and self.state.is_stored_there
        ids = self._gateway.owned_ids
        return OwnedAnswer(ids, self.report, self._data, is_stored=is_stored)

    # ---- what all ways share -------------------------------------------------------------------

    @property
    def opening(self) -> bytes:
        """How the conversation begins."""
        return self.split.opening if self.split else b""

    def echo(self, attempt: Attempt) -> Mapping[str, Any]:
        """What the answer to an attempt repeats of the request, where the client's API does that."""
        echo = self.state.echo if self.state else {}
        if "service_tier" in echo and "service_tier" not in attempt.wire.body:
            return {**echo, "service_tier": "default"}  # the upstream was not asked for another
        return echo

    def tokens(self) -> int:
        """About how many tokens the request has; it is read for this, if it was not."""
        if not self._tokens and self._rewritten is not None:
            self._tokens = (self._expanded[1] if self._expanded else self._rewritten).tokens
        if not self._tokens:
            try:
                self._tokens = estimate(checked_body(self._data, self._gateway.limits))
            except Refused:  # its provider has read it all the same
                self._tokens = max(1, len(self._data) // 4)
        return self._tokens

    def words(self) -> str:
        """What a model reads of the request; it is read for this, if it was not."""
        request = (self._expanded[1] if self._expanded else self._read()).request
        return f"{request.system or ''}\n{text_of(request.messages)}"

    def expected_usage(self) -> Usage:
        """About how many tokens the request and its answer will have."""
        allowed = allowed_output(self._member) or LIMITS.reserved_tokens
        output = min(allowed, LIMITS.reserved_tokens)
        return Usage(input_tokens=self.tokens(), output_tokens=output)

    def record(self, attempt: Attempt, message: Message) -> tuple[TurnRecord, list[bytes]] | None:
        """The record of the answer and its keys; None if there is nothing that a client could lose."""
        effort, row = attempt.in_force, attempt.candidate.target.row
        # Where the effort can change inside a conversation, each turn says which one it was written with.
        keeps_all = row.effort_updates and effort not in (None, "default")
        message = message.replace(effort=effort)
        record = record_of(message, self.report.tenant, attempt.digest, keeps_all=keeps_all)
        # A compaction is no turn of the conversation.
        if record is None or attempt.is_compaction or not self.is_recorded:
            return None
        handles = () if attempt.is_bytes else handles_of(message, self.report.tenant)
        return record[0], [*record[1], *handles, *self.turn_keys]

    def seal(self, part: Part) -> str:
        """What the client carries for the gateway in the opaque member of a part; the whole part where nothing is stored."""
        is_whole = self.report.keeps is not None
        return self._gateway.sealer.seal(
            part, self.report.tenant, self.endpoint.dialect, whole=is_whole
        )

    def seal_summary(self, summary: Summary) -> str:
        """What the client carries in a compaction."""
        return self._gateway.sealer.seal_summary(summary, self.report.tenant, self.endpoint.dialect)

    def _opened(self, text: str, slot: str) -> Part | Handle | None:
        return self._gateway.sealer.open(text, self.report.tenant, self.endpoint.dialect, slot)

    def leave_unrecorded(self) -> None:
        """The answer goes on with the text of another: a seal in it was made for another text."""
        self.is_recorded = False

    # ---- the ways ------------------------------------------------------------------------------

    async def attempt(self, candidate: Candidate, route: Route) -> Attempt:
        """The request as it is sent to a candidate."""
        if self.state is not None and not self.state.is_plain:
            return await self._continued(self.state, candidate, route)
        if self.split is not None and self._rewritten is None and route.is_free:
            body, owner = self.split, self._owner(self.split, candidate)
            forwarded, appended = self._gateway.forwarded.beginnings, self._gateway.appended.beginnings  # fmt: skip
            ways = [self._forwarded, self._appended]
            # A client that drops reasoning forwards only the first question: everything after it would be read in vain.
            if len(body.items) > 1 and last_known(body, owner, forwarded, appended) is appended:
                ways.reverse()
            for way in ways:
                if (attempt := way(body, owner, candidate)) is not None:
                    return attempt
        return await self._attempt(await self._aside(self._read), candidate, route)

    def _owner(self, body: SplitBody, candidate: Candidate) -> bytes:
        """What requests must share, besides their beginning, to be sent the same way: the tenant, the endpoint, the settings, the candidate."""
        if self._last_owner is None or self._last_owner[0] is not candidate:
            tenant = f"{self.report.tenant}\0".encode()
            data = b"".join((tenant, _bytes_of(self.endpoint), body.settings, candidate.id))
            owner = blake2b(data, digest_size=DIGEST_BYTES).digest()
            self._last_owner = candidate, owner
        return self._last_owner[1]

    def _forwarded(self, body: SplitBody, owner: bytes, candidate: Candidate) -> Attempt | None:
        """The request as it came."""
        way = self._gateway.forwarded.find(body, owner, candidate)
        if way is None:
            return None
        notebook = Notebook()
        betas = known_betas(asked_betas(self._headers, {}), candidate.target, notebook)
        counts = ReasoningCounts(kept=way.thoughts)
        self.report.sent_to(candidate, "bytes", counts, notebook.notes())
        return Attempt(candidate, way.request, way.wire, way.digest, way.body, betas)

    def _appended(self, body: SplitBody, owner: bytes, candidate: Candidate) -> Attempt | None:
        """What was sent last time, and what is new."""
        gateway = self._gateway
        is_own = candidate.target.dialect == self.endpoint.dialect
        if gateway.keeps(self.report) == "off" or (is_own and self._has_private_members()):
            return None
        betas = known_betas(asked_betas(self._headers, {}), candidate.target, Notebook())
        way = gateway.appended.find(body, owner, candidate, betas, self._opened)
        if way is None:
            way = gateway.first_questions.find(body, owner, betas)
        if way is not None:
            host = candidate.target.host
            way = with_own_line(way, body.billing_line if host and host.billing_line else None)
        if way is None:
            return None
        self._tokens = way.tokens
        self.report.sent_to(candidate, "canon", way.counts, way.notes)
        return Attempt(candidate, way.request, way.wire, way.digest, None, betas, appended=way)

    def _has_private_members(self) -> bool:
        """Whether items of the body have members that are left out of all of them."""
        names = dialect_named(self.endpoint.dialect).private_members
        return any(name.encode() in self._data for name in names)

    async def _continued(self, state: ResponseState, candidate: Candidate, route: Route) -> Attempt:
        """The request with what it goes on from: as it came where the candidate has that itself, else as one with all of it."""
        whole = await state.whole(candidate)
        request = await self._aside(self._read)
        if whole is not None:
            # The last one is kept, for candidates mostly need the same.
            if self._expanded is None or self._expanded[0].items != whole.items:
                body, value = state.expanded(self._member.value, whole)
                self._expanded = (whole, self._new(body, value, whole.turns))
            request = self._expanded[1]
        attempt = await self._attempt(request, candidate, route)
        state.check(attempt)
        return attempt

    async def _attempt(
        self, request: RewrittenRequest, candidate: Candidate, route: Route
    ) -> Attempt:
        """What is sent of a request that was read."""
        if not request.is_looked_up:
            request.restore(await self._gateway.stored_turns(self.report, request.wanted))
        return await self._aside(
            lambda: self._with_unmarked(request, request.attempt(candidate, route), route)
        )

    def _with_unmarked(self, request: RewrittenRequest, attempt: Attempt, route: Route) -> Attempt:
        """An attempt with what is sent where no message has a cache mark: the next request has them elsewhere."""
        body, sent, candidate = self.split, attempt.appended, attempt.candidate
        if sent is None or body is None or not body.marked_items or request is not self._rewritten:
            return attempt
        if not may_keep_marks(body.dialect, candidate.target):
            return attempt
        items = list(self._member.value[body.history])
        if request.is_taken_back or len(items) != len(body.items):
            return attempt._replace(appended=None)
        for number, _ in body.marked_items:
            items[number] = load_json(body.unmarked.items[number])
        other = self._new(
            self._data, {**self._member.value, body.history: items}, report=replace(self.report)
        )
        other.restore(request.stored)
        unmarked = other.attempt(candidate, route).appended
        sent = replace(sent, unmarked=unmarked.frame) if unmarked else None
        return attempt._replace(appended=sent)

    async def _aside(self, work: Callable[[], Result]) -> Result:
        """Does work that grows with the request: that of a large one in a thread, so that the streams of others go on meanwhile."""
        if len(self._data) < LIMITS.aside_bytes:
            return work()
        return await asyncio.to_thread(work)

    def _read(self) -> RewrittenRequest:
        if self._rewritten is None:
            self._member.value = checked_body(self._data, self._gateway.limits)
            self._rewritten = self._new(self._data, self._member.value)
        return self._rewritten

    def _new(
        self,
        body: bytes,
        value: dict[str, Any],
        turns: Sequence[Message] = (),
        report: Report | None = None,
    ) -> RewrittenRequest:
        return RewrittenRequest(
            self._gateway,
            self.endpoint,
            body,
            value,
            report or self.report,
            self._headers,
            turns,
            translated=self.is_compact or (self.state is not None and self.state.is_translated),
        )

    # ---- what is learned -----------------------------------------------------------------------

    def read_all(self, candidate: Candidate) -> None:
        """The request was refused, and not all of it was read: reading it finds out what has to change."""
        if self.split is not None:
            owner = self._owner(self.split, candidate)
            self._gateway.forwarded.forget(owner)
            self._gateway.appended.forget(self.split, owner)
        self._read()

    def learn(self, attempt: Attempt, answer: Message) -> None:
        """The request was sent this way, and got this answer."""
        gateway, body = self._gateway, self.split
        if body is None or attempt.is_compaction or (self.state and not self.state.is_plain):
            return
        owner = self._owner(body, attempt.candidate)
        if not attempt.is_bytes:
            if attempt.appended is not None and gateway.keeps(self.report) != "off":
                sent = replace(attempt.appended, tokens=self.tokens())
                gateway.appended.answered(body, owner, sent, answer)
                if attempt.rewritten is not None and not attempt.members:
                    gateway.first_questions.learn(
                        body,
                        owner,
                        sent,
                        attempt.request,
                        self._start(attempt.rewritten, all_of_it=True),
                    )
            return
        if attempt.rewritten is not None:
            start = self._start(attempt.rewritten)
            gateway.forwarded.learn(owner, attempt.request, attempt.wire, start)
        gateway.forwarded.answered(body, owner, attempt.digest, answer, self.report.kept)

    def _start(self, request: RewrittenRequest, *, all_of_it: bool = False) -> ConversationDigest:
        """The conversation before its first message: the system prompt, where it is a setting, or all of it."""
        start = ConversationDigest(
            self.report.tenant, self._gateway.lookup_key, request.request.system
        )
        is_apart = all_of_it or dialect_named(self.endpoint.dialect).system_apart
        for message in request.request.messages if is_apart else ():
            if message.role != "system":
                break
            start.add(message)
        return start
