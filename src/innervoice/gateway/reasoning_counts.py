"""How many pieces of reasoning of a conversation were sent, and where they came from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from innervoice.canon.messages import Message
from innervoice.canon.parts import Part, Text, Thinking
from innervoice.canon.target import Target
from innervoice.catalog.home import is_home
from innervoice.memory.restoring import seals_of
from innervoice.planning.plan import Plan

__all__ = ["ReasoningCounts", "counted"]


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
    kept = [(item.message, item.part or 0) for item in thoughts if item.action == "kept"]
    # Gemini seals its calls and texts.
    kept += [
        (number, position)
        for number, message in enumerate(messages)
        for position, part in enumerate(message.parts)
        if not isinstance(part, Thinking) and any(seals_of(part)) and is_home(part.origin, target)
    ]
    left = [item for item in thoughts if item.action == "omitted"]
    marks = set(map(_mark, carried))
    parts = (messages[number].parts[position] for number, position in kept) if marks else ()
    return ReasoningCounts(
        kept=len(kept),
        carried=sum(_mark(part) in marks for part in parts),
        restored=sum(place in restored for place in kept),
        omitted=len(left),
        rules=tuple(sorted({item.rule for item in left})),
    )


def _mark(part: Part) -> tuple[str, ...]:
    """What identifies a piece of reasoning: its seals, or else its text."""
    return tuple(seals_of(part)) or (part.text if isinstance(part, (Thinking, Text)) else "",)
