"""What is new in a request: the longest beginning of its conversation that was seen before, and the messages after it.

An agent sends its whole history with each request. What was learned of a conversation (how it was forwarded, what was sent for it, where
it stands in a log) is kept under the digest of its beginning, and found again by the request that continues it.

    body ──► beginnings ──► the longest known one ──► the answer to it, as the client sends it back ──► results and questions
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from innervoice.canon.bounded import Bounded
from innervoice.canon.messages import Message
from innervoice.canon.parts import Part, Text, ToolResult
from innervoice.conversation.body import SplitBody

__all__ = ["Beginnings", "Growth", "growth_of", "is_plain", "last_known", "result_ids"]

Known = TypeVar("Known")


class Beginnings(Generic[Known]):
    """What is known of conversations, by their beginnings; `owner` is what requests must share besides their beginning."""

    def __init__(self, values: Bounded[bytes, Known]) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def has(self, digest: bytes, owner: bytes) -> bool:
        """Whether a beginning is known, by its digest."""
        return digest + owner in self._values

    def longest(
        self, body: SplitBody, owner: bytes, *, answered: bool, most: int | None = None
    ) -> tuple[int, Known] | None:
        """The longest known beginning, of `most` items: how many it has, and what is known of it. With `answered`, more must follow: the answer to it."""
        most = min(len(body.items) - answered, len(body.items) if most is None else most)
        for count in range(most, 0, -1):
            if (digest := body.beginning(count)) is None:
                break
            if (value := self._values.used(digest + owner)) is not None:
                return count, value
        return None

    def between(
        self, body: SplitBody, owner: bytes, start: int, end: int
    ) -> Iterator[tuple[int, Known]]:
        """The known beginnings that have more items than one number, and fewer than another, the shortest first."""
        for count in range(start + 1, end):
            digest = body.beginning(count)
            if digest and (value := self._values.used(digest + owner)) is not None:
                yield count, value

    def whole(self, body: SplitBody, owner: bytes) -> Known | None:
        """What is known of the whole conversation."""
        digest = body.beginning(len(body.items))
        return None if digest is None else self._values.used(digest + owner)

    def add(self, body: SplitBody, owner: bytes, value: Known, count: int | None = None) -> None:
        """Adds what is known of a conversation, or of its first `count` items, which must be among its last ones."""
        digest = body.beginning(len(body.items) if count is None else count)
        if digest is not None:
            self._values[digest + owner] = value

    def forget(self, body: SplitBody, owner: bytes) -> None:
        """Forgets all beginnings of a conversation."""
        for digest in body.beginnings.values():
            self._values.pop(digest + owner)

    def clear(self) -> None:
        """Forgets everything."""
        self._values.clear()


def last_known(body: SplitBody, owner: bytes, *tables: Beginnings[Any]) -> Beginnings[Any] | None:
    """Which of these knows the longest beginning of a conversation, or all of it; None if none of them knows one."""
    for count in range(len(body.items), 0, -1):
        if (digest := body.beginning(count)) is None:
            break
        for table in tables:
            if table.has(digest, owner):
                return table
    return None


class Growth(NamedTuple):
    """What follows a known beginning."""

    turn: Message
    """The answer to it, as the client sends it back."""
    rest: tuple[Message, ...]

    @property
    def is_answered(self) -> bool:
        """Whether each call of the answer has one result, and there are no others."""
        return sorted(call.id for call in self.turn.tool_calls) == sorted(result_ids(self.rest))


def growth_of(body: SplitBody, start: int, end: int | None = None) -> Growth | None:
    """Reads the new items of a request; None if they are not an answer and plain messages after it."""
    try:
        turn, *rest = body.messages(start, end)
    except Exception:  # noqa: BLE001 - whoever reads the whole request says what is wrong with it
        return None
    if turn.role != "assistant" or not all(map(is_plain, rest)):
        return None
    return Growth(turn, tuple(rest))


def is_plain(message: Message) -> bool:
    """Whether a message of the user has only texts and text results, which go to every model unchanged."""
    return message.role in ("user", "tool") and all(map(_is_words, message.parts))


def _is_words(part: Part) -> bool:
    if isinstance(part, ToolResult):
        content = part.content
        return isinstance(content, str) or all(isinstance(piece, Text) for piece in content)
    return isinstance(part, Text) and bool(part.text.strip())


def result_ids(messages: Iterable[Message]) -> list[str]:
    """The ids of the calls whose results these messages have."""
    parts = (part for message in messages for part in message.parts)
    return [part.call_id for part in parts if isinstance(part, ToolResult)]
