"""Tokens, in one convention for every provider: output includes reasoning, input includes the cache."""

from __future__ import annotations

from decimal import Decimal
from importlib import import_module
from typing import Any

from innervoice.canon.value import Value

__all__ = ["Cost", "Usage"]


class Usage(Value, frozen=True, kw_only=True):
    """The token counts of a response; a count that the provider did not report is None, not 0."""

    input_tokens: int | None = None
    """Tokens of the request, those read from a cache included."""
    output_tokens: int | None = None
    """Tokens of the answer, reasoning included."""
    reasoning_tokens: int | None = None
    """Those of them that are reasoning."""
    cached_input_tokens: int | None = None
    """Tokens of the request that were read from a cache."""
    raw: Any = None
    """The counts as the provider reported them."""

    @property
    def total_tokens(self) -> int | None:
        """Input and output tokens together, if both were reported."""
        if self.input_tokens is None or self.output_tokens is None:
            return None
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        """The sum of two usages; a number that neither reported stays None, and `raw` is left out."""
        return Usage(**{name: _sum(getattr(self, name), getattr(other, name)) for name in _COUNTS})

    def _repr_html_(self) -> str:
        """The counts as HTML, for notebooks."""
        return str(import_module("innervoice.show.notebook").usage_html(self))


_COUNTS = tuple(name for name in Usage.__struct_fields__ if name != "raw")


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else one + other


# ---- What an answer cost.


class Cost(Value, frozen=True, kw_only=True):
    """A cost in dollars at list prices, without discounts and batch prices."""

    total: Decimal
    """Input and output together."""
    input: Decimal
    """What was sent, tokens from the cache included."""
    output: Decimal
    """Reasoning included."""
    reasoning: Decimal | None = None
    """The share of reasoning in `output`; None if its tokens were not reported."""
    model: str
    """The model whose prices were used, as genai-prices names it."""

    def _repr_html_(self) -> str:
        """The cost as HTML, for notebooks."""
        return str(import_module("innervoice.show.notebook").cost_html(self))
