"""What an answer cost."""

from __future__ import annotations

from decimal import Decimal

from innervoice.canon.value import Value

__all__ = ["Cost"]


class Cost(Value, frozen=True, kw_only=True):
    """A cost in dollars at list prices, without discounts and batch prices."""

    total: Decimal
    input: Decimal
    output: Decimal
    """Reasoning included."""
    reasoning: Decimal | None = None
    """The share of reasoning in `output`; None if its tokens were not reported."""
    model: str
    """The model whose prices were used, as genai-prices names it."""
