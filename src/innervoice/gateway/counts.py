"""Counters that all processes share, in the store; only those of this process while the store cannot be reached."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import NamedTuple

from innervoice.memory.store_calls import SlowStoreError, StoreCalls
from innervoice.memory.stores.store import Store, StoreError

__all__ = ["SharedCounts", "Sums"]

_WAIT = 0.25
_MOST = 50_000


class Sums(NamedTuple):
    """The current values of counters."""

    values: dict[str, float]
    is_shared: bool
    """Whether other processes are counted as well."""


class SharedCounts:
    """Adds to counters. It never fails: without the store it continues from the last known values, and adds the outstanding amounts later."""

    def __init__(self, store: Store, calls: StoreCalls | None = None) -> None:
        self._store = store
        self._calls = calls or StoreCalls()
        self._seen: OrderedDict[str, float] = OrderedDict()
        self._owed: OrderedDict[str, float] = OrderedDict()

    async def add(self, amounts: Mapping[str, float], seconds: float) -> Sums:
        """Adds amounts to counters that expire `seconds` after they were created; returns their sums. An amount of 0 reads a counter."""
        due = {
            name: amount + self._owed.get(name, 0) if amount else 0
            for name, amount in amounts.items()
        }
        try:
            sums = await self._calls.wait(lambda: self._store.count(due, seconds), _WAIT)
        except StoreError as error:
            for name, amount in amounts.items():
                self._see(name, self._seen.get(name, 0) + amount)
                if amount and not isinstance(error, SlowStoreError):
                    self._owed[name] = self._owed.get(name, 0) + amount
                    _bound(self._owed)
            return Sums({name: self._seen[name] for name in amounts}, is_shared=False)
        for name, value in sums.items():
            self._see(name, value)
            if amounts[name]:
                self._owed.pop(name, None)
        return Sums(sums, is_shared=True)

    def _see(self, name: str, value: float) -> None:
        self._seen[name] = value
        self._seen.move_to_end(name)
        _bound(self._seen)


def _bound(kept: OrderedDict[str, float]) -> None:
    while len(kept) > _MOST:
        kept.popitem(last=False)
