"""Finds what is new in a request: an agent sends its whole history with each request, and a request log keeps every message once.

Messages are compared byte by byte, one after the other, without cache marks, which move. A request continues the one with which it shares
the longest beginning; that beginning is not read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from itertools import takewhile
from typing import Any, NamedTuple

from innervoice.canon.bounded import Bounded
from innervoice.canon.jsontext import load_json, split_items, split_members
from innervoice.canon.messages import Message
from innervoice.canon.request import Request
from innervoice.memory.changed_turns import RenamedCalls, call_ids
from innervoice.memory.turn_keys import shown
from innervoice.planning.encode import decode_request
from innervoice.wire.dialects import dialect_named

__all__ = ["Growth", "RequestChains"]

_MARK = re.compile(rb',\s*"cache_control"\s*:\s*\{[^{}]*\}')
_BILLING = re.compile(rb'x-anthropic-billing-header:[^"]*')
"""A line of Claude Code's system prompt that differs in every request."""
_SYSTEM = ("system", "systemInstruction", "system_instruction", "instructions")
_PREVIOUS = "previous_response_id"
_PASSING = frozenset({_PREVIOUS, "metadata"})
"""Members that differ in every request, and do not affect the answer."""
_SIZE = 16
_MOST = 50_000
_LOOKED_AT = 64
"""How many messages at the end may be new; with more, a request is written as a whole."""


class _Beginning(NamedTuple):
    """A known beginning: the request that it belongs to, and the number of its messages."""

    id: str
    size: int
    is_all: bool
    """Whether it is all of that request."""
    is_stored: bool = False
    """Whether the request refers to the answer by its id instead of sending it."""


class _Answer(NamedTuple):
    """What is kept of an answer, to recognize it later."""

    shown: bytes
    """A digest of its text and calls."""
    calls: tuple[str, ...]


class Growth(NamedTuple):
    """A request as its base, and what is new."""

    base: str | None
    kept: int
    """How many messages of the base it begins with."""
    has_answer: bool
    """Whether the answer to the base comes next."""
    new: tuple[Message, ...]
    settings: Request | None
    """Its settings; None if they are the same as in the base."""


class RequestChains:
    """The requests in one file. Raises ValueError, and any error of a dialect's reader, for a body that cannot be read."""

    def __init__(self) -> None:
        self._places: Bounded[bytes, _Beginning] = Bounded(_MOST)
        self._settings: Bounded[str, bytes] = Bounded(_MOST)
        self._answers: Bounded[str, _Answer] = Bounded(_MOST)
        self._responses: Bounded[str, str] = Bounded(_MOST)
        self._counts: Bounded[str, int] = Bounded(_MOST)

    def answered(self, id: str, answer: Message, response_id: str | None) -> None:  # noqa: A002 - the plain word
        """Adds the answer to a request."""
        if answer.parts:
            self._answers[id] = _Answer(_digest(answer), tuple(call_ids((answer,))))
        if response_id:
            self._responses[response_id] = id

    def growth(self, id: str, body: bytes, dialect: str, model: str, owner: str) -> Growth:  # noqa: A002
        """What is new in a request; `owner` is what requests of one conversation have in common besides their beginning."""
        members = split_members(body)
        history = dialect_named(dialect).history
        items: list[Any] = []
        if history in members and bytes(members[history]).lstrip().startswith(b"["):
            items = split_items(members[history])
        digests = self._digests(items, members, f"{owner}\0{dialect}")
        base, start = self._base(digests, members)
        rest = {name: value for name, value in members.items() if name != history}
        settings = self._changed_settings(id, base, rest)
        value = {name: load_json(data) for name, data in rest.items()} if settings else {}
        if items:
            value[history] = [load_json(item) for item in items[start:]]
        elif history in members:
            value[history] = load_json(members[history])
        request = decode_request({**value, "model": model}, dialect)
        if not value.keys().isdisjoint(_SYSTEM):
            request = _with_system(request, dialect)
        new = request.messages
        base_size = base.size if base else 0
        self._learn(id, digests, start, base_size, len(new))
        has_answer, new = self._with_answer(base, new)
        settings_only = request.replace(messages=(), model=model) if settings else None
        return Growth(base.id if base else None, base_size, has_answer, new, settings_only)

    def _digests(self, items: Sequence[Any], members: Mapping[str, Any], owner: str) -> list[bytes]:
        """The digest of each beginning, the shortest first; b"" for those that are not checked."""
        digest = blake2b(owner.encode("utf-8", "surrogatepass"), digest_size=_SIZE)
        for name in _SYSTEM:
            if name in members:
                digest.update(_BILLING.sub(b"", _MARK.sub(b"", bytes(members[name]))))
        pieces = [b"\0" + _unmarked(bytes(item)) for item in items]
        # Most of a long history is digested at once: the base of a request is near its end.
        first = max(0, len(pieces) - _LOOKED_AT)
        digest.update(b"".join(pieces[:first]))
        digests = [b""] * first
        for piece in pieces[first:]:
            digest.update(piece)
            digests.append(digest.copy().digest())
        return digests

    def _base(
        self, digests: list[bytes], members: Mapping[str, Any]
    ) -> tuple[_Beginning | None, int]:
        """The longest known beginning, and how many items it has."""
        for number in range(len(digests), max(0, len(digests) - _LOOKED_AT), -1):
            if place := self._places.get(digests[number - 1]):
                return place, number
        previous = load_json(members[_PREVIOUS]) if _PREVIOUS in members else None
        answered_request = self._responses.get(previous) if isinstance(previous, str) else None
        if answered_request is None:
            return None, 0
        return _Beginning(
            answered_request, self._counts.get(answered_request, 0), is_all=True, is_stored=True
        ), 0

    def _changed_settings(
        self,
        id: str,  # noqa: A002
        base: _Beginning | None,
        members: Mapping[str, Any],
    ) -> bool:
        hashed = blake2b(digest_size=_SIZE)
        for name, data in members.items():
            if name not in _PASSING:
                hashed.update(f"\0{name}\0".encode("utf-8", "surrogatepass"))
                hashed.update(_BILLING.sub(b"", bytes(data)))
        digest = hashed.digest()
        self._settings[id] = digest
        return base is None or self._settings.get(base.id) != digest

    def _learn(self, id: str, digests: list[bytes], start: int, kept: int, new: int) -> None:  # noqa: A002
        self._counts[id] = kept + new
        if not digests:
            return
        if len(digests) - start == new:  # each item is a message
            for number in range(max(start, len(digests) - _LOOKED_AT), len(digests) - 1):
                place = _Beginning(id, kept + number - start + 1, is_all=False)
                self._places[digests[number]] = place
        self._places[digests[-1]] = _Beginning(id, kept + new, is_all=True)

    def _with_answer(
        self, base: _Beginning | None, new: tuple[Message, ...]
    ) -> tuple[bool, tuple[Message, ...]]:
        """Whether the answer to the base comes next, as the client got it, and what follows it."""
        answer = self._answers.get(base.id) if base and base.is_all else None
        if base is None or answer is None:
            return False, new
        if base.is_stored:
            return True, new
        if not new or new[0].role != "assistant" or _digest(new[0]) != answer.shown:
            return False, new
        ids = RenamedCalls()
        ids.add(call_ids(new[:1]), answer.calls)
        return True, tuple(map(ids.with_own, new[1:]))


def _with_system(request: Request, dialect: str) -> Request:
    """A request whose system prompt is one of its settings, if its API has it separate from the messages."""
    if not dialect_named(dialect).system_apart:
        return request
    start = list(takewhile(lambda message: message.role == "system", request.messages))
    if not start:
        return request
    texts = [request.system or "", *(message.text for message in start)]
    system = "\n\n".join(filter(None, texts))
    return request.replace(system=system, messages=request.messages[len(start) :])


def _unmarked(data: bytes) -> bytes:
    return _MARK.sub(b"", data) if b"cache_control" in data else data


def _digest(turn: Message) -> bytes:
    return blake2b(shown(turn), digest_size=_SIZE).digest()
