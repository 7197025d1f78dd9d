"""Turns that passed, found again by what a program shows of them when it sends them back.

A turn belongs to the one who asked, to the conversation before it, and to its own calls or words; so two
conversations that look alike never get each other's reasoning. Programs also cut the beginning of a conversation off, or
write their system prompt anew. So a turn with calls is found by the user's words before it, too, as long as only one such
turn is known. Where two would fit, none is given.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, NamedTuple

from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message
from innervoice.wire.json_access import as_dict, as_list, parsed

__all__ = ["TurnMemory", "TurnPosition", "turn_positions"]


class TurnPosition(NamedTuple):
    """Where a turn stands: digests of all that stands before it, and of the words it answers."""

    conversation: bytes
    question: bytes


def turn_positions(messages: list[Any], scope: str) -> Iterator[TurnPosition]:
    """The position of each message, and of the one that comes next; `scope` tells one caller from another."""
    caller = _digest(scope)
    before, question = blake2b(caller, digest_size=16), caller
    for message in map(as_dict, messages):
        yield TurnPosition(before.digest(), question)
        before.update(_digest(_shown(message)))
        if message.get("role") == "user":
            question = _digest([caller.hex(), _shown(message)])
    yield TurnPosition(before.digest(), question)


class TurnMemory:
    """Keeps so many turns, and forgets the oldest."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._turns: OrderedDict[tuple[bytes, bytes], Message | None] = OrderedDict()
        """By the conversation and by the question; None for two that cannot be told apart."""
        self._lock = threading.Lock()

    def keep(self, position: TurnPosition, turn: dict[str, Any], message: Message) -> None:
        """Remembers a message under what a program will show of it."""
        shown = _digest(_shown(turn))
        with self._lock:
            for digest in position:
                key = (digest, shown)
                same = self._turns.get(key, message) == message
                self._turns[key] = message if same else None
                self._turns.move_to_end(key)
            while len(self._turns) > 2 * self._limit:
                self._turns.popitem(last=False)

    def find(self, position: TurnPosition, turn: dict[str, Any]) -> Message | None:
        """The message that a turn was, if it is known and no other could be meant."""
        shown = _digest(_shown(turn))
        with self._lock:
            if (position.conversation, shown) in self._turns or not turn.get("tool_calls"):
                return self._turns.get((position.conversation, shown))
            return self._turns.get((position.question, shown))


def _shown(message: dict[str, Any]) -> list[Any]:
    """What of a message no program drops or rewrites: the calls of a turn, or its words."""
    calls = [_call(as_dict(call)) for call in as_list(message.get("tool_calls"))]
    content = message.get("content")
    pieces = [as_dict(piece).get("text") for piece in as_list(content)]
    text = content if isinstance(content, str) else "".join(map(str, filter(None, pieces)))
    return [message.get("role"), message.get("tool_call_id"), calls or text.strip()]


def _call(call: dict[str, Any]) -> list[Any]:
    function = as_dict(call.get("function", call.get("custom")))
    arguments = function.get("arguments", function.get("input"))
    # Some programs read the arguments and write them again.
    value = parsed(arguments) if isinstance(arguments, str) else arguments
    ordered = sorted(value.items()) if isinstance(value, dict) else value
    return [call.get("id"), function.get("name"), ordered]


def _digest(value: Any) -> bytes:
    return blake2b(dump_json(value), digest_size=16).digest()
