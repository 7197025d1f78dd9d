"""Tool call ids that a target accepts (rule H6).

Most APIs accept up to 64 letters, digits, `_` and `-`; Mistral accepts exactly nine letters and digits; none accepts the
same id for two calls of a conversation. An id that is not accepted is mapped to a digest of it, always the same, in the call
and in its result. The history keeps the received id. A call that is sent back as a received block keeps its id, unless an earlier call has it.
"""

from __future__ import annotations

from collections import deque
from hashlib import blake2b

from innervoice.canon.messages import Message
from innervoice.canon.parts import ToolCall, ToolResult
from innervoice.wire.dialect import Dialect

__all__ = ["with_taken_ids"]

_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def with_taken_ids(
    messages: list[Message], dialect: Dialect
) -> tuple[list[Message], list[tuple[int, int]]]:
    """The messages with ids that a dialect accepts, and the places of the calls whose id changed."""
    names = _Names(dialect)
    changed: list[tuple[int, int]] = []
    written = list(messages)
    for number, message in enumerate(messages):
        renamed = {
            position: fitted
            for position, part in enumerate(message.parts)
            if isinstance(part, (ToolCall, ToolResult))
            and (fitted := names.fitted(number, part)) is not part
        }
        if renamed:
            parts = (renamed.get(position, part) for position, part in enumerate(message.parts))
            written[number] = message.replace(parts=tuple(parts))
            changed += [(number, at) for at, part in renamed.items() if isinstance(part, ToolCall)]
    return written, changed


class _Names:
    """The ids that are sent, collected in the order of the conversation."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._replay = dialect.replay
        self._used: set[str] = set()
        self._current: dict[str, tuple[int, deque[str]]] = {}
        """A received id -> the last message with calls of this id, and the ids under which they are sent."""
        self._tried: dict[str, int] = {}
        """A received id -> the number of digests of it that were tried."""

    def fitted(self, number: int, part: ToolCall | ToolResult) -> ToolCall | ToolResult:
        if isinstance(part, ToolResult):
            return self._result(part)
        if _is_block(part):
            taken = part.id in self._used and self._replay.names_call(part)
        else:
            taken = part.id in self._used or not self._dialect.call_ids.fullmatch(part.id)
        name = self._free(part.id) if taken else part.id
        self._used.add(name)
        known, names = self._current.get(part.id, (-1, deque()))
        self._current[part.id] = (number, names if known == number else (names := deque()))
        names.append(name)
        return part if name == part.id else self._replay.with_call_id(part, name)

    def _result(self, part: ToolResult) -> ToolCall | ToolResult:
        _, names = self._current.get(part.call_id, (-1, None))
        if not names:
            return part
        # The last id stays: several calls of one turn that share an id have their results in order.
        name = names.popleft() if len(names) > 1 else names[0]
        return part if name == part.call_id else self._replay.with_call_id(part, name)

    def _free(self, given: str) -> str:
        """An id that no call has yet."""
        start = self._dialect.call_id_start
        number = self._tried.get(given, 0)
        while (made := start + _short(f"{given}#{number}" if number else given)) in self._used:
            number += 1
        self._tried[given] = number + 1
        return made


def _is_block(part: ToolCall) -> bool:
    return part.origin is not None and part.origin.block is not None


def _short(given: str) -> str:
    """Nine letters and digits that replace an id."""
    number = int.from_bytes(
        blake2b(given.encode("utf-8", "surrogatepass"), digest_size=12).digest(), "big"
    )
    letters = []
    for _ in range(9):
        number, rest = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[rest])
    return "".join(letters)
