"""A stored turn, and the two operations of every store of turns."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeAlias

from innervoice.canon.messages import Message
from innervoice.canon.storage import to_json
from innervoice.canon.value import Value

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
        """The turns of a tenant under any of these keys."""
        ...


class RamStore:
    """Keeps the turns that were used last in memory, at most `size` bytes of their JSON."""

    def __init__(self, size: int = _BYTES) -> None:
        self._room = size
        self._size = 0
        self._turns: OrderedDict[str, tuple[TurnRecord, tuple[bytes, ...], int]] = OrderedDict()
        self._owners: dict[bytes, list[str]] = {}

    async def put(self, record: TurnRecord, keys: Sequence[bytes]) -> None:
        """Stores a turn; one that is stored already, word for word, is not stored twice."""
        known = (self._turns[name][0] for name in self._owners.get(keys[0], ()))
        if any(one.tenant == record.tenant and one.message == record.message for one in known):
            return
        size = len(to_json(record.message))
        self._turns[record.id] = (record, tuple(keys), size)
        self._size += size
        for key in keys:
            self._owners.setdefault(key, []).append(record.id)
        while self._size > self._room and len(self._turns) > 1:
            self._forget(next(iter(self._turns)))

    async def get(self, tenant: str, keys: Sequence[bytes]) -> FoundTurns:
        """The turns of a tenant under any of these keys."""
        found: dict[bytes, list[TurnRecord]] = {}
        for key in keys:
            for name in self._owners.get(key, ()):
                record = self._turns[name][0]
                if record.tenant == tenant:
                    found.setdefault(key, []).append(record)
                    self._turns.move_to_end(name)
        return found

    def delete(self, tenant: str, keys: Sequence[bytes]) -> list[str]:
        """Forgets the turns of a tenant under any of these keys; returns their ids."""
        found = dict.fromkeys(name for key in keys for name in self._owners.get(key, ()))
        names = [name for name in found if self._turns[name][0].tenant == tenant]
        for name in names:
            self._forget(name)
        return names

    def forget(self, tenant: str | None = None) -> int:
        """Forgets the turns of a tenant, or all; returns how many."""
        names = [name for name, (one, _, _) in self._turns.items() if tenant in (None, one.tenant)]
        for name in names:
            self._forget(name)
        return len(names)

    def __len__(self) -> int:
        return len(self._turns)

    def _forget(self, name: str) -> None:
        _, keys, size = self._turns.pop(name)
        self._size -= size
        for key in keys:
            owners = self._owners[key]
            owners.remove(name)
            if not owners:
                del self._owners[key]


def now() -> float:
    """When a record is made, in seconds since 1970."""
    return time.time()


def only(records: Iterable[TurnRecord]) -> TurnRecord | None:
    """The only one of these, where equal turns are one; None if there are none, or several that differ."""
    found: TurnRecord | None = None
    for record in records:
        if found is not None and found.message != record.message:
            return None
        found = record
    return found
