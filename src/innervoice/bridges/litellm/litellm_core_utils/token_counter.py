"""The name that litellm has in `litellm.litellm_core_utils.token_counter`."""

from typing import NoReturn

from innervoice.bridges.litellm.absent import missing
from innervoice.bridges.litellm.tokens import token_counter

__all__ = ["token_counter"]


def __getattr__(name: str) -> NoReturn:
    raise missing(name, __name__)
