"""The functions that litellm has in `litellm.main`."""

from innervoice.bridges.litellm.asking import acompletion, completion
from innervoice.bridges.litellm.building import stream_chunk_builder

__all__ = ["acompletion", "completion", "stream_chunk_builder"]
