"""The recently used turns, in the memory of one process."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from innervoice.canon.storage import to_json
from innervoice.conversation.digest import CROWD

if TYPE_CHECKING:
    from innervoice.memory.records import TurnRecord, TurnsByKey

__all__ = ["RecentTurns"]

_BYTES = 64_000_000


class _Held(NamedTuple):
    record: TurnRecord
    keys: tuple[bytes, ...]
    size: int


class RecentTurns:
    """Keeps the recently used turns: at most `size` bytes of their JSON and, if `turns` is passed, at most that many.

    Threads may share it.
    """

    def __init__(self, size: int = _BYTES, turns: int | None = None) -> None:
        self._room, self._most = size, turns
        self._size = 0
        self._turns: OrderedDict[str, _Held] = OrderedDict()
        self._owners: dict[bytes, dict[str, None]] = {}
        """Keys -> the names of the turns that have them, the oldest first."""
        self._lock = threading.Lock()

    def put(self, record: TurnRecord, keys: Sequence[bytes], size: int | None = None) -> None:
        """Stores a turn; an identical one is not stored twice. One that exceeds the whole space is not stored."""
        with self._lock:
            if record.id in self._turns:
                self._add_keys(record.id, keys)
                return
        size = len(to_json(record.message)) if size is None else size
        if size > self._room:
            return
        with self._lock:
            for name in islice(self._owners.get(keys[0], ()), CROWD):
                record_before = self._turns[name].record
                if (
                    record_before.tenant == record.tenant
                    and record_before.message == record.message
                ):
                    self._turns.move_to_end(name)
                    return
            self._turns[record.id] = _Held(record, tuple(dict.fromkeys(keys)), size)
            self._size += size
            for key in keys:
                self._owners.setdefault(key, {})[record.id] = None
            while self._size > self._room or self._is_full():
                self._forget(next(iter(self._turns)))

    def get(self, tenant: str, keys: Sequence[bytes]) -> TurnsByKey:
        """The turns of a tenant under any of these keys; if a key has too many turns, the newest, and enough of them to show that."""
        records: dict[bytes, list[TurnRecord]] = {}
        with self._lock:
            for key in dict.fromkeys(keys):
                for name in islice(reversed(self._owners.get(key, {})), CROWD + 1):
                    record = self._turns[name].record
                    if record.tenant == tenant:
                        records.setdefault(key, []).append(record)
                        self._turns.move_to_end(name)
        return records

    def delete(self, tenant: str, keys: Sequence[bytes]) -> list[str]:
        """Forgets the turns of a tenant under any of these keys; returns their ids."""
        with self._lock:
            candidates = dict.fromkeys(name for key in keys for name in self._owners.get(key, ()))
            names = [name for name in candidates if self._turns[name].record.tenant == tenant]
            for name in names:
                self._forget(name)
        return names

    def forget(self, tenant: str | None = None) -> int:
        """Forgets the turns of a tenant, or all; returns how many."""
        with self._lock:
            names = [
                name for name, turn in self._turns.items() if tenant in (None, turn.record.tenant)
            ]
            for name in names:
                self._forget(name)
        return len(names)

    def __len__(self) -> int:
        return len(self._turns)

    def _add_keys(self, name: str, keys: Sequence[bytes]) -> None:
        """Adds keys to a turn that was found under keys unknown here: those of another process."""
        turn = self._turns[name]
        self._turns[name] = turn._replace(keys=tuple(dict.fromkeys((*turn.keys, *keys))))
        self._turns.move_to_end(name)
        for key in keys:
            self._owners.setdefault(key, {})[name] = None

    def _is_full(self) -> bool:
        return self._most is not None and len(self._turns) > self._most

    def _forget(self, name: str) -> None:
        turn = self._turns.pop(name)
        self._size -= turn.size
        for key in turn.keys:
            owners = self._owners[key]
            del owners[name]
            if not owners:
                del self._owners[key]
