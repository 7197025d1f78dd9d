"""How long an answer took to think, how much of it was thinking, and what that cost."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, TypeVar

import msgspec

from innervoice.canon.value import Value

__all__ = ["ThinkingMetrics"]

_Number = TypeVar("_Number", int, float, Decimal)


class ThinkingMetrics(Value, frozen=True, kw_only=True):
    """The time, the tokens and the cost of the reasoning in one answer; what is not known is None.

    Seconds count from the beginning of the call, retries included. Only a client or a gateway measures them, and of an answer that is
    not streamed only `total_seconds`.
    """

    first_thought_seconds: float | None = None
    """Until the first piece of reasoning, which may be hidden."""
    first_answer_seconds: float | None = None
    """Until the first piece of the answer: a text or a tool call."""
    thinking_seconds: float | None = None
    """Spent thinking: from the first piece of a thought to the next piece of something else, or to the end; the sum of all thoughts."""
    total_seconds: float | None = None
    """Until the end of the answer."""
    thinking_tokens: int | None = None
    """Tokens of reasoning, as the provider counted them, or estimated."""
    output_tokens: int | None = None
    """All tokens of the answer, reasoning included."""
    cost: Decimal | None = None
    """What the tokens of reasoning cost, in dollars at list prices."""
    estimated: bool = False
    """Whether `thinking_tokens`, and with it the share and the cost, is estimated: the provider counted only the sum."""

    @property
    def share(self) -> float | None:
        """The share of reasoning in the output tokens, from 0 to 1."""
        if self.thinking_tokens is None or not self.output_tokens:
            return None
        return min(self.thinking_tokens / self.output_tokens, 1.0)

    def __add__(self, later: ThinkingMetrics) -> ThinkingMetrics:
        """The metrics of two answers, one after the other, as of one; what is not known of one of them is not known."""
        first = self.total_seconds
        return ThinkingMetrics(
            first_thought_seconds=_first(
                self.first_thought_seconds, first, later.first_thought_seconds
            ),
            first_answer_seconds=_first(
                self.first_answer_seconds, first, later.first_answer_seconds
            ),
            thinking_seconds=_sum(self.thinking_seconds, later.thinking_seconds),
            total_seconds=_sum(self.total_seconds, later.total_seconds),
            thinking_tokens=_sum(self.thinking_tokens, later.thinking_tokens),
            output_tokens=_sum(self.output_tokens, later.output_tokens),
            cost=_sum(self.cost, later.cost),
            estimated=self.estimated or later.estimated,
        )

    def members(self) -> dict[str, Any]:
        """All of it as members of a JSON object, the cost as a number."""
        members = msgspec.structs.asdict(self)
        cost = None if self.cost is None else float(self.cost)
        share = None if self.share is None else round(self.share, 4)
        return {**members, "cost": cost, "share": share}


def _sum(one: _Number | None, other: _Number | None) -> _Number | None:
    return None if one is None or other is None else one + other


def _first(own: float | None, total: float | None, later: float | None) -> float | None:
    """When something first happened: in the first answer, or else in the later one, which began when the first one ended."""
    return own if own is not None else _sum(total, later)
