"""Remembers turns, and finds them again by what a program shows of them when it sends them back.

The key of a turn is its caller, the conversation before it, and its own tool calls or text, so similar conversations never get
each other's reasoning. Programs also truncate the beginning of a conversation or change the system prompt. A turn with tool
calls is therefore also found by the user message before it, if only one stored turn matches. If two match, neither is used.
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
    """The position of a turn: digests of everything before it, and of the user message it answers."""

    conversation: bytes
    question: bytes


def turn_positions(messages: list[Any], scope: str) -> Iterator[TurnPosition]:
    """The position of each message, and of the one that follows; `scope` identifies the caller."""
    caller = _digest(scope)
    before, question = blake2b(caller, digest_size=16), caller
    for message in map(as_dict, messages):
        yield TurnPosition(before.digest(), question)
        before.update(_digest(_shown(message)))
        if message.get("role") == "user":
            question = _digest([caller.hex(), _shown(message)])
    yield TurnPosition(before.digest(), question)


class TurnMemory:
    """Keeps the last `limit` turns."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._turns: OrderedDict[tuple[bytes, bytes], Message | None] = OrderedDict()
        """Each turn by its conversation and by its question; None where two turns have the same key."""
        self._lock = threading.Lock()

    def keep(self, position: TurnPosition, turn: dict[str, Any], message: Message) -> None:
        """Stores a message under the visible members of its turn."""
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
        """The stored message of a turn, if exactly one matches."""
        shown = _digest(_shown(turn))
        with self._lock:
            if (position.conversation, shown) in self._turns or not turn.get("tool_calls"):
                return self._turns.get((position.conversation, shown))
            return self._turns.get((position.question, shown))


def _shown(message: dict[str, Any]) -> list[Any]:
    """The members of a message that no program drops or rewrites: its tool calls, else its text."""
    calls = [_call(as_dict(call)) for call in as_list(message.get("tool_calls"))]
    content = message.get("content")
    pieces = [as_dict(piece).get("text") for piece in as_list(content)]
    text = content if isinstance(content, str) else "".join(map(str, filter(None, pieces)))
    return [message.get("role"), message.get("tool_call_id"), calls or text.strip()]


def _call(call: dict[str, Any]) -> list[Any]:
    function = as_dict(call.get("function", call.get("custom")))
    arguments = function.get("arguments", function.get("input"))
    # Some programs parse the arguments and serialize them again.
    value = parsed(arguments) if isinstance(arguments, str) else arguments
    ordered = sorted(value.items()) if isinstance(value, dict) else value
    return [call.get("id"), function.get("name"), ordered]


def _digest(value: Any) -> bytes:
    return blake2b(dump_json(value), digest_size=16).digest()
