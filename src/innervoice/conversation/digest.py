"""The keys of a turn: keyed digests of what a program shows of it, and of the conversation before it.

    place      everything before the turn, including the system prompt, and the turn as it is shown
    follows    everything before the turn except the system prompt, which some programs change or drop; whatever the turn says
    calls      the ids, names and arguments of the calls of the turn
    question   the last message of the user, and the calls: for conversations whose beginning was cut off

A turn with several calls is also stored under a key of its first call, because some programs split a turn into one turn per call.

All keys are computed from our own messages, not from a provider's JSON, so a turn that was stored through one API is found through another.
Programs write a text as a string or as a list of blocks, move cache marks, sort the members of arguments and trim white space: none of
that changes a digest. Neither do the ids of calls, except in the key that consists of them, because some APIs have no ids.

Before a turn, a conversation is a sequence of user texts, model texts, and calls with their results. The boundaries between turns do not
count: some programs merge turns, split one, or make a turn of every call.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple

from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message
from innervoice.canon.parts import Media, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from innervoice.canon.request import Request
from innervoice.conversation.stable import unbilled_text
from innervoice.conversation.turns import VisibleTurn, plain_text, shown_turn, without_blanks

__all__ = [
    "CROWD",
    "ConversationDigest",
    "TurnKeys",
    "conversation_start",
    "keys_of_turns",
]

CROWD = 16
"""A key that more turns than this have identifies none of them. A tenant may ask the same question a thousand times."""

_SIZE = 16
_COUNTED = re.compile(r"[^0-9]*[0-9]{0,5}")
"""Ids that are not unique: counters such as `call_1` or `functions.read:0`, and those that innervoice generated."""


class TurnKeys(NamedTuple):
    """The keys of one turn, the most exact first; a turn without calls has only two."""

    place: bytes
    follows: bytes
    calls: bytes | None = None
    question: bytes | None = None

    @property
    def all(self) -> list[bytes]:
        """The keys that exist."""
        return [key for key in self if key is not None]


class ConversationDigest:
    """Reads a conversation message by message, and returns the keys of a turn at the current position."""

    def __init__(
        self, tenant: str, secret: bytes, system: str | None = None, *, as_before: bool = False
    ) -> None:
        """With `as_before` the keys are those of version 0.2.1."""
        self._secret = secret
        self._tenant = _bytes(tenant)
        self._unbilled = _unbilled_before if as_before else unbilled_text
        self._system = [plain_text(system or "" if as_before else unbilled_text(system or ""))]
        self._prompt: bytes | None = None
        """The digest of the system prompt, once it was requested."""
        self._before = self._digest(b"start")
        """All but the last turns, and the text since then."""
        self._turns: list[VisibleTurn] = []
        self._results: dict[tuple[str, str], None] = {}  # Gemini CLI sends some twice
        self._texts: list[str] = []
        self._question = b""
        self.run: str | None = None
        """What the stored turns of the conversation share in their ids; None if there are none."""

    def copy(self) -> ConversationDigest:
        """A copy at the same position in the conversation, to continue from."""
        digest = object.__new__(ConversationDigest)
        # Only state that changes in place is copied; a generic copy takes longer than all digests of a turn.
        vars(digest).update(
            vars(self),
            _system=[*self._system],
            _texts=[*self._texts],
            _results={**self._results},
            _turns=[*self._turns],
        )
        return digest

    def add(self, message: Message) -> None:
        """Adds the next message."""
        if message.role == "assistant":
            self._advance()
            self._turns.append(shown_turn(message))
            return
        if message.role == "system":
            self._system += filter(None, map(self._system_text, message.parts))
            self._prompt = None
            return
        for part in message.parts:
            if isinstance(part, ToolResult):
                self._results[part.call_id, _result_text(part)] = None
            elif spoken := _text_of(part):
                self._texts.append(spoken)
        if self._texts:
            self._question = self._digest(b"question", _bytes("".join(self._texts)))

    def keys(self, message: Message) -> TurnKeys:
        """The keys of a turn of the model at this position."""
        self._advance()
        visible, follows = shown_turn(message), self._before
        last = self._turns[-1].data if self._turns else b""
        if self._prompt is None:
            self._prompt = self._digest(b"system", _bytes("".join(self._system)))
        place = self._digest(b"place", self._prompt, follows, last, visible.data)
        if not visible.calls:
            return TurnKeys(place, follows)
        return TurnKeys(
            place,
            follows,
            self._key_of_calls(visible.ids, visible.calls),
            self._key_of_question(visible.calls),
        )

    def keys_to_store(self, message: Message) -> list[bytes]:
        """The keys under which a turn at this position is stored."""
        keys, visible = self.keys(message).all, shown_turn(message)
        if len(visible.calls) > 1:
            of_calls = self._key_of_calls(visible.ids[:1], visible.calls[:1])
            keys.append(of_calls or self._key_of_question(visible.calls[:1]))
        return keys

    @property
    def start(self) -> str:
        """A digest that all requests of a conversation share, if the messages up to the first user message were added."""
        question = dump_json(["".join(self._texts), sorted(text for _, text in self._results)])
        return self._digest(b"start", _bytes("".join(self._system)), question).hex()

    def _system_text(self, part: Part) -> str:
        """The content of a part of a system message."""
        if isinstance(part, Text):
            return plain_text(self._unbilled(part.text))
        return _text_of(part)

    def _key_of_calls(self, ids: list[str], calls: list[tuple[str, str]]) -> bytes | None:
        """None if these ids may not be unique."""
        if any(map(_COUNTED.fullmatch, ids)):
            return None
        calls_by_id = sorted((name, *call) for name, call in zip(ids, calls, strict=True))
        return self._digest(b"calls", dump_json(calls_by_id))

    def _key_of_question(self, texts: list[tuple[str, str]]) -> bytes:
        return self._digest(b"asked", self._question, dump_json(texts))

    def _advance(self) -> None:
        """Adds the last turns and the text since then to the digest, if there is any text."""
        if not self._texts and not self._results:
            return
        before, digest = self._before, self._digest
        if text := without_blanks("".join([turn.text for turn in self._turns])):
            before = digest(b"turn", before, _bytes(text))
        ids = {name for turn in self._turns for name in turn.ids}
        results: dict[str, list[str]] = {}
        for name, result in self._results:
            results.setdefault(name if name in ids else "", []).append(result)
        unnamed = iter(results.pop("", ()))  # some programs lose the ids
        for turn in self._turns:
            for name, call in zip(turn.ids, turn.calls, strict=True):
                own_results = sorted(results.get(name, ())) or [*islice(unnamed, 1)]
                before = digest(b"call", before, dump_json([call, own_results]))
        if rest := sorted(unnamed):
            before = digest(b"results", before, dump_json(rest))
        if self._texts:
            before = digest(b"user", before, _bytes("".join(self._texts)))
        self._before = before
        self._turns, self._texts, self._results = [], [], {}

    def _digest(self, *facts: bytes) -> bytes:
        pieces = [self._tenant]
        for fact in facts:
            pieces += (len(fact).to_bytes(8, "little"), fact)
        return blake2b(b"".join(pieces), key=self._secret, digest_size=_SIZE).digest()


def _text_of(part: Part) -> str:
    """The content of a part of a user message."""
    match part:
        case Text():
            return plain_text(part.text)
        case Media():
            return _short(part.data or part.url or "")
        case Opaque():
            return _short(dump_json(part.value).decode())
        case Thinking() | ToolCall() | ToolResult():
            return ""


def _unbilled_before(text: str) -> str:
    """A text of a system prompt as version 0.2.1 read it: all of one that begins with a billing line was left out."""
    return "" if unbilled_text(text) != text else text


def _result_text(result: ToolResult) -> str:
    if isinstance(result.content, str):
        return plain_text(result.content)
    return "".join(map(_text_of, result.content))


def _bytes(text: str) -> bytes:
    """A text for a digest; JSON may contain a lone surrogate."""
    return text.encode("utf-8", "surrogatepass")


def _short(data: str) -> str:
    """A digest in place of the data of a file."""
    return blake2b(data.encode("utf-8", "surrogatepass"), digest_size=_SIZE).hexdigest()


def keys_of_turns(messages: Iterable[Message], digest: ConversationDigest) -> list[TurnKeys | None]:
    """The keys of each turn of a conversation; None for other messages. Afterwards the digest covers all of them."""
    keys: list[TurnKeys | None] = []
    for message in messages:
        keys.append(digest.keys(message) if message.role == "assistant" else None)
        digest.add(message)
    return keys


def conversation_start(request: Request, tenant: str, secret: bytes) -> str:
    """A name for a conversation, derived from its beginning: the same in all its requests."""
    digest = ConversationDigest(tenant, secret, request.system)
    for message in request.messages:
        digest.add(message)
        if message.role == "user":
            break
    return digest.start
