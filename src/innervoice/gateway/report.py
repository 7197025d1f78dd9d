"""What happened to one request: for the log, the metrics, the headers and `/v1/explain`. It holds no text, no key and no seal."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from innervoice.canon.messages import Message
from innervoice.canon.notes import Note
from innervoice.canon.parts import Part, Text, Thinking
from innervoice.canon.target import Target
from innervoice.canon.thinking_metrics import ThinkingMetrics
from innervoice.canon.usage import Usage
from innervoice.catalog.home import is_home
from innervoice.conversation.turns import seals_of
from innervoice.planning.decisions import Decision
from innervoice.planning.plan import Plan

if TYPE_CHECKING:
    from innervoice.gateway.upstreams import Candidate

__all__ = ["ReasoningCounts", "Report", "Way", "counted"]

Way: TypeAlias = Literal["bytes", "canon", "other"]
"""How a request was forwarded: as the bytes that came, or read and rewritten; "other": a path that the gateway does not read."""


@dataclass(slots=True)
class Report:
    """What happened to one request; filled in while it is served."""

    id: str
    tenant: str
    dialect: str
    """The client's dialect."""
    asked: str = ""
    """The model's name as the client wrote it; for another path, the method and the path."""
    provider: str = ""
    model: str = ""
    """The model that was called last, as its host spells it."""
    account: str = ""
    """The name of the upstream account, never its key."""
    way: Way = "canon"
    stream: bool = False
    status: int = 0
    """The HTTP status that the client got; for an answer that failed after its beginning, the status of the failure. 0 while there is none, 499 if
    the client disconnected before."""
    error: str | None = None
    """The type of error that the answer ended in."""
    attempts: int = 0
    kept: int = 0
    """Pieces of reasoning in the history that were sent upstream unchanged."""
    carried: int = 0
    """Those of them that the client carried in envelopes."""
    restored: int = 0
    """Those of them that the client had lost, and the gateway restored."""
    omitted: int = 0
    """Pieces of reasoning that were left out."""
    received: int = 0
    """Pieces of reasoning in the answer."""
    rules: tuple[str, ...] = ()
    """The rules by which they were left out, such as H2."""
    plan: tuple[Decision, ...] = ()
    """What was not sent unchanged, and why."""
    keeps: Literal["off", "ram"] | None = None
    """What the client allows to be kept of the request; None: what the configuration says."""
    store: str = "ok"
    """"ok", "off", or "degraded" if the store could not be reached."""
    trace: str = ""
    """The trace of the client that the request belongs to: its `traceparent`."""
    is_shared: bool = False
    """Whether it goes to an account that the gateway's callers share."""
    caller: str = ""
    """The id of the caller's virtual key, never the key."""
    limited: str | None = None
    """The caller's limit because of which the request was refused: requests, tokens, streams or budget."""
    policy: Mapping[str, Any] | None = None
    """What the rules of the configuration made of the reasoning setting; None: there are none."""
    needs_usage: bool = False
    """Whether a limit of the caller counts tokens: they are estimated if the provider does not report them."""
    cost: float | None = None
    """In US dollars at list prices; only known for callers with a budget."""
    notes: list[Note] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    thinking: ThinkingMetrics | None = None
    """The times of a streamed answer, from the arrival of the request, and the tokens of its reasoning; None where nothing was measured."""
    begun: float = 0.0
    """When the request arrived, in seconds since 1970."""
    first_byte: float | None = None
    """Seconds until the first piece of the answer was sent to the client."""
    total: float | None = None
    """Seconds until the answer ended."""

    def sent_to(
        self, candidate: Candidate, way: Way, counts: ReasoningCounts, notes: Sequence[Note]
    ) -> None:
        """The request goes to a candidate: what happened to its reasoning, and the notes so far."""
        target = candidate.target
        self.provider, self.model = target.provider or "", target.model
        self.account, self.way = candidate.account.name, way
        self.kept, self.carried, self.restored, self.omitted, self.rules = counts
        self.plan, self.notes = (), list(notes)

    def leave_out(self, count: int, restored: int) -> None:
        """Pieces of reasoning were refused, and left out (H8); some of them had been restored."""
        self.kept -= count
        self.restored -= restored
        self.omitted += count
        self.rules = tuple(sorted({*self.rules, "H8"})) if count else self.rules

    @property
    def reasoning(self) -> str:
        """The value of the header `x-innervoice-reasoning`."""
        rules = f"({','.join(self.rules)})" if self.rules else ""
        text = f"kept={self.kept} restored={self.restored} omitted={self.omitted}{rules}"
        return text if self.store == "ok" else f"{text} store={self.store}"


# ---- How many pieces of reasoning of a conversation were sent, and where they came from.


class ReasoningCounts(NamedTuple):
    """What happened to the reasoning in a conversation."""

    kept: int = 0
    carried: int = 0
    restored: int = 0
    omitted: int = 0
    rules: tuple[str, ...] = ()
    """The rules by which pieces were left out."""

    def and_more(self, more: ReasoningCounts) -> ReasoningCounts:
        """The sum of both."""
        return ReasoningCounts(
            self.kept + more.kept,
            self.carried + more.carried,
            self.restored + more.restored,
            self.omitted + more.omitted,
            tuple(sorted({*self.rules, *more.rules})),
        )


def counted(
    messages: Sequence[Message],
    plan: Plan,
    target: Target,
    restored: Collection[tuple[int, int]],
    carried: Iterable[Part],
) -> ReasoningCounts:
    """Counts what a plan does; `restored` are the positions that were restored, `carried` the parts that came in envelopes."""
    thoughts = [item for item in plan.decisions if item.kind == "thinking"]
    places = [(item.message, item.part or 0) for item in thoughts if item.action == "kept"]
    # Gemini seals its calls and texts.
    places += [
        (number, position)
        for number, message in enumerate(messages)
        for position, part in enumerate(message.parts)
        if not isinstance(part, Thinking) and any(seals_of(part)) and is_home(part.origin, target)
    ]
    # A placeholder stands for a signature that is lost.
    filled = [item for item in plan.decisions if item.note == "signature_filled"]
    omitted = [*(item for item in thoughts if item.action == "omitted"), *filled]
    marks = set(map(_mark, carried))
    parts = (messages[number].parts[position] for number, position in places) if marks else ()
    return ReasoningCounts(
        kept=len(places),
        carried=sum(_mark(part) in marks for part in parts),
        restored=sum(place in restored for place in places),
        omitted=len(omitted),
        rules=tuple(sorted({item.rule for item in omitted})),
    )


def _mark(part: Part) -> tuple[str, ...]:
    """What identifies a piece of reasoning: its seals, or else its text."""
    return tuple(seals_of(part)) or (part.text if isinstance(part, (Thinking, Text)) else "",)
