"""The names that litellm has in `litellm.cost_calculator`."""

from typing import NoReturn

from innervoice.bridges.litellm.tokens import completion_cost, cost_per_token
from innervoice.bridges.litellm.unsupported import missing

__all__ = ["completion_cost", "cost_per_token"]


def __getattr__(name: str) -> NoReturn:
    raise missing(name, __name__)
