"""Blocks that stand for the whole conversation before them: what of one can be sent to another provider.

Anthropic's summary is plain text, which every model can read. OpenAI's is encrypted: without it the model would not know what was said
before, so a request that cannot carry it is refused, and not sent without it.
"""

from __future__ import annotations

from typing import Any

from innervoice.canon.parts import Opaque, Part, Text
from innervoice.wire.dialects import dialect_named

__all__ = ["UNREADABLE", "compaction_of", "readable_compaction"]

UNREADABLE = "compaction_unreadable"
_HEAD = "Summary of the conversation before this message:"


def compaction_of(part: Part) -> dict[str, Any] | None:
    """The block of a compaction; None for any other part."""
    origin = part.origin
    if not isinstance(part, Opaque) or origin is None or origin.dialect is None:
        return None
    value = part.value
    kinds = dialect_named(origin.dialect).compactions
    return value if isinstance(value, dict) and value.get("type") in kinds else None


def readable_compaction(block: dict[str, Any]) -> Text | None:
    """The summary as a text, if it is one."""
    content = block.get("content")
    if not isinstance(content, str) or not content.strip():
        return None
    return Text(f"{_HEAD}\n\n{content}")
