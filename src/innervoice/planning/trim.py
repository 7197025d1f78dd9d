"""Shortens a history without cutting what belongs together."""

from __future__ import annotations

from collections.abc import Sequence

from innervoice.canon.messages import Message
from innervoice.canon.parts import Thinking, ToolCall, ToolResult
from innervoice.errors import UsageError

__all__ = ["trim"]


def trim(messages: Sequence[Message], keep: int) -> list[Message]:
    """Returns the system messages and the last user turns with everything that followed each.

    A user turn begins with a message that is not only tool results. Calls, their results and the reasoning between them are
    between two such messages, so no group is cut. A group whose beginning is already missing is removed.

    :param messages: The history.
    :param keep: The number of user turns to keep.
    """
    if isinstance(keep, bool) or not isinstance(keep, int) or keep < 0:
        raise UsageError(f"keep must be a number of turns, 0 or more, not {keep!r}")
    starts = [number for number, message in enumerate(messages) if _begins_a_turn(message)]
    system = [
        item for item in messages if item.role == "system" and (item.parts or not item.effort)
    ]
    first = starts[0] if starts else len(messages)
    whole = not any(map(_is_of_a_group, messages[:first]))
    if keep >= len(starts) and whole:
        return list(messages)
    start = starts[-min(keep, len(starts))] if keep and starts else len(messages)
    kept = [message for message in messages[start:] if message.role != "system" or message.effort]
    return system + _in_force(messages[:start], kept)


def _in_force(removed: Sequence[Message], kept: list[Message]) -> list[Message]:
    """The messages that are kept, with the last effort that a removed one set."""
    efforts = [one.effort for one in removed if one.effort and one.role != "assistant"]
    for number, message in enumerate(kept if efforts else ()):
        if message.effort and message.role != "assistant":
            break
        if _begins_a_turn(message):
            kept[number] = message.replace(effort=efforts[-1])
            break
    return kept


def _begins_a_turn(message: Message) -> bool:
    return message.role == "user" and not any(
        isinstance(part, ToolResult) for part in message.parts
    )


def _is_of_a_group(message: Message) -> bool:
    """Whether a message belongs to a group; before the first user turn, the beginning of that group is missing."""
    return any(
        isinstance(part, (Thinking, ToolCall, ToolResult)) or (part.origin and part.origin.seals)
        for part in message.parts
    )
