"""Shortening a history without cutting what belongs together."""

from __future__ import annotations

from collections.abc import Sequence

from innervoice.canon.messages import Message
from innervoice.canon.parts import ToolResult
from innervoice.errors import UsageError

__all__ = ["trim"]


def trim(messages: Sequence[Message], keep: int) -> list[Message]:
    """The last `keep` turns of the user with all that followed each, and what the system said before.

    A turn of the user begins with words of its own; calls, their results and the reasoning between them
    stand between two of these, so that no group is cut in two.
    """
    if isinstance(keep, bool) or not isinstance(keep, int) or keep < 0:
        raise UsageError(f"keep must be a number of turns, 0 or more, not {keep!r}")
    starts = [number for number, message in enumerate(messages) if _begins_a_turn(message)]
    system = [message for message in messages if message.role == "system"]
    if keep >= len(starts):
        return list(messages)
    start = starts[-keep] if keep else len(messages)
    return system + [message for message in messages[start:] if message.role != "system"]


def _begins_a_turn(message: Message) -> bool:
    return message.role == "user" and not any(
        isinstance(part, ToolResult) for part in message.parts
    )
