"""The ways that one request can take: the short one where it is known to go on as it came, else the long one, which reads all of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar

from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message
from innervoice.canon.notes import Notebook
from innervoice.canon.parts import Part
from innervoice.gateway.client_request import Attempt, ClientRequest, sealed_for
from innervoice.gateway.endpoints import Front
from innervoice.gateway.grown_requests import GrownWay
from innervoice.gateway.headers import STORE, asked_betas, known_betas
from innervoice.gateway.known_requests import KnownWay, SplitRequest
from innervoice.gateway.limits import checked_body
from innervoice.gateway.listings import estimate
from innervoice.gateway.report import Report
from innervoice.gateway.response_state import ResponseState, WholeInput
from innervoice.memory.envelopes import EnvelopeSealer, Handle, handles_of
from innervoice.memory.records import TurnRecord
from innervoice.memory.restoring import record_of
from innervoice.memory.turn_keys import ConversationDigest
from innervoice.wire.dialects import dialect_named
from innervoice.wire.refusals import Refusal, Refused

if TYPE_CHECKING:
    from innervoice.gateway.gateway import Gateway
    from innervoice.gateway.routes import Candidate, Route

__all__ = [
    "AnyClientRequest",
    "AppendedRequest",
    "ClientRequests",
    "ForwardedRequest",
    "TranslatedRequest",
]


_LARGE = 256 * 1024
"""Bytes of a request from which on reading and writing it takes longer than a stream of another client should wait."""


class ForwardedRequest:
    """A request that goes on as it came, unread."""

    def __init__(self, split: SplitRequest, way: KnownWay, report: Report) -> None:
        self.front = split.front
        self.report = report
        self.name = split.name
        self.stream = split.stream
        self.digest = way.digest
        self.turn_keys: Sequence[bytes] = ()
        """Further keys of the answer's turn, by which it can be deleted."""

    def record(self, message: Message) -> tuple[TurnRecord, list[bytes]] | None:
        """The record of the answer and its keys; None if there is nothing that a client could lose."""
        record = record_of(message, self.report.tenant, self.digest)
        return (record[0], [*record[1], *self.turn_keys]) if record else None


class AppendedRequest:
    """A request of which only what is new is read and written."""

    def __init__(
        self, split: SplitRequest, way: GrownWay, report: Report, sealer: EnvelopeSealer
    ) -> None:
        self.front = split.front
        self.report = report
        self.name = split.name
        self.stream = split.stream
        self.tools = way.request.tools
        self.echo: Mapping[str, Any] = {}
        """What the answer repeats of the request, where the client's API has that."""
        self.turn_keys: Sequence[bytes] = ()
        """Further keys of the answer's turn, by which it can be deleted."""
        self._digest, self._sealer = way.digest, sealer

    def record(self, message: Message) -> tuple[TurnRecord, list[bytes]] | None:
        """The record of the answer and its keys; None if there is nothing that a client could lose."""
        record = record_of(message, self.report.tenant, self._digest)
        if record is None:
            return None
        return record[0], [*record[1], *handles_of(message, self.report.tenant), *self.turn_keys]

    def seal(self, part: Part) -> str | None:
        """What the client carries for us in the opaque slot of a foreign part."""
        return sealed_for(part, self._sealer, self.front, self.report)


TranslatedRequest: TypeAlias = ClientRequest | AppendedRequest
Result = TypeVar("Result")

AnyClientRequest: TypeAlias = ClientRequest | ForwardedRequest | AppendedRequest


class Step(NamedTuple):
    """A request on its way to one candidate."""

    passage: AnyClientRequest
    attempt: Attempt


class ClientRequests:
    """The ways of one request."""

    def __init__(
        self,
        gateway: Gateway,
        front: Front,
        body: bytes,
        report: Report,
        headers: Mapping[str, str],
    ) -> None:
        self._gateway = gateway
        self._headers = headers
        self._front, self._body, self._report = front, body, report
        self._read: ClientRequest | None = None
        self._value: dict[str, Any] = {}
        self._expanded: tuple[WholeInput, ClientRequest] | None = None
        self.state: ResponseState | None = None
        """What the request has to do with stored responses; None in APIs without them."""
        self.estimate = 0
        """About how many tokens the request has, where it was read."""
        self._split: SplitRequest | None = None
        limits = gateway.limits
        try:
            self._split = SplitRequest(front, body, report.tenant)
            if len(body) > limits.body_bytes or len(self._split.messages) > limits.messages:
                self._long()
        except (ValueError, KeyError):
            self._long()  # which says what is wrong with it
        request = self._split or self._read
        assert request is not None
        self.name, self.stream = request.name, request.stream
        report.asked, report.stream = self.name, self.stream
        report.keeps = self._allowed()
        if api := dialect_named(front.dialect).stored_answers:
            self.state = ResponseState(gateway, api, report, self._member)
            if self._read is not None:
                self._read.echo = self.state.echo

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
        if self._split is not None:
            member = self._split.members.get("store")
            return "ram" if member is not None and bytes(member) == b"false" else None
        assert self._read is not None
        return "ram" if self._read.stores_nothing else None

    @property
    def first_words(self) -> bytes:
        """How the conversation begins."""
        return self._split.first_words() if self._split else b""

    def tokens(self) -> int:
        """About how many tokens the request has; it is read for this, if it was not."""
        if not self.estimate:
            try:
                self.estimate = estimate(checked_body(self._body, self._gateway.limits))
            except Refused:  # its provider has read it all the same
                self.estimate = max(1, len(self._body) // 4)
        return self.estimate

    async def step(self, candidate: Candidate, route: Route) -> Step:
        """The request as it is sent to a candidate."""
        split = self._split
        if self.state is not None and not self.state.is_plain:
            return await self._going_on(self.state, candidate, route)
        if split is not None and self._read is None and route.at_most is None:
            way = self._gateway.known.find(split, candidate)
            if way is not None:
                betas = self._tell(candidate, way)
                attempt = Attempt(candidate, way.request, way.wire, way.body, betas)
                return Step(ForwardedRequest(split, way, self._report), attempt)
            if (grown := self._grown(split, candidate)) is not None:
                return grown
        if self._read is None:
            await self._aside(self._long)
        passage = self._read
        assert passage is not None
        return Step(passage, await self._attempt(passage, candidate, route))

    async def _attempt(self, passage: ClientRequest, candidate: Candidate, route: Route) -> Attempt:
        """What is sent of a request that was read."""
        if not passage.is_restored:
            turns = await self._gateway.found(passage)
            await self._aside(lambda: passage.restore(turns))
        return await self._aside(lambda: passage.attempt(candidate, route))

    async def _aside(self, work: Callable[[], Result]) -> Result:
        """Does work that grows with the request: that of a large one in a thread, so that the streams of others go on meanwhile."""
        return work() if len(self._body) < _LARGE else await asyncio.to_thread(work)

    def _grown(self, split: SplitRequest, candidate: Candidate) -> Step | None:
        """The request as what was sent last time and what is new."""
        gateway, report, target = self._gateway, self._report, candidate.target
        if gateway.keeps(report) == "off":
            return None
        notebook = Notebook()
        betas = known_betas(asked_betas(self._headers, {}), target, notebook)

        def opened(text: str, slot: str) -> Part | Handle | None:
            return gateway.sealer.open(text, report.tenant, split.front.dialect, slot)

        way = gateway.grown.find(split, candidate, betas, opened)
        if way is None:
            return None
        self.estimate = way.estimate
        report.provider, report.model = target.provider or "", target.model
        report.account, report.way = candidate.account.name, "canon"
        report.count(way.counts)
        report.plan, report.notes = (), list(way.notes)
        attempt = Attempt(candidate, way.request, way.wire, None, betas, grown=way)
        passage = AppendedRequest(split, way, report, gateway.sealer)
        if self.state is not None:
            passage.echo = self.state.echo
        return Step(passage, attempt)

    async def _going_on(self, state: ResponseState, candidate: Candidate, route: Route) -> Step:
        """The request with what it goes on from: as it came where the candidate has that itself, else as one with all of it."""
        whole = await state.whole(candidate)
        if self._read is None:
            await self._aside(self._long)
        passage = self._read if whole is None else self._with(whole, state)
        assert passage is not None
        attempt = await self._attempt(passage, candidate, route)
        state.check(attempt)
        return Step(passage, attempt)

    def _with(self, whole: WholeInput, state: ResponseState) -> ClientRequest:
        """The request as one that brings the whole conversation; the last one is kept, for candidates mostly need the same."""
        if self._expanded is None or self._expanded[0].items != whole.items:
            passage = self._passage(*state.expanded(self._value, whole), whole.turns)
            self._expanded = (whole, passage)
        return self._expanded[1]

    def _member(self, name: str) -> bytes | None:
        """A member of the body as JSON; None if there is none."""
        if self._split is not None:
            member = self._split.members.get(name)
            return None if member is None else bytes(member)
        value = self._value
        return dump_json(value[name]) if name in value else None

    def read_all(self, candidate: Candidate) -> None:
        """The short way was refused: the long one finds out what has to change."""
        if self._split is not None:
            self._gateway.known.forget(self._split, candidate)
            self._gateway.grown.forget(self._split, candidate)
        self._long()

    def learn(self, step: Step, answer: Message) -> None:
        """A request went on as it came, and got this answer."""
        passage, attempt, split = step.passage, step.attempt, self._split
        if split is None or (self.state and not self.state.is_plain):
            return
        if not attempt.is_bytes or isinstance(passage, AppendedRequest):
            if self._gateway.keeps(self._report) != "off":
                self._gateway.grown.learn(split, attempt, answer, self.estimate)
            return
        requests = self._gateway.known
        if isinstance(passage, ClientRequest):
            start = ConversationDigest(
                self._report.tenant, self._gateway.lookup_key, passage.request.system
            )
            is_apart = dialect_named(self._front.dialect).system_apart
            for message in passage.request.messages if is_apart else ():
                if message.role != "system":
                    break
                start.add(message)
            requests.learn(split, attempt.candidate, attempt.request, attempt.wire, start)
        requests.continued(split, attempt.candidate, passage.digest, answer, self._report.kept)

    def _long(self) -> None:
        self._value = checked_body(self._body, self._gateway.limits)
        self._read = self._passage(self._body, self._value)

    def _passage(
        self, body: bytes, value: dict[str, Any], turns: Sequence[Message] = ()
    ) -> ClientRequest:
        gateway = self._gateway
        self.estimate = estimate(value)
        passage = ClientRequest(
            self._front,
            body,
            value,
            report=self._report,
            secret=gateway.lookup_key,
            sealer=gateway.sealer,
            older_secrets=gateway.older_lookup_keys,
            headers=self._headers,
            turns=turns,
            refused=gateway.refused,
        )
        if self.state is not None:
            passage.echo = self.state.echo
        return passage

    def _tell(self, candidate: Candidate, way: KnownWay) -> tuple[str, ...]:
        """Reports the short way; returns the flags that go with it."""
        notebook = Notebook()
        betas = known_betas(asked_betas(self._headers, {}), candidate.target, notebook)
        report, target = self._report, candidate.target
        report.provider, report.model = target.provider or "", target.model
        report.account, report.way = candidate.account.name, "bytes"
        report.kept, report.restored, report.omitted, report.rules = way.kept, 0, 0, ()
        report.carried, report.plan = 0, ()
        report.notes = list(notebook.notes())
        return betas
