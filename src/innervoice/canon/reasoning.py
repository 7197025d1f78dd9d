"""What one asks of a model's reasoning, and what became of the wish.

None is not "off": it leaves the provider's default alone. Off is effort "none".
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from innervoice.canon.notes import Note
from innervoice.canon.value import Value
from innervoice.errors import UsageError

__all__ = ["Effort", "Reasoning", "ReasoningReport", "Show"]

Effort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
Show: TypeAlias = Literal["full", "summary", "hidden"]


class Reasoning(Value, frozen=True):
    """How much a model shall reason (effort, or a budget in tokens) and how much of it to show."""

    effort: Effort | None = None
    budget: int | None = None
    show: Show | None = None

    def __post_init__(self) -> None:
        _check_word("effort", self.effort, get_args(Effort))
        _check_word("show", self.show, get_args(Show))
        budget = self.budget
        if budget is not None and (
            isinstance(budget, bool) or not isinstance(budget, int) or budget < 0
        ):
            raise UsageError(
                f"budget must be a number of tokens, 0 or more, or None, not {budget!r}"
            )


class ReasoningReport(Value, frozen=True, kw_only=True):
    """What was asked for, what was sent, and why they differ."""

    requested: Reasoning | None = None
    effective: Reasoning | None = None
    notes: tuple[Note, ...] = ()


def _check_word(name: str, word: str | None, known: tuple[str, ...]) -> None:
    if word is not None and word not in known:
        raise UsageError(f"{name} must be one of {', '.join(known)} or None, not {word!r}")
