"""The name that litellm has in `litellm.litellm_core_utils.get_supported_openai_params`."""

from typing import NoReturn

from innervoice.bridges.litellm.params import get_supported_openai_params
from innervoice.bridges.litellm.unsupported import missing

__all__ = ["get_supported_openai_params"]


def __getattr__(name: str) -> NoReturn:
    raise missing(name, __name__)
