"""The name that litellm has in `litellm.litellm_core_utils.token_counter`."""

from typing import NoReturn

from innervoice.bridges.litellm.tokens import token_counter
from innervoice.bridges.litellm.unsupported import missing

__all__ = ["token_counter"]


def __getattr__(name: str) -> NoReturn:
    raise missing(name, __name__)
