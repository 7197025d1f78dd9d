"""The functions that litellm has in `litellm.main`."""

from typing import NoReturn

from innervoice.bridges.litellm.chunks import stream_chunk_builder
from innervoice.bridges.litellm.completion import acompletion, completion
from innervoice.bridges.litellm.responses_api import responses_api_bridge_check
from innervoice.bridges.litellm.unsupported import missing

__all__ = ["acompletion", "completion", "responses_api_bridge_check", "stream_chunk_builder"]


def __getattr__(name: str) -> NoReturn:
    raise missing(name, __name__)
