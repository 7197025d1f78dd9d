"""What a file of requests may cost: an estimate from the length of its texts, before anything is sent."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from innervoice.batch.requests import stored_requests
from innervoice.batch.rows import FACTOR
from innervoice.canon.jsontext import dump_json
from innervoice.canon.response import Response
from innervoice.canon.usage import Usage
from innervoice.pricing import cost
from innervoice.wire.dialects import dialect_named

__all__ = ["Estimate", "estimate"]

_BYTES = 4
"""Bytes of a token, about: fewer in Chinese, more in English prose."""


class Estimate(NamedTuple):
    """Tokens and dollars, at the price of a batch."""

    input_tokens: int
    most_output_tokens: int | None
    """If all answers are as long as they may be; None if a request has no limit."""
    input_cost: Decimal | None
    """None if the price is not known."""
    most_cost: Decimal | None

    def __str__(self) -> str:
        tokens = f"about {self.input_tokens:,} input tokens"
        if self.input_cost is None:
            return f"{tokens}; the cost is not known" + (
                "" if find_spec("genai_prices") else " without genai-prices"
            )
        text = f"{tokens}: about ${self.input_cost:,.2f} at half price, and the output"
        if self.most_cost is None:
            return f"{text}, which has no limit"
        return f"{text}: at most ${self.most_cost:,.2f} in all, for {self.most_output_tokens:,} tokens of output"


def estimate(requests: Path, provider: str, dialect: str) -> Estimate:
    """The estimate for requests as they are sent."""
    read = dialect_named(dialect).request_reader
    inputs: defaultdict[str, int] = defaultdict(int)
    outputs: defaultdict[str, int] = defaultdict(int)
    limited = True
    for request in stored_requests(requests):
        inputs[request.model] += len(dump_json(request.body)) // _BYTES
        limit = read({**request.body, "model": request.model}).max_tokens
        limited = limited and limit is not None
        outputs[request.model] += limit or 0
    known = bool(find_spec("genai_prices"))
    least: Decimal | None = Decimal(0) if known else None
    most: Decimal | None = Decimal(0) if known else None
    for model, tokens in inputs.items() if known else ():
        usage = Usage(input_tokens=tokens, output_tokens=outputs[model])
        price = cost(Response(model=model, provider=provider, usage=usage))
        if price is None:
            least = most = None
            break
        least = (least or Decimal(0)) + price.input * Decimal(FACTOR)
        most = (most or Decimal(0)) + price.total * Decimal(FACTOR)
    return Estimate(
        input_tokens=sum(inputs.values()),
        most_output_tokens=sum(outputs.values()) if limited else None,
        input_cost=least,
        most_cost=most if limited else None,
    )
