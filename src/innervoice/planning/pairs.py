"""Matches tool calls and their results by order and id.

An id may occur twice in a conversation: calls without an id are numbered from the start in every message.
So a result belongs to the last turn before it that has calls with its id, and within that turn to the first one without a result.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from innervoice.canon.messages import Message
from innervoice.canon.parts import ToolCall, ToolResult

__all__ = ["Pairs", "at_calls", "late_results", "pairs_of"]


_Item = TypeVar("_Item")


class Pairs(NamedTuple):
    """Calls and results without a counterpart: the number of the message, and of the part in it."""

    unanswered: list[tuple[int, int]]
    """Calls without a result."""
    strays: list[tuple[int, int]]
    """Results whose call is not in the history."""
    repeats: list[tuple[int, int]]
    """Results of calls that already have a result."""
    calls: dict[tuple[int, int], int]
    """Each result that has a call -> the number of the call's message."""


def pairs_of(messages: Iterable[Message]) -> Pairs:
    """Lists the calls without a result, the results without a call, and the further results of a call."""
    waiting: dict[str, deque[tuple[int, int]]] = {}
    pairs = Pairs([], [], [], {})
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
                    pairs.calls[number, position] = waiting[part.call_id].popleft()[0]
                else:
                    is_waiting = part.call_id in waiting
                    (pairs.repeats if is_waiting else pairs.strays).append((number, position))
    pairs.unanswered.extend(place for calls in waiting.values() for place in calls)
    pairs.unanswered.sort()
    return pairs


def late_results(messages: Sequence[Message]) -> dict[tuple[int, int], int]:
    """Each result that something other than results separates from its call -> the number of the message right after the call.

    Assistant messages in a row are one turn; messages without parts do not count.
    """
    calls = pairs_of(messages).calls
    late: dict[tuple[int, int], int] = {}
    turn_of: dict[int, int] = {}
    following: dict[int, int] = {}
    """A turn -> the message right after it."""
    turn, in_turn, only_results = -1, False, False
    for number, message in enumerate(messages):
        if not message.parts or message.role == "system":
            continue
        if message.role == "assistant":
            turn += not in_turn
            turn_of[number] = turn
            in_turn = only_results = True
            continue
        following.setdefault(turn, number)
        in_turn = False
        for position, part in enumerate(message.parts):
            call = calls.get((number, position))
            if not isinstance(part, ToolResult):
                only_results = False
            elif call is not None and not (only_results and turn_of[call] == turn):
                late[number, position] = following[turn_of[call]]
    return late


def at_calls(
    rows: Sequence[Sequence[_Item]],
    late: dict[tuple[int, int], int],
    is_result: Callable[[_Item], bool],
) -> list[list[_Item]]:
    """The parts of messages, with late results behind the first results of the message right after their call."""
    moved: dict[int, list[_Item]] = {}
    for (number, position), goal in late.items():
        moved.setdefault(goal, []).append(rows[number][position])
    arranged: list[list[_Item]] = []
    for number, row in enumerate(rows):
        items = [item for position, item in enumerate(row) if (number, position) not in late]
        first = next((at for at, item in enumerate(items) if not is_result(item)), len(items))
        items[first:first] = moved.get(number, [])
        arranged.append(items)
    return arranged
