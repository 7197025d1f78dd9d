"""Chunks whose sum is clean: without text that the stream withdrew, and with blocks in the order of the parts.

LangChain's sum of chunks keeps everything that was ever sent. Only at the end of a stream it is known which blocks were withdrawn, so the last
chunk removes them from the sum. The sum is a plain AIMessageChunk again.
"""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessageChunk
from langchain_core.messages.ai import add_ai_message_chunks
from langchain_core.outputs import ChatGenerationChunk

from innervoice.sessions.langchain_blocks import is_withdrawn, number_of

__all__ = ["LastChunk", "StreamedGeneration"]


class LastChunk(AIMessageChunk):
    """The last chunk of a stream that withdrew something; `message + last` removes it."""

    # Python calls the right operand first, because its class is the more specific one.
    def __radd__(self, other: AIMessageChunk) -> AIMessageChunk:
        """The sum of a message and this chunk."""
        merged = add_ai_message_chunks(other, self)
        kept = [block for block in merged.content if not is_withdrawn(block)]
        numbers = [number_of(block) for block in kept]
        if None not in numbers:
            kept.sort(key=lambda block: number_of(block) or 0)
        return merged.model_copy(update={"content": kept})

    @classmethod
    def lc_id(cls) -> list[str]:
        """Serialized as the class that LangChain knows."""
        return list(AIMessageChunk.lc_id())


class StreamedGeneration(ChatGenerationChunk):
    """A chunk that adds a list of chunks one by one at its end, as `LastChunk` requires."""

    def __add__(self, other: Any) -> ChatGenerationChunk:
        """The sum of this chunk and another, or a list of others."""
        if isinstance(other, list) and other and isinstance(other[-1].message, LastChunk):
            return super().__add__(other[:-1]) + other[-1]
        return super().__add__(other)
