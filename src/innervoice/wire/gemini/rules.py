"""What generateContent refuses about reasoning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.cards import Ask
from innervoice.wire.shapes import as_dict

__all__ = ["problems"]


def problems(body: dict[str, Any], ask: Ask) -> Iterator[str]:
    """Why the API would refuse a body."""
    config = as_dict(as_dict(body.get("generationConfig")).get("thinkingConfig"))
    budget, level = config.get("thinkingBudget"), config.get("thinkingLevel")
    if budget is not None and level is not None:
        yield "You can only set only one of thinking budget and thinking level."
    if config and ask.control == "none":
        yield "Thinking is not supported for this model"
    if level is not None and ask.control != "gemini-level":
        yield "Thinking level is not supported for this model"
    elif level is not None and str(level).lower() not in ask.efforts:
        yield f"Thinking level {level} is not supported for this model"
    if budget is not None and not _fits(budget, ask):
        yield f"The thinking budget ({budget}) is invalid."


def _fits(budget: Any, ask: Ask) -> bool:
    if ask.budget is None:
        return False
    return (
        budget == -1
        or (budget == 0 and ask.off == "value")
        or ask.budget[0] <= budget <= ask.budget[1]
    )
