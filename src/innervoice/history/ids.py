"""Tool call ids that a target accepts (rule H6).

Most APIs accept up to 64 letters, digits, `_` and `-`; Mistral accepts exactly nine letters and digits; none accepts the
same id for two calls of a conversation. An id that is not accepted is mapped to a digest of it, always the same, in the call
and in its result. The history keeps the received id, and a call that goes back as a received block is not changed.
"""

from __future__ import annotations

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
            and (fitted := names.fitted(part)) is not part
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
        self._used: set[str] = set()
        self._current: dict[str, str] = {}
        """The received id -> the id that its latest call is sent with."""

    def fitted(self, part: ToolCall | ToolResult) -> ToolCall | ToolResult:
        if isinstance(part, ToolResult):
            name = self._current.get(part.call_id, part.call_id)
            return part if name == part.call_id else part.replace(call_id=name)
        name = part.id if _is_block(part) else self._free(part.id)
        self._used.add(name)
        self._current[part.id] = name
        return part if name == part.id else part.replace(id=name)

    def _free(self, given: str) -> str:
        if self._dialect.call_ids.fullmatch(given) and given not in self._used:
            return given
        number = 0
        start = self._dialect.call_id_start
        while (made := start + _short(f"{given}#{number}" if number else given)) in self._used:
            number += 1
        return made


def _is_block(part: ToolCall) -> bool:
    return part.origin is not None and part.origin.block is not None


def _short(given: str) -> str:
    """Nine letters and digits that stand for an id."""
    number = int.from_bytes(
        blake2b(given.encode("utf-8", "surrogatepass"), digest_size=12).digest(), "big"
    )
    letters = []
    for _ in range(9):
        number, rest = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[rest])
    return "".join(letters)
