"""The body of a request -> its members and the items of its conversation, unread, and the digests by which it is recognized.

An agent sends the same settings and the same beginning again and again. A body is split once; whoever asks what is new in it (the gateway,
the request log) uses the same pieces and the same digests. No JSON contains the byte 0, so it separates the pieces of a digest.

No digest contains what moves from request to request (`stable.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from copy import copy
from functools import cached_property
from hashlib import blake2b, sha256
from typing import Any

from innervoice.canon.jsontext import (
    dump_json,
    load_finite_json,
    load_json,
    split_items,
    split_members,
)
from innervoice.canon.messages import Message, Role
from innervoice.canon.parts import Text
from innervoice.conversation.stable import (
    SYSTEM_MEMBERS,
    billing_line_in,
    has_cache_mark,
    unbilled_json,
    unmarked_json,
    unmarked_message,
)
from innervoice.wire.dialects import dialect_named, request_reader_of

__all__ = ["DIGEST_BYTES", "SplitBody"]

DIGEST_BYTES = 16
_BEGINNING = 200
"""So many bytes of a conversation are looked for; in a body that has them twice its place is not known."""
_NEAR = 64
"""How many items at the end may be new; with more, reading the whole request costs no more than looking for its beginning."""
_NEXT = 6
"""How many are new in nearly all requests: an answer, the results of its calls, and a question."""


class SplitBody:
    """A body, divided into members and items that are not read."""

    def __init__(self, body: bytes, dialect: str, model: str | None = None) -> None:
        """`model` is its name where the path has it; raises ValueError for a body that is not a JSON object."""
        self.body, self.dialect = body, dialect
        self.history = dialect_named(dialect).history
        """The member that has the conversation."""
        self.members = split_members(body)
        self.model = model or str(self.value("model") or "")
        conversation = self.members.get(self.history)
        self.is_listed = conversation is not None and bytes(memoryview(conversation)[:1]) == b"["
        """Whether the conversation is a list; some APIs accept a text."""
        self.items: list[Any] = split_items(conversation) if self.is_listed else []
        self._questions: dict[int, Message | None] = {}
        self._messages: dict[tuple[int, int], tuple[Message, ...]] = {}

    @cached_property
    def frame(self) -> tuple[bytes, bytes]:
        """What comes before the conversation and what follows it; all of the body and nothing, if its place cannot be told soon."""
        conversation = bytes(self.members.get(self.history, b""))
        start = self.body.find(conversation[:_BEGINNING])
        if not conversation or not self.body.startswith(conversation, start):
            return self.body, b""
        return self.body[:start], self.body[start + len(conversation) :]

    def value(self, name: str) -> Any:
        """A member, read; None if there is none."""
        data = self.members.get(name)
        return None if data is None else load_json(data)

    @cached_property
    def has_marks(self) -> bool:
        """Whether it contains cache marks."""
        return has_cache_mark(self.body)

    @cached_property
    def marked_items(self) -> tuple[tuple[int, bytes], ...]:
        """The numbers of the items that contain cache marks, each with its bytes."""
        if not self.has_marks:
            return ()
        items = enumerate(map(bytes, self.items))
        return tuple([(number, item) for number, item in items if has_cache_mark(item)])

    @cached_property
    def marked_settings(self) -> tuple[bytes, ...]:
        """The members besides the conversation that contain cache marks, without a billing line."""
        if not self.has_marks:
            return ()
        names = (name for name in self.members if name != self.history)
        members = ((name, bytes(self.members[name])) for name in names)
        return tuple(_unbilled(name, data) for name, data in members if has_cache_mark(data))

    @cached_property
    def opening(self) -> bytes:
        """How the conversation begins: its first item."""
        return self._unbilled_start or (unmarked_json(bytes(self.items[0])) if self.items else b"")

    @cached_property
    def billing_line(self) -> str | None:
        """The billing line of the system prompt; None if it has none."""
        prompts = [bytes(self.members[name]) for name in SYSTEM_MEMBERS if name in self.members]
        if self._unbilled_start is not None:
            prompts.append(bytes(self.items[0]))
        return next(filter(None, map(billing_line_in, prompts)), None)

    @cached_property
    def _unbilled_start(self) -> bytes | None:
        """The first item without its billing line and cache marks; None for one that is no system prompt with such a line."""
        start = bytes(self.items[0]) if self.items else b""
        if billing_line_in(start) is None or self.messages(0, 1)[0].role != "system":
            return None
        return unbilled_json(unmarked_json(start))

    @cached_property
    def unmarked(self) -> SplitBody:
        """The same body without the cache marks of its conversation."""
        other = copy(self)
        items = [*self.items]
        for number, item in self.marked_items:
            items[number] = dump_json(unmarked_message(load_finite_json(item)))
        vars(other).update(items=items, marked_items=(), _questions={}, _messages={})
        return other

    @cached_property
    def settings(self) -> bytes:
        """A digest of everything but the conversation and the model's name."""
        return self._digest_without(())

    def digest_without(self, names: Collection[str]) -> bytes:
        """A digest of the settings without some of them."""
        there = [name for name in names if name in self.members]
        return self._digest_without(there) if there else self.settings

    def _digest_without(self, names: Collection[str]) -> bytes:
        left_out = {self.history, "model", *names}
        return self.digest_of(name for name in self.members if name not in left_out)

    def digest_of(self, names: Iterable[str]) -> bytes:
        """A digest of these members, as far as there are any."""
        digest = blake2b(digest_size=DIGEST_BYTES)
        for name in names:
            if (data := self.members.get(name)) is not None:
                digest.update(f"\0{name}\0".encode("utf-8", "surrogatepass"))
                digest.update(_unbilled(name, unmarked_json(bytes(data))))
        return digest.digest()

    @cached_property
    def beginnings(self) -> dict[int, bytes]:
        """How many items -> a digest of the conversation up to there, for the last ones."""
        return self._digests(_NEAR)

    @cached_property
    def _next_beginnings(self) -> dict[int, bytes]:
        return self._digests(_NEXT)

    def beginning(self, count: int) -> bytes | None:
        """The digest of the first items; None if there are so many more that nobody asks."""
        is_next = count > len(self.items) - _NEXT
        return (self._next_beginnings if is_next else self.beginnings).get(count)

    def _digests(self, last: int) -> dict[int, bytes]:
        items = self.items
        if self.marked_items or self._unbilled_start is not None:
            items = [*items]
            for number, item in self.marked_items:
                items[number] = unmarked_json(item)
            items[:1] = [self._unbilled_start or items[0]]
        first = max(0, len(items) - last)
        # Most items are digested at once, because a history may be long.
        digest = sha256(b"\0".join((b"", *items[:first])))
        digests: dict[int, bytes] = {}
        for count, item in enumerate(items[first:], first + 1):
            digest.update(b"\0")
            digest.update(item)
            digests[count] = digest.copy().digest()
        return digests

    def question(self, number: int) -> Message | None:
        """An item that is only a text, of the user or of the system prompt; None for any other."""
        if number not in self._questions:
            self._questions[number] = _question_of(load_json(self.items[number]))
        return self._questions[number]

    def messages(self, start: int, end: int | None = None) -> tuple[Message, ...]:
        """The messages of these items; no setting changes how an item is read. Raises an error for items that cannot be read.

        They are read once, for whoever asks.
        """
        end = len(self.items) if end is None else end
        if (start, end) not in self._messages:
            self._messages[start, end] = self._read(start, end)
        return self._messages[start, end]

    def _read(self, start: int, end: int) -> tuple[Message, ...]:
        # A new conversation is mostly a question, which was looked at before.
        if start == 0 and all(self.question(number) for number in range(end)):
            return tuple(filter(None, map(self.question, range(end))))
        items = [load_finite_json(item) for item in self.items[start:end]]
        return request_reader_of(self.dialect)({"model": self.model, self.history: items}).messages


def _question_of(item: Any) -> Message | None:
    role: Role = "user"
    match item:
        case {"role": "user", "content": str(text), **rest} if not rest:
            pass
        case {"role": "system" | "developer", "content": str(text), **rest} if not rest:
            role = "system"
        case {"role": "user", "parts": [{"text": str(text), **more}], **rest} if not (rest or more):
            pass
        case _:
            return None
    return Message(role, (Text(text),)) if text.strip() else None


def _unbilled(name: str, data: bytes) -> bytes:
    """A member without the billing line, if it is a system prompt."""
    return unbilled_json(data) if name in SYSTEM_MEMBERS else data
