"""The ways that one request can take: the short one where it is known to go on as it came, else the long one, which reads all of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from innervoice.canon.messages import Message
from innervoice.canon.notes import Notebook
from innervoice.gateway.fronts import Front
from innervoice.gateway.headers import STORE, asked_betas, known_betas
from innervoice.gateway.known_requests import KnownWay, SplitRequest
from innervoice.gateway.limits import checked_body
from innervoice.gateway.listings import estimate
from innervoice.gateway.passage import Attempt, Passage
from innervoice.gateway.report import Report
from innervoice.memory.records import TurnRecord
from innervoice.memory.restoring import record_of
from innervoice.memory.turn_keys import ConversationDigest
from innervoice.wire.dialects import dialect_named
from innervoice.wire.refusals import Refusal, Refused

if TYPE_CHECKING:
    from innervoice.gateway.gateway import Gateway
    from innervoice.gateway.routes import Candidate, Route

__all__ = ["AnyPassage", "KnownPassage", "Passages"]


class KnownPassage:
    """A request that goes on as it came, unread."""

    def __init__(self, split: SplitRequest, way: KnownWay, report: Report) -> None:
        self.front = split.front
        self.report = report
        self.name = split.name
        self.stream = split.stream
        self.digest = way.digest

    def record(self, message: Message) -> tuple[TurnRecord, list[bytes]] | None:
        """The record of the answer and its keys; None if there is nothing that a client could lose."""
        made = record_of(message, self.report.tenant, self.digest)
        return (made[0], list(made[1])) if made else None


AnyPassage: TypeAlias = Passage | KnownPassage


class Step(NamedTuple):
    """A request on its way to one candidate."""

    passage: AnyPassage
    attempt: Attempt


class Passages:
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
        self._read: Passage | None = None
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
        known = self._split or self._read
        assert known is not None
        self.name, self.stream = known.name, known.stream
        report.asked, report.stream = self.name, self.stream
        report.keeps = self._allowed()

    def _allowed(self) -> Literal["off", "ram"] | None:
        """What the client allows to be kept: its header decides, else the member with which APIs ask to store nothing."""
        asked = self._headers.get(STORE)
        if asked == "off":
            return "off"
        if asked == "ram":
            return "ram"
        if asked is not None:
            text = f'the header {STORE} must be "off" or "ram", not {asked[:100]!r}'
            raise Refused(Refusal(text=text))
        if self._split is not None:
            given = self._split.members.get("store")
            return "ram" if given is not None and bytes(given) == b"false" else None
        assert self._read is not None
        return "ram" if self._read.stores_nothing else None

    @property
    def first_words(self) -> bytes:
        """How the conversation begins."""
        return self._split.first_words() if self._split else b""

    async def step(self, candidate: Candidate, route: Route) -> Step:
        """The request as it is sent to a candidate."""
        split = self._split
        if split is not None and self._read is None and route.at_most is None:
            way = self._gateway.known.find(split, candidate)
            if way is not None:
                betas = self._tell(candidate, way)
                attempt = Attempt(candidate, way.request, way.wire, way.body, betas)
                return Step(KnownPassage(split, way, self._report), attempt)
        if self._read is None:
            self._long()
        passage = self._read
        assert passage is not None
        if not passage.is_restored:
            passage.restore(await self._gateway.found(passage))
        return Step(passage, passage.attempt(candidate, route))

    def read_all(self, candidate: Candidate) -> None:
        """The short way was refused: the long one finds out what has to change."""
        if self._split is not None:
            self._gateway.known.forget(self._split, candidate)
        self._long()

    def learn(self, step: Step, answer: Message) -> None:
        """A request went on as it came, and got this answer."""
        passage, attempt, split = step.passage, step.attempt, self._split
        if split is None or not attempt.is_bytes:
            return
        known = self._gateway.known
        if isinstance(passage, Passage):
            start = ConversationDigest(
                self._report.tenant, self._gateway.lookup_key, passage.request.system
            )
            is_apart = dialect_named(self._front.dialect).system_apart
            for message in passage.request.messages if is_apart else ():
                if message.role != "system":
                    break
                start.add(message)
            known.learn(split, attempt.candidate, attempt.request, attempt.wire, start)
        known.continued(split, attempt.candidate, passage.digest, answer, self._report.kept)

    def _long(self) -> None:
        gateway = self._gateway
        value = checked_body(self._body, gateway.limits)
        self.estimate = estimate(value)
        self._read = Passage(
            self._front,
            self._body,
            value,
            report=self._report,
            secret=gateway.lookup_key,
            sealer=gateway.sealer,
            older_secrets=gateway.older_lookup_keys,
            headers=self._headers,
            refused=gateway.refused,
        )

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
