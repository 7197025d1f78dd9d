"""Requests that are forwarded unchanged without being read: an agent sends the same settings and the same beginning again and again.

When a request went through on the byte path, its settings are known to need no change, and so is its conversation up to its end. The next
request of the conversation adds the answer and something new. Only these are read: if the answer is complete, as the client got it, and
the rest needs no change either, the whole body is forwarded. In any other case the whole request is read (`client_request.py`).

    body ──► members and messages, unread ──► settings known? beginning known? ──► read the new messages ──► the same bytes

Cache marks move with every request and carry no content; digests leave them out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING, Any, TypeVar

from innervoice.canon.bounded import Bounded
from innervoice.canon.jsontext import dump_json, load_json, split_items, split_members
from innervoice.canon.messages import Message, Role
from innervoice.canon.parts import Part, Text, Thinking, ToolResult
from innervoice.canon.request import Request, Wire
from innervoice.gateway.byte_path import with_model
from innervoice.gateway.endpoints import Front
from innervoice.memory.restoring import seals_of
from innervoice.memory.turn_keys import ConversationDigest, shown
from innervoice.planning.encode import decode_request
from innervoice.wire.dialects import dialect_named

if TYPE_CHECKING:
    from innervoice.gateway.routes import Candidate

__all__ = ["KnownRequests", "KnownWay", "SplitRequest", "is_simple"]

_SIZE = 16
_MARK = re.compile(rb',\s*"cache_control"\s*:\s*\{[^{}]*\}')
_NEW = 24
"""How many messages at the end may be new; with more, reading the whole request costs no more."""
_MOST = 20_000

Key = TypeVar("Key")
Value = TypeVar("Value")


class SplitRequest:
    """A body, divided into members and messages that are not read."""

    def __init__(self, front: Front, body: bytes, tenant: str) -> None:
        """Raises ValueError for a body without messages."""
        self.front, self.body, self.tenant = front, body, tenant
        self.history = dialect_named(front.dialect).history
        self.members = split_members(body)
        self.messages = split_items(self.members[self.history])
        self.name = front.model or str(load_json(self.members["model"]))
        settings = blake2b(f"{tenant}\0{front}".encode(), digest_size=_SIZE)
        for name, value in self.members.items():
            if name not in (self.history, "model"):
                settings.update(f"\0{name}\0".encode("utf-8", "surrogatepass"))
                settings.update(value)
        self._settings = settings.digest()
        self._digests: dict[int, bytes] | None = None

    @property
    def stream(self) -> bool:
        """Whether the client wants a stream."""
        if self.front.stream is not None:
            return self.front.stream
        value = self.members.get("stream")
        usual = dialect_named(self.front.dialect).streams_unasked
        return usual if value is None else bool(load_json(value))

    def first_words(self) -> bytes:
        """How the conversation begins, without cache marks."""
        return _MARK.sub(b"", bytes(self.messages[0])) if self.messages else b""

    def settings(self, candidate: Candidate) -> bytes:
        """The digest of everything but the conversation, at a candidate."""
        return self._settings + repr(candidate.key).encode()

    def digests(self) -> dict[int, bytes]:
        """Numbers of messages, the last ones -> the digest of the conversation up to there."""
        if self._digests is None:
            messages = self.messages
            if b"cache_control" in self.body:
                messages = [_MARK.sub(b"", bytes(message)) for message in messages]
            first = max(0, len(messages) - _NEW)
            # No JSON contains the byte 0, so it separates messages; most of them are digested at once, because a history may be long.
            digest = sha256(b"\0".join((self._settings, *messages[:first])))
            self._digests = {}
            for number, message in enumerate(messages[first:], first + 1):
                digest.update(b"\0")
                digest.update(message)
                self._digests[number] = digest.copy().digest()
        return self._digests

    def read(self, messages: list[Any]) -> Request:
        """A request with these messages alone; no setting changes how a message is read."""
        return decode_request({"model": self.name, self.history: messages}, self.front.dialect)


@dataclass(frozen=True, slots=True)
class _Settings:
    """Settings that need no change at a candidate."""

    request: Request
    """The request, without its messages."""
    wire: Wire
    """What was sent, without its body."""
    start: ConversationDigest


@dataclass(frozen=True, slots=True)
class _Turn:
    """A conversation that needs no change, with the answer to it."""

    behind: ConversationDigest
    """The conversation, including the answer."""
    calls: tuple[str, ...]
    """The ids of the calls in the answer."""
    proof: bytes
    """A digest of everything in the answer that the client has to send back."""
    kept: int
    """Pieces of reasoning in the conversation and in the answer."""


@dataclass(frozen=True, slots=True)
class KnownWay:
    """How a request is forwarded unchanged."""

    body: bytes
    request: Request
    wire: Wire
    digest: ConversationDigest
    kept: int


class KnownRequests:
    """What is known about requests that were forwarded unchanged, in one process."""

    def __init__(self) -> None:
        self._settings: Bounded[bytes, _Settings] = Bounded(_MOST)
        self._turns: Bounded[bytes, _Turn] = Bounded(_MOST)

    def clear(self) -> None:
        """Forgets everything: another configuration may change which requests are forwarded unchanged."""
        self._settings.clear()
        self._turns.clear()

    def forget(self, split: SplitRequest, candidate: Candidate) -> None:
        """Handles the refusal of a request with these settings: they are learned anew."""
        self._settings.pop(split.settings(candidate), None)

    def find(self, split: SplitRequest, candidate: Candidate) -> KnownWay | None:
        """How a request is forwarded to a candidate; None for one that must be read."""
        settings = self._settings.used(split.settings(candidate))
        if settings is None:
            return None
        turn, new = self._beginning(split, candidate)
        read = _Reading(split, settings, turn).read(new)
        if read is None:
            return None
        value = {"model": load_json(split.members["model"])} if "model" in split.members else {}
        body = with_model(split.body, value, candidate.target.model)
        if body is None:
            return None
        digest, kept = read
        return KnownWay(body, settings.request, settings.wire, digest, kept)

    def _beginning(
        self, split: SplitRequest, candidate: Candidate
    ) -> tuple[_Turn | None, list[Any]]:
        """The longest known beginning, and the messages after it."""
        end = candidate.target.model.encode()
        count = len(split.messages)
        for number, digest in reversed(split.digests().items()):
            # A known conversation is followed by its answer; without one, the same request is sent once more.
            if number < count and (turn := self._turns.used(digest + end)):
                return turn, split.messages[number:]
        return None, split.messages

    def learn(
        self,
        split: SplitRequest,
        candidate: Candidate,
        request: Request,
        wire: Wire,
        start: ConversationDigest,
    ) -> None:
        """Remembers that the settings of a request needed no change."""
        bare = request.replace(messages=())
        settings = _Settings(bare, wire.replace(body={}, notes=(), prefix=None), start)
        self._settings[split.settings(candidate)] = settings

    def continued(
        self,
        split: SplitRequest,
        candidate: Candidate,
        digest: ConversationDigest,
        answer: Message,
        kept: int,
    ) -> None:
        """Remembers a conversation that needed no change and was answered."""
        end = split.digests().get(len(split.messages))
        if end is None:
            return
        behind = digest.copy()
        behind.add(answer)
        calls = tuple(call.id for call in answer.tool_calls)
        turn = _Turn(behind, calls, _proof(answer), kept + sum(map(_is_reasoning, answer.parts)))
        self._turns[end + candidate.target.model.encode()] = turn


class _Reading:
    """Reads the new messages of a request."""

    def __init__(self, split: SplitRequest, settings: _Settings, turn: _Turn | None) -> None:
        self._split = split
        self._turn = turn
        self._digest = (turn.behind if turn else settings.start).copy()

    def read(self, new: list[Any]) -> tuple[ConversationDigest, int] | None:
        """The conversation with the new messages, and how much reasoning it has; None if something may have to change."""
        messages = [load_json(message) for message in new]
        if self._turn is None:
            return (self._digest, 0) if messages and all(map(self._is_plain, messages)) else None
        try:
            first, *rest = self._split.read(messages).messages
        except Exception:  # noqa: BLE001 - the long way says what is wrong
            return None
        if first.role != "assistant" or self._turn.proof != _proof(first):
            return None
        if not all(map(is_simple, rest)) or not self._is_answered(rest):
            return None
        for message in rest:
            self._digest.add(message)
        return self._digest, self._turn.kept

    def _is_answered(self, rest: list[Message]) -> bool:
        """Whether each call of the answer has one result."""
        parts = [part for message in rest for part in message.parts]
        results = [part.call_id for part in parts if isinstance(part, ToolResult)]
        return self._turn is not None and sorted(self._turn.calls) == sorted(results)

    def _is_plain(self, message: Any) -> bool:
        """Whether a message is only text, of the user or of the system prompt."""
        role: Role = "user"
        match message:
            case {"role": "user", "content": str(text), **rest} if not rest:
                pass
            case {"role": "system" | "developer", "content": str(text), **rest} if not rest:
                role = "system"
            case {"role": "user", "parts": [{"text": str(text), **more}], **rest} if not (
                rest or more
            ):
                pass
            case _:
                return False
        self._digest.add(Message(role, (Text(text),)))
        return bool(text.strip())


def _proof(turn: Message) -> bytes:
    """A digest of the visible content of a turn, and of its reasoning, in order."""
    lines = [
        [part.text if isinstance(part, Thinking) else "", *seals_of(part)]
        for part in turn.parts
        if _is_reasoning(part)
    ]
    ids = [call.id for call in turn.tool_calls]
    return blake2b(shown(turn) + dump_json([ids, lines]), digest_size=_SIZE).digest()


def _is_reasoning(part: Part) -> bool:
    return isinstance(part, Thinking) or any(seals_of(part))


def is_simple(message: Message) -> bool:
    """Whether a user message has only texts and text results, which go to every model unchanged."""
    return message.role in ("user", "tool") and all(map(_is_words, message.parts))


def _is_words(part: Part) -> bool:
    if isinstance(part, ToolResult):
        content = part.content
        return isinstance(content, str) or all(isinstance(held, Text) for held in content)
    return isinstance(part, Text) and bool(part.text.strip())
