"""Remembers turns for programs that use Chat Completions: their JSON goes in, the JSON and the stored turns that it shows come out.

`conversation/digest.py` and `memory/changed_turns.py` describe how a turn is found again, as in the gateway. One thing is different: a
turn with calls is also found if its text was edited or dropped, because a bridge can keep the text and restore the reasoning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b
from secrets import token_bytes
from typing import Any, NamedTuple

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.messages import Message
from innervoice.canon.request import Request
from innervoice.conversation.digest import ConversationDigest
from innervoice.conversation.turns import RenamedCalls, without_blanks
from innervoice.errors import DecodeError
from innervoice.memory.changed_turns import RecalledTurns
from innervoice.memory.recent_turns import RecentTurns
from innervoice.memory.restoring import TurnRestorer, record_of
from innervoice.wire.chat.serve import read_message
from innervoice.wire.json_access import as_dict, as_list

__all__ = ["ChatTurns", "RecalledConversation", "TurnPosition", "with_sent_ids"]

_TURNS = 10_000
_MEMBERS = ("role", "content", "tool_calls", "tool_call_id", "function_call", "refusal")
"""The members by which a turn is recognized; each bridge reads the reasoning that a program kept, in its own form."""
_NOTHING = Message("user")
_SHORT = 10_000
"""The size of the cache of parsed turns, in bytes of JSON."""


class TurnPosition(NamedTuple):
    """The position of a response: after a conversation of a caller."""

    caller: str
    digest: ConversationDigest


class RecalledConversation(NamedTuple):
    """The messages of a request, each with the stored turn that it shows, and the position of the response."""

    messages: list[tuple[Any, Message | None]]
    position: TurnPosition


class ChatTurns:
    """Keeps the last turns of a process: at most `turns` of them, and 64 MB of their JSON."""

    def __init__(self, turns: int = _TURNS) -> None:
        self._recent = RecentTurns(turns=turns)
        self._secret = token_bytes(32)

    def keep(self, position: TurnPosition, message: Message) -> None:
        """Stores a turn, if a program could lose a part of it."""
        if record := record_of(message, *position):
            self._recent.put(*record)

    def recall(self, messages: Iterable[Any], scope: str) -> RecalledConversation:
        """Finds the stored turns of a conversation; `scope` identifies the caller."""
        sent, caller = list(messages), self._caller(scope)
        request = Request("unknown", tuple(map(_read, sent)))
        restorer = TurnRestorer(request, caller, self._secret, edited_words=True)
        turns = restorer.recalled(self._recent.get(caller, restorer.wanted))
        recalled = list(_recalled(sent, request.messages, turns))
        return RecalledConversation(recalled, TurnPosition(caller, restorer.digest))

    def position(self, messages: Iterable[Any], scope: str) -> TurnPosition:
        """The position of the response to a conversation."""
        caller = self._caller(scope)
        digest = ConversationDigest(caller, self._secret)
        for message in messages:
            digest.add(_read(message))
        return TurnPosition(caller, digest)

    def clear(self) -> None:
        """Forgets everything."""
        self._recent.forget()
        _read_turn.cache_clear()

    def _caller(self, scope: str) -> str:
        """The scope contains API keys, which are never stored here."""
        data = scope.encode("utf-8", "surrogatepass")
        return blake2b(data, key=self._secret, digest_size=16).hexdigest()


def _read(message: Any) -> Message:
    """The visible content of a message; an empty message for a value that is not a chat message."""
    members = as_dict(message)
    members = {name: members[name] for name in _MEMBERS if name in members}
    try:
        if members.get("role") == "assistant":
            data = dump_json(members)
            return _read_turn(data) if len(data) < _SHORT else read_message(members)
        if not isinstance(members.get("content"), str):
            dump_json(members)  # raises if it is not JSON, which a digest needs
        return read_message(members)
    except (DecodeError, TypeError, ValueError):
        return _NOTHING


@lru_cache(maxsize=1000)
def _read_turn(data: bytes) -> Message:
    """A turn; parsing it is the most expensive step, and it comes again in every request."""
    return read_message(load_json(data))


def _recalled(
    messages: list[Any], read: tuple[Message, ...], turns: Iterable[RecalledTurns]
) -> Iterator[tuple[Any, Message | None]]:
    """The messages; a turn that was split is put together, and two that were merged are separated."""
    end = 0
    for turn in turns:
        yield from ((message, None) for message in messages[end : turn.start])
        yield from _whole_turns(messages, read, turn)
        yield from ((messages[number], None) for number in turn.results)
        end = turn.end
    yield from ((message, None) for message in messages[end:])


def _whole_turns(
    messages: list[Any], read: tuple[Message, ...], turn: RecalledTurns
) -> Iterator[tuple[Any, Message | None]]:
    numbers = [n for n in range(turn.start, turn.end) if n not in turn.results]
    pieces = [messages[number] for number in numbers]
    whole, turn_before = pieces[0], turn.turns[0]
    if len(pieces) > 1:
        members = {name: value for piece in pieces for name, value in piece.items() if value}
        if calls := [call for piece in pieces for call in as_list(piece.get("tool_calls"))]:
            members["tool_calls"] = calls
        text = without_blanks("".join(read[number].text for number in numbers))
        if text == without_blanks(turn_before.text):
            members["content"] = turn_before.text or None
        yield {**whole, **members}, turn_before
    elif len(turn.turns) == 1:
        yield whole, turn_before
    elif any(value for name, value in whole.items() if name not in _MEMBERS):
        yield whole, None  # it is unknown which of the two turns its other members belong to
    else:
        yield {"role": "assistant", "content": turn_before.text}, turn_before
        yield {**whole, "content": turn.turns[1].text or None}, turn.turns[1]


def with_sent_ids(originals: Iterable[Any], sent: Iterable[Any]) -> list[Any]:
    """The messages that are sent instead of others; their results name calls by the ids that are sent."""
    ids = RenamedCalls()
    renamed: list[Any] = []
    for original, message in zip(originals, sent, strict=True):
        if calls := _ids(original):
            ids.add(calls, _ids(message))
        if ids and as_dict(message).get("tool_call_id"):
            message = {**message, "tool_call_id": ids.host_id(message["tool_call_id"])}  # noqa: PLW2901 - the same message, renamed
        renamed.append(message)
    return renamed


def _ids(message: Any) -> list[str]:
    calls = as_list(as_dict(message).get("tool_calls"))
    return [str(as_dict(call).get("id") or "") for call in calls]
