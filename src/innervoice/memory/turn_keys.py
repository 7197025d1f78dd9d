"""What a turn is found by: keyed digests of what a program shows of it, and of the conversation before it.

    place      everything before the turn, the system prompt too, and the turn as it is shown
    history    the same without the system prompt, which some programs change or drop
    calls      the ids, names and arguments of the calls of the turn
    question   the last words of the user, and the calls: for conversations whose beginning was cut off

All of it is made from our own messages, not from a provider's JSON, so a turn that was stored through one API is found through another.
Programs write a text as a string or as a list of blocks, move cache marks, sort the members of arguments and trim white space: none of
that changes a digest. Neither do the ids of calls, but for the key that is made of them, because some APIs have none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from copy import copy
from hashlib import blake2b
from typing import Any, NamedTuple

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.messages import Message
from innervoice.canon.parts import Media, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from innervoice.canon.request import Request

__all__ = [
    "ConversationDigest",
    "TurnKeys",
    "conversation_start",
    "keys_of_turns",
    "shown",
    "shown_calls",
    "shown_text",
]

_SIZE = 16
_COUNTED = re.compile(r"[^0-9]*[0-9]{0,5}")
_NOISE = ("x-anthropic-billing-header:",)
"""Lines that a program puts into the system prompt, and that differ in every request."""


class TurnKeys(NamedTuple):
    """The keys of one turn, the most exact first; a turn without calls has only two."""

    place: bytes
    history: bytes
    calls: bytes | None = None
    question: bytes | None = None

    @property
    def all(self) -> list[bytes]:
        """Those that it has."""
        return [key for key in self if key is not None]


class ConversationDigest:
    """Reads a conversation message by message, and gives the keys of the turn that would stand next."""

    def __init__(self, tenant: str, secret: bytes, system: str | None = None) -> None:
        self._secret = secret
        self._tenant = _bytes(tenant)
        self._system = [_plain(system or "")]
        self._before = self._digest(b"start")
        self._texts: list[str] = []
        self._results: dict[tuple[str, str], None] = {}  # Gemini CLI sends some twice
        self._question = b""

    def copy(self) -> ConversationDigest:
        """The same place in the conversation, to go on from."""
        return copy(self)  # nothing that it holds is changed in place

    def add(self, message: Message) -> None:
        """Takes the next message."""
        if message.role == "assistant":
            self._before = self._digest(b"turn", self._before, self._between(), _shown(message))
            self._texts, self._results = [], {}
            return
        if message.role == "system":
            said = (text for text in map(_system_text, message.parts) if text)
            self._system = [*self._system, *said]
            return
        for part in message.parts:
            if isinstance(part, ToolResult):
                self._results = {**self._results, (part.call_id, _result_text(part)): None}
            elif spoken := _said(part):
                self._texts = [*self._texts, spoken]
        if self._texts:
            self._question = self._digest(b"question", _bytes("".join(self._texts)))

    def keys(self, message: Message) -> TurnKeys:
        """The keys of a turn of the model at this place."""
        shown, between = _shown(message), self._between()
        system = _bytes("".join(self._system))
        place = self._digest(b"place", system, self._before, between, shown)
        history = self._digest(b"history", self._before, between, shown)
        calls = message.tool_calls
        if not calls:
            return TurnKeys(place, history)
        named = dump_json(sorted((call.id, *shown_call(call)) for call in calls))
        is_named = all(map(_is_named, calls))
        return TurnKeys(
            place,
            history,
            self._digest(b"calls", named) if is_named else None,
            self._digest(b"asked", self._question, shown),
        )

    @property
    def start(self) -> str:
        """What all requests of a conversation share, if the messages up to the first of the user were added."""
        return self._digest(b"start", _bytes("".join(self._system)), self._between()).hex()

    def _between(self) -> bytes:
        """What was said since the last turn; results in any order."""
        return dump_json(["".join(self._texts), sorted(text for _, text in self._results)])

    def _digest(self, *facts: bytes) -> bytes:
        made = blake2b(self._tenant, key=self._secret, digest_size=_SIZE)
        for fact in facts:
            made.update(len(fact).to_bytes(8, "little"))
            made.update(fact)
        return made.digest()


def shown(message: Message) -> bytes:
    """The words and the calls of a turn, without the ids of the calls."""
    return _shown(message)


def shown_text(message: Message) -> str:
    """The words of a turn, as programs keep them."""
    return _plain(message.text)


def shown_calls(message: Message) -> list[tuple[str, str]]:
    """Name and arguments of each call of a turn."""
    return [shown_call(call) for call in message.tool_calls]


def shown_call(call: ToolCall) -> tuple[str, str]:
    """Name and arguments of a call; programs parse the arguments and write them again."""
    return call.name, _sorted_json(call.arguments)


def _is_named(call: ToolCall) -> bool:
    """Whether the id of a call is like no other: not one that was made up here, and no count as `call_1` or `functions.read:0`."""
    is_invented = call.origin is not None and "id" in call.origin.invented
    return not is_invented and not _COUNTED.fullmatch(call.id)


_last_shown: list[tuple[Message | None, bytes]] = [(None, b"")]
"""The last message and what it shows, which is asked for several times in a row and costs more than all else."""


def _shown(message: Message) -> bytes:
    known, data = _last_shown[0]
    if known is not message:
        data = dump_json([shown_text(message), shown_calls(message)])
        _last_shown[0] = (message, data)  # at once, for other threads
    return data


def _said(part: Part) -> str:
    """What a part of a user's message says."""
    match part:
        case Text():
            return _plain(part.text)
        case Media():
            return _short(part.data or part.url or "")
        case Opaque():
            return _short(dump_json(part.value).decode())
        case Thinking() | ToolCall() | ToolResult():
            return ""


def _system_text(part: Part) -> str:
    said = _said(part)
    return "" if said.startswith(_NOISE) else said


def _result_text(result: ToolResult) -> str:
    if isinstance(result.content, str):
        return _plain(result.content)
    return "".join(map(_said, result.content))


def _bytes(text: str) -> bytes:
    """A text for a digest; JSON may hold half of a character."""
    return text.encode("utf-8", "surrogatepass")


def _plain(text: str) -> str:
    text = text.strip()
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _short(data: str) -> str:
    """A digest in place of the data of a file."""
    return blake2b(data.encode("utf-8", "surrogatepass"), digest_size=_SIZE).hexdigest()


def _sorted_json(arguments: str) -> str:
    try:
        value = load_json(arguments) if arguments else {}
    except ValueError:
        return arguments.strip()
    return dump_json(_sorted(value)).decode()


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def keys_of_turns(messages: Iterable[Message], digest: ConversationDigest) -> list[TurnKeys | None]:
    """The keys of each turn of a conversation; None for messages of others. The digest then stands behind all of them."""
    found: list[TurnKeys | None] = []
    for message in messages:
        found.append(digest.keys(message) if message.role == "assistant" else None)
        digest.add(message)
    return found


def conversation_start(request: Request, tenant: str, secret: bytes) -> str:
    """A name for a conversation, made of how it begins: the same in all its requests."""
    digest = ConversationDigest(tenant, secret, request.system)
    for message in request.messages:
        digest.add(message)
        if message.role == "user":
            break
    return digest.start
