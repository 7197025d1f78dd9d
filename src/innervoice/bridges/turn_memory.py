"""Remembers turns, and finds them again by what a program shows of them when it sends them back.

The key of a turn is its caller, the conversation before it, and its own tool calls or text, so similar conversations never get
each other's reasoning. Programs also truncate the beginning of a conversation or change the system prompt. A turn with tool
calls is therefore also found by the user message before it, if only one stored turn matches. If two match, neither is used.

Some programs append to the text of a turn, or write its calls into the text. Such a turn is found by the conversation before it, if
the text begins with the stored one, or contains the ids of all stored calls.

Some programs send a turn with several calls back as several turns of one call each, every call followed by its result. A turn is
signed as a whole, so these are joined again: the first call finds the turn, and the other calls must follow.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias

from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message
from innervoice.canon.parts import Text, Thinking
from innervoice.canon.storage import to_json
from innervoice.wire.json_access import as_dict, as_list, parsed

__all__ = ["RecalledConversation", "TurnMemory", "TurnPosition"]

_TURNS = 10_000
_BYTES = 64_000_000
_Key: TypeAlias = tuple[bytes, bytes]
_Keys: TypeAlias = tuple[_Key, ...]


class TurnPosition(NamedTuple):
    """The position of a turn: digests of everything before it, and of the user message it answers."""

    conversation: bytes
    question: bytes


class RecalledConversation(NamedTuple):
    """The messages of a request, each with the stored turn that it shows, and the position of the response."""

    messages: list[tuple[Any, Message | None]]
    position: TurnPosition


class TurnMemory:
    """Keeps the last turns: at most `turns` of them, and at most `size` bytes of their JSON."""

    def __init__(self, turns: int = _TURNS, size: int = _BYTES) -> None:
        self._most, self._room = turns, size
        self._turns: OrderedDict[_Keys, _StoredTurn] = OrderedDict()
        self._owners: dict[_Key, set[_Keys]] = {}
        """The turns that have a key, each by all of its keys."""
        self._size = 0
        self._lock = threading.Lock()

    def keep(self, position: TurnPosition, message: Message) -> None:
        """Stores a turn under its visible members."""
        keys = _keys(position, message)
        stored = _StoredTurn(message, len(to_json(message)))
        with self._lock:
            if keys in self._turns:
                known = self._turns.pop(keys)
                self._size -= known.size
                stored = stored if known.message == message else _StoredTurn(None, 0)
            self._turns[keys] = stored
            self._size += stored.size
            for key in keys:
                self._owners.setdefault(key, set()).add(keys)
            while len(self._turns) > self._most or self._size > self._room:
                self._forget_oldest()

    def _forget_oldest(self) -> None:
        keys, stored = self._turns.popitem(last=False)
        self._size -= stored.size
        for key in keys:
            self._owners[key].discard(keys)
            if not self._owners[key]:
                del self._owners[key]

    def recall(self, messages: Iterable[Any], scope: str) -> RecalledConversation:
        """Finds the stored turns of a conversation; `scope` identifies the caller."""
        given, position = list(messages), _Position(scope)
        recalled: list[tuple[Any, Message | None]] = []
        at = 0
        while at < len(given):
            turn = self._turn_at(given, at, position)
            known = turn.known
            for message, shown in turn.messages:
                recalled.append((message, known))
                position.add(as_dict(message), shown)
                known = None  # what follows are the results of a turn that was split
            at = turn.end
        return RecalledConversation(recalled, position.turn)

    def clear(self) -> None:
        """Forgets everything."""
        with self._lock:
            self._turns.clear()
            self._owners.clear()
            self._size = 0

    def _turn_at(self, messages: list[Any], at: int, position: _Position) -> _RecalledTurn:
        """The message at an index; a turn that was split comes joined, with the results of its calls."""
        message = as_dict(messages[at])
        visible = _shown(message)
        shown = _digest(visible)
        unknown = _RecalledTurn([(messages[at], shown)], None, at + 1)
        if message.get("role") != "assistant":
            return unknown
        calls = as_list(message.get("tool_calls"))
        if not calls:
            text, place = visible[-1], position.turn.conversation
            found = self._find((place,), shown) or self._find_rewritten(place, text)
            return unknown._replace(known=found)
        known = self._find(position.turn, shown)
        if known is None or len(known.tool_calls) == len(calls):
            return unknown._replace(known=known)
        return _joined(messages, at, known) or unknown

    def _find(self, places: tuple[bytes, ...], shown: bytes) -> Message | None:
        """The stored message of a turn, if exactly one matches."""
        with self._lock:
            found = filter(None, (self._owners.get((place, shown)) for place in places))
            owners = next(found, ())
            return self._turns[next(iter(owners))].message if len(owners) == 1 else None

    def _find_rewritten(self, place: bytes, text: str) -> Message | None:
        """The only turn of a conversation that a text was made of."""
        with self._lock:
            turns = [self._turns[owner].message for owner in self._owners.get((place, _ALONE), ())]
        found = [made for known in turns if known and (made := _rewritten(known, text))]
        return found[0] if len(found) == 1 else None


class _StoredTurn(NamedTuple):
    message: Message | None
    """None where two turns have the same keys."""
    size: int


class _RecalledTurn(NamedTuple):
    messages: list[tuple[Any, bytes]]
    """The turn and the digest of what it shows; if it was split, also the results of its calls."""
    known: Message | None
    end: int
    """The index of the message that follows."""


class _Position:
    """The position of the next turn, message by message."""

    def __init__(self, scope: str) -> None:
        self._caller = self._question = _digest(scope)
        self._before = blake2b(self._caller, digest_size=16)

    def add(self, message: dict[str, Any], shown: bytes) -> None:
        self._before.update(shown)
        if message.get("role") == "user":
            # Not the digest of a conversation that is only this message.
            head = blake2b(self._caller, digest_size=16, person=b"question")
            head.update(shown)
            self._question = head.digest()

    @property
    def turn(self) -> TurnPosition:
        return TurnPosition(self._before.digest(), self._question)


def _keys(position: TurnPosition, message: Message) -> _Keys:
    """The keys of a turn: its conversation with what it shows, with its calls without ids, and alone; its question with what it shows,
    and with the first of several calls."""
    calls = [
        {"id": call.id, "function": {"name": call.name, "arguments": call.arguments}}
        for call in message.tool_calls
    ]
    shown = {"role": "assistant", "content": message.text, "tool_calls": calls}
    keys = [(place, _digest(_shown(shown))) for place in position]
    if calls:
        # Some programs lose the ids; the whole conversation before the turn must then be the same.
        bare = {**shown, "tool_calls": [{**call, "id": None} for call in calls]}
        keys.append((position.conversation, _digest(_shown(bare))))
    if len(calls) > 1:
        first = {**shown, "tool_calls": calls[:1]}
        keys.append((position.question, _digest(_shown(first))))
    return (*keys, (position.conversation, _ALONE))


def _rewritten(known: Message, said: str) -> Message | None:
    """The stored turn with the text that a program made of it; None if the text is not made of this turn."""
    calls, start = known.tool_calls, known.text.strip()
    if calls and all(call.id in said for call in calls):
        thoughts = (part for part in known.parts if isinstance(part, Thinking))
        return known.replace(parts=(*thoughts, Text(said)))
    if not calls and start and said.startswith(start):
        return known.replace(parts=(*known.parts, Text(said.removeprefix(start))))
    return None


def _joined(messages: list[Any], at: int, known: Message) -> _RecalledTurn | None:
    """The turn that was split into turns of one call each; None if these are not all of its calls."""
    wanted = [call.id for call in known.tool_calls]
    calls, results, end = as_list(messages[at].get("tool_calls")), [], at + 1
    for message in map(as_dict, messages[end:]):
        more = as_list(message.get("tool_calls"))
        if message.get("role") == "tool":
            results.append(message)
        elif more and not message.get("content") and len(calls) < len(wanted):
            calls = [*calls, *more]
        else:
            break
        end += 1
    if wanted != [as_dict(call).get("id") for call in calls]:
        return None
    joined = [{**messages[at], "tool_calls": calls}, *results]
    return _RecalledTurn([(item, _digest(_shown(item))) for item in joined], known, end)


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


_ALONE = _digest(None)
"""The key of a turn by its position, whatever it shows."""
