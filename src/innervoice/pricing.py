"""The cost of a response, from the public prices in `genai-prices` (the extra `innervoice[prices]`).

Output tokens include reasoning, so reasoning is not counted twice: its cost is its share of the output's cost.
"""

from __future__ import annotations

from decimal import Decimal
from importlib import import_module

from innervoice.canon.response import Response
from innervoice.canon.usage import Cost
from innervoice.catalog.lookup import host_of
from innervoice.errors import UsageError

__all__ = ["Cost", "cost"]


def cost(response: Response) -> Cost | None:
    """The cost of a response; None if it has no token counts, or genai-prices has no price for its model."""
    try:
        prices = import_module("genai_prices")
    except ModuleNotFoundError:
        raise UsageError(
            'genai-prices is not installed: pip install "innervoice[prices]"'
        ) from None
    usage = response.usage
    if usage.input_tokens is None or usage.output_tokens is None or not response.model:
        return None
    counted = prices.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cached_input_tokens,
    )
    host = host_of(response.provider or "")
    provider = (host and host.prices_name) or response.provider
    try:
        found = prices.calc_price(counted, model_ref=response.model, provider_id=provider or None)
    except LookupError:
        return None
    reasoned = usage.reasoning_tokens
    share = (
        Decimal(reasoned) / usage.output_tokens
        if reasoned is not None and usage.output_tokens
        else None
    )
    return Cost(
        total=found.total_price,
        input=found.input_price,
        output=found.output_price,
        reasoning=None if share is None else found.output_price * share,
        model=found.model.id,
    )
