"""Matches tool calls and their results by order and id.

An id may occur twice in a conversation: calls without an id are numbered from the start in every message.
So a result belongs to the last call with its id before it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from innervoice.canon.messages import Message
from innervoice.canon.parts import ToolCall, ToolResult

__all__ = ["Pairs", "pairs_of"]


class Pairs(NamedTuple):
    """Calls without a result and results without a call: the number of the message, and of the part in it."""

    unanswered: list[tuple[int, int]]
    strays: list[tuple[int, int]]


def pairs_of(messages: Iterable[Message]) -> Pairs:
    """Lists the calls without a result and the results without a call."""
    waiting: dict[str, tuple[int, int]] = {}
    known: set[str] = set()
    unanswered: list[tuple[int, int]] = []
    strays: list[tuple[int, int]] = []
    for number, message in enumerate(messages):
        for position, part in enumerate(message.parts):
            if isinstance(part, ToolCall):
                if part.id in waiting:
                    unanswered.append(waiting[part.id])
                waiting[part.id] = (number, position)
                known.add(part.id)
            elif isinstance(part, ToolResult):
                if part.call_id not in known:
                    strays.append((number, position))
                waiting.pop(part.call_id, None)
    return Pairs(sorted([*unanswered, *waiting.values()]), strays)
