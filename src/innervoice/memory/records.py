"""A stored turn, and the two operations of every store of turns."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

from innervoice.canon.messages import Message
from innervoice.canon.value import Value
from innervoice.memory.recent_turns import RecentTurns

__all__ = ["FoundTurns", "RamStore", "TurnRecord", "TurnStore"]

FoundTurns: TypeAlias = Mapping[bytes, "Sequence[TurnRecord]"]
"""Keys -> the turns that have them."""

_BYTES = 64_000_000


class TurnRecord(Value, frozen=True, kw_only=True):
    """One turn of the model, as it came; never changed."""

    id: str
    tenant: str
    message: Message
    """With the wire blocks of its parts, seals included."""
    created: float


class TurnStore(Protocol):
    """Keeps turns by their keys; both operations take one round trip."""

    async def put(self, record: TurnRecord, keys: Sequence[bytes]) -> None:
        """Stores a turn under its keys."""
        ...

    async def get(self, tenant: str, keys: Sequence[bytes]) -> FoundTurns:
        """The turns of a tenant under any of these keys.

        Nothing is used of a key that more than `turn_keys.CROWD` turns have, so one more than these is all that a store need give.
        """
        ...


class RamStore:
    """A store of turns that ends with its process: at most `size` bytes of their JSON."""

    def __init__(self, size: int = _BYTES) -> None:
        self.recent = RecentTurns(size)

    async def put(self, record: TurnRecord, keys: Sequence[bytes]) -> None:
        """Stores a turn; one that is stored already, word for word, is not stored twice."""
        self.recent.put(record, keys)

    async def get(self, tenant: str, keys: Sequence[bytes]) -> FoundTurns:
        """The turns of a tenant under any of these keys."""
        return self.recent.get(tenant, keys)

    def forget(self, tenant: str | None = None) -> int:
        """Forgets the turns of a tenant, or all; returns how many."""
        return self.recent.forget(tenant)

    def __len__(self) -> int:
        return len(self.recent)


def now() -> float:
    """When a record is made, in seconds since 1970."""
    return time.time()
