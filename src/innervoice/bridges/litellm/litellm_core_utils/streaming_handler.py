"""The name that litellm has in `litellm.litellm_core_utils.streaming_handler`."""

from typing import NoReturn

from innervoice.bridges.litellm.absent import missing
from innervoice.bridges.litellm.stream_wrapper import CustomStreamWrapper

__all__ = ["CustomStreamWrapper"]


def __getattr__(name: str) -> NoReturn:
    raise missing(name, __name__)
