"""Matches tool calls and their results by order and id.

An id may occur twice in a conversation: calls without an id are numbered from the start in every message.
So a result belongs to the last turn before it that has calls with its id, and within that turn to the first one without a result.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from innervoice.canon.messages import Message
from innervoice.canon.parts import ToolCall, ToolResult

__all__ = ["Pairs", "pairs_of"]


class Pairs(NamedTuple):
    """Calls and results without a counterpart: the number of the message, and of the part in it."""

    unanswered: list[tuple[int, int]]
    """Calls without a result."""
    strays: list[tuple[int, int]]
    """Results whose call is not in the history."""
    repeats: list[tuple[int, int]]
    """Results of calls that already have a result."""


def pairs_of(messages: Iterable[Message]) -> Pairs:
    """Lists the calls without a result, the results without a call, and the further results of a call."""
    waiting: dict[str, deque[tuple[int, int]]] = {}
    pairs = Pairs([], [], [])
    for number, message in enumerate(messages):
        for position, part in enumerate(message.parts):
            if isinstance(part, ToolCall):
                calls = waiting.setdefault(part.id, deque())
                if calls and calls[0][0] != number:
                    pairs.unanswered.extend(calls)
                    calls.clear()
                calls.append((number, position))
            elif isinstance(part, ToolResult):
                if waiting.get(part.call_id):
                    waiting[part.call_id].popleft()
                else:
                    is_waiting = part.call_id in waiting
                    (pairs.repeats if is_waiting else pairs.strays).append((number, position))
    pairs.unanswered.extend(place for calls in waiting.values() for place in calls)
    pairs.unanswered.sort()
    return pairs
