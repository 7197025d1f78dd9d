"""About how much memory a conversation and its rows take, to limit the caches."""

from __future__ import annotations

from collections.abc import Iterable

from innervoice.canon.parts import Media, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from innervoice.sources.conversation import Conversation
from innervoice.view.row_types import Row

__all__ = ["bytes_of_conversation", "bytes_of_rows"]

_PART = 2_000
"""A part, its origin and the members of its wire block; the texts in the block are those of the part."""
_ROW = 2_500


def bytes_of_conversation(conversation: Conversation) -> int:
    """About how many bytes its values take."""
    return sum(_PART + _bytes_of_parts(turn.message.parts) for turn in conversation.turns)


def bytes_of_rows(rows: Iterable[Row]) -> int:
    """About how many bytes its dicts take."""
    return sum(_ROW + len(row["text"]) + len(row.get("image", "")) for row in rows)


def _bytes_of_parts(parts: Iterable[Part]) -> int:
    total = 0
    for part in parts:
        total += _PART
        match part:
            case Text() | Thinking():
                total += len(part.text)
            case ToolCall():
                total += len(part.arguments)
            case ToolResult():
                content = part.content
                total += len(content) if isinstance(content, str) else _bytes_of_parts(content)
            case Media():
                total += len(part.data or "")
            case Opaque():
                total += len(str(part.value))
    return total
