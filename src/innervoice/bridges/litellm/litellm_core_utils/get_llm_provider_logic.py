"""The name that litellm has in `litellm.litellm_core_utils.get_llm_provider_logic`."""

from typing import NoReturn

from innervoice.bridges.litellm.providers import get_llm_provider
from innervoice.bridges.litellm.unsupported import missing

__all__ = ["get_llm_provider"]


def __getattr__(name: str) -> NoReturn:
    raise missing(name, __name__)
