"""What each answer cost, and its reasoning, from the tokens that the provider reported.

Output tokens include reasoning, as in `canon/usage.py`; the cost of reasoning is its share of the output's cost. Prices are those that are passed, in dollars per
million tokens, or the public ones of `innervoice[prices]`. A row without token counts, or of a model without a price, has null.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from innervoice.bulk.needs import column
from innervoice.bulk.schema import Batch, Column, Step
from innervoice.canon.response import Response
from innervoice.canon.usage import Usage
from innervoice.errors import UsageError
from innervoice.pricing import cost as list_price

__all__ = ["Price", "cost"]

_ADDS = {
    "cost": Column("double", "Dollars for the answer; null if the tokens or the price are unknown."),
    "reasoning_cost": Column("double", "Dollars for its reasoning, part of `cost`; null if its tokens were not reported."),
}  # fmt: skip

_MILLION = 1_000_000


class Price(NamedTuple):
    """Dollars per million tokens."""

    input: float
    output: float


def cost(price: Price | None = None, factor: float = 1.0) -> Step:
    """The step; without a price, that of each row's model. Batch APIs cost half: `factor=0.5`."""
    if factor <= 0:
        raise UsageError(f"the factor of a price must be a positive number, not {factor}")

    return Step("cost", partial(_run, price=price, factor=factor), _ADDS)


def _run(batch: Batch, *, price: Price | None, factor: float) -> Batch:
    rows = [
        _dollars(usage, model, price, factor)
        for usage, model in zip(
            column(batch, "usage", "cost"), column(batch, "model", "cost"), strict=True
        )
    ]
    return {
        **batch,
        "cost": [row[0] for row in rows],
        "reasoning_cost": [row[1] for row in rows],
    }


def _dollars(
    usage: dict[str, Any] | None, model: str | None, price: Price | None, factor: float
) -> tuple[float | None, float | None]:
    if not usage or usage.get("input") is None or usage.get("output") is None:
        return None, None
    reasoned = usage.get("reasoning")
    if price is None:
        counted = Usage(
            input_tokens=usage["input"], output_tokens=usage["output"], reasoning_tokens=reasoned
        )
        found = list_price(Response(model=model, usage=counted))
        if found is None:
            return None, None
        return float(found.total) * factor, None if found.reasoning is None else float(
            found.reasoning
        ) * factor
    total = (usage["input"] * price.input + usage["output"] * price.output) / _MILLION
    return total * factor, None if reasoned is None else reasoned * price.output / _MILLION * factor
