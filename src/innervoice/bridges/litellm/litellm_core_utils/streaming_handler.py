"""The name that litellm has in `litellm.litellm_core_utils.streaming_handler`."""

from typing import NoReturn

from innervoice.bridges.litellm.chunks import CustomStreamWrapper
from innervoice.bridges.litellm.unsupported import missing

__all__ = ["CustomStreamWrapper"]


def __getattr__(name: str) -> NoReturn:
    raise missing(name, __name__)
