"""Finds what is new in a request: an agent sends its whole history with each request, and a request log keeps every message once.

A request continues the one with which it shares the longest beginning; that beginning is not read.
"""

from __future__ import annotations

from hashlib import blake2b
from itertools import takewhile
from typing import NamedTuple

from innervoice.canon.bounded import Bounded
from innervoice.canon.jsontext import load_json
from innervoice.canon.messages import Message
from innervoice.canon.request import Request
from innervoice.conversation.body import DIGEST_BYTES, SplitBody
from innervoice.conversation.growth import Beginnings
from innervoice.conversation.stable import SYSTEM_MEMBERS
from innervoice.conversation.turns import RenamedCalls, call_ids, shown_turn
from innervoice.planning.encode import decode_request
from innervoice.wire.dialects import dialect_named

__all__ = ["MOST_SETTINGS", "LoggedGrowth", "LoggedSettings", "RequestChains"]

_PREVIOUS = "previous_response_id"
_PASSING = (_PREVIOUS, "metadata")
"""Members that differ in every request, and do not affect the answer."""
_MOST = 50_000
MOST_SETTINGS = 32
"""With many tools, settings are large."""


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


class LoggedGrowth(NamedTuple):
    """A request as its base, and what is new."""

    base: str | None
    shared: int
    """How many messages of the base it begins with."""
    has_answer: bool
    """Whether the answer to the base comes next."""
    new: tuple[Message, ...]
    settings: LoggedSettings | None
    """Its settings; None if they are the same as in the base."""


class LoggedSettings(NamedTuple):
    """What a request has besides its messages."""

    digest: bytes
    request: Request


class RequestChains:
    """The requests in one file. Raises ValueError, and any error of a dialect's reader, for a body that cannot be read."""

    def __init__(self) -> None:
        self._beginnings: Beginnings[_Beginning] = Beginnings(Bounded(_MOST))
        self._settings: Bounded[str, bytes] = Bounded(_MOST)
        self._read: Bounded[bytes, Request] = Bounded(MOST_SETTINGS)
        """Settings that were read; new conversations begin with the same ones."""
        self._answers: Bounded[str, _Answer] = Bounded(_MOST)
        self._responses: Bounded[str, str] = Bounded(_MOST)
        self._counts: Bounded[str, int] = Bounded(_MOST)

    def answered(self, id: str, answer: Message, response_id: str | None) -> None:  # noqa: A002 - the plain word
        """Adds the answer to a request."""
        if answer.parts:
            self._answers[id] = _Answer(_digest(answer), tuple(call_ids((answer,))))
        if response_id:
            self._responses[response_id] = id

    def growth(self, id: str, body: SplitBody, owner: str) -> LoggedGrowth:  # noqa: A002
        """What is new in a request; `owner` is what requests of one conversation have in common besides their beginning."""
        key = f"{owner}\0{body.dialect}\0".encode("utf-8", "surrogatepass")
        key += body.digest_of(SYSTEM_MEMBERS)
        start, base = self._base(body, key)
        digest = self._new_settings(id, base, body)
        read = None if digest is None else self._read.used(digest)
        if body.is_listed and (digest is None or read is not None):
            messages = body.messages(start)
        else:
            request = _request_of(body, start)
            messages = request.messages
            if digest is not None:
                read = self._read[digest] = request.replace(messages=(), model=body.model)
        shared = base.size if base else 0
        self._learn(id, body, key, start, shared, len(messages))
        has_answer, new = self._with_answer(base, messages)
        settings = LoggedSettings(digest, read) if digest is not None and read is not None else None
        return LoggedGrowth(base.id if base else None, shared, has_answer, new, settings)

    def _base(self, body: SplitBody, key: bytes) -> tuple[int, _Beginning | None]:
        """How many items of the request are known, and from where."""
        match = self._beginnings.longest(body, key, answered=False)
        if match is not None:
            return match
        previous = body.value(_PREVIOUS)
        request = self._responses.get(previous) if isinstance(previous, str) else None
        if request is None:
            return 0, None
        return 0, _Beginning(request, self._counts.get(request, 0), is_all=True, is_stored=True)

    def _new_settings(self, id: str, base: _Beginning | None, body: SplitBody) -> bytes | None:  # noqa: A002
        """A digest of the settings; None if they are the same as in the base."""
        name = f"{body.dialect}\0{body.model}\0".encode("utf-8", "surrogatepass")
        digest = self._settings[id] = name + body.digest_without(_PASSING)
        return None if base is not None and self._settings.get(base.id) == digest else digest

    def _learn(
        self,
        id: str,  # noqa: A002
        body: SplitBody,
        key: bytes,
        start: int,
        shared: int,
        new: int,
    ) -> None:
        self._counts[id] = shared + new
        end = len(body.items)
        if end - start == new:  # each item is a message
            for count in range(start + 1, end):
                beginning = _Beginning(id, shared + count - start, is_all=False)
                self._beginnings.add(body, key, beginning, count)
        self._beginnings.add(body, key, _Beginning(id, shared + new, is_all=True))

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
        return True, tuple(map(ids.with_host_ids, new[1:]))


def _request_of(body: SplitBody, start: int) -> Request:
    """The settings, and the items from a place on."""
    value = {name: body.value(name) for name in body.members if name != body.history}
    if body.is_listed:
        value[body.history] = [load_json(item) for item in body.items[start:]]
    elif body.history in body.members:
        value[body.history] = body.value(body.history)
    request = decode_request({**value, "model": body.model}, body.dialect)
    return (
        request if value.keys().isdisjoint(SYSTEM_MEMBERS) else _with_system(request, body.dialect)
    )


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


def _digest(turn: Message) -> bytes:
    return blake2b(shown_turn(turn).data, digest_size=DIGEST_BYTES).digest()
