"""Shortening a history without cutting what belongs together."""

from __future__ import annotations

from collections.abc import Sequence

from innervoice.canon.messages import Message
from innervoice.canon.parts import Thinking, ToolCall, ToolResult
from innervoice.errors import UsageError

__all__ = ["trim"]


def trim(messages: Sequence[Message], keep: int) -> list[Message]:
    """The last `keep` turns of the user with all that followed each, and what the system said before.

    A turn of the user begins with words of its own; calls, their results and the reasoning between them
    stand between two of these, so that no group is cut in two. A group whose beginning was cut off before goes.
    """
    if isinstance(keep, bool) or not isinstance(keep, int) or keep < 0:
        raise UsageError(f"keep must be a number of turns, 0 or more, not {keep!r}")
    starts = [number for number, message in enumerate(messages) if _begins_a_turn(message)]
    system = [message for message in messages if message.role == "system"]
    first = starts[0] if starts else len(messages)
    whole = not any(map(_is_of_a_group, messages[:first]))
    if keep >= len(starts) and whole:
        return list(messages)
    start = starts[-min(keep, len(starts))] if keep and starts else len(messages)
    return system + [message for message in messages[start:] if message.role != "system"]


def _begins_a_turn(message: Message) -> bool:
    return message.role == "user" and not any(
        isinstance(part, ToolResult) for part in message.parts
    )


def _is_of_a_group(message: Message) -> bool:
    """Whether a message answers something: before the first words of the user it has lost its beginning."""
    return any(
        isinstance(part, (Thinking, ToolCall, ToolResult)) or (part.origin and part.origin.seals)
        for part in message.parts
    )
