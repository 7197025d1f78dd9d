"""Ids of calls that a target takes (rule H6).

Most APIs take up to 64 letters, digits, `_` and `-`; Mistral takes nine letters and digits. An id that does
not fit is mapped to one made of it, the same every time, in the call and in its result. The history keeps
the id that was received, and what goes home as a received block is never touched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b

from innervoice.canon.messages import Message
from innervoice.canon.parts import Part, ToolCall, ToolResult

__all__ = ["refused_ids", "with_mapped_ids"]

_TAKEN = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TAKEN_BY = {"mistral": re.compile(r"[A-Za-z0-9]{9}")}
_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def refused_ids(messages: Iterable[Message], dialect: str) -> dict[str, tuple[int, int]]:
    """Ids that a dialect refuses, and the call that has each: the number of its message, and in it."""
    taken = _TAKEN_BY.get(dialect, _TAKEN)
    found: dict[str, tuple[int, int]] = {}
    for number, message in enumerate(messages):
        for position, part in enumerate(message.parts):
            if isinstance(part, ToolCall) and not _is_block(part) and not taken.fullmatch(part.id):
                found.setdefault(part.id, (number, position))
    return found


def with_mapped_ids(messages: list[Message], ids: Iterable[str], dialect: str) -> list[Message]:
    """The messages with other ids in the place of these."""
    names = {given: _short(given, dialect) for given in ids}
    if not names:
        return messages
    return [
        message.but(parts=tuple(_renamed(part, names) for part in message.parts))
        for message in messages
    ]


def _is_block(part: ToolCall) -> bool:
    return part.origin is not None and part.origin.block is not None


def _short(given: str, dialect: str) -> str:
    number = int.from_bytes(
        blake2b(given.encode("utf-8", "surrogatepass"), digest_size=12).digest(), "big"
    )
    letters = []
    for _ in range(9):
        number, rest = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[rest])
    return "".join(letters) if dialect in _TAKEN_BY else f"call_{''.join(letters)}"


def _renamed(part: Part, names: dict[str, str]) -> Part:
    if isinstance(part, ToolCall) and part.id in names:
        return part.but(id=names[part.id])
    if isinstance(part, ToolResult) and part.call_id in names:
        return part.but(call_id=names[part.call_id])
    return part
