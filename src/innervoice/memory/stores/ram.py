"""Items in the memory of one process."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence

from innervoice.memory.stores.store import FoundItem, Retention, StoredItem, TenantUsage

__all__ = ["RamStore"]


class _Held:
    """An item in the store, and when it was used."""

    __slots__ = ("item", "keys", "used")

    def __init__(self, item: StoredItem, keys: tuple[bytes, ...], used: float) -> None:
        self.item, self.keys, self.used = item, keys, used


class RamStore:
    """A store that ends with its process."""

    def __init__(
        self, retention: Retention | None = None, now: Callable[[], float] = time.time
    ) -> None:
        self._retention = retention or Retention()
        self._now = now
        self._items: OrderedDict[str, _Held] = OrderedDict()
        self._owners: dict[bytes, dict[str, None]] = {}
        self._counters: dict[str, tuple[float, float]] = {}

    async def put(self, item: StoredItem, keys: Sequence[bytes]) -> None:
        """Stores an item under its keys."""
        if item.id in self._items:
            return
        self._items[item.id] = _Held(item, tuple(dict.fromkeys(keys)), self._now())
        for key in keys:
            self._owners.setdefault(key, {})[item.id] = None
        self._make_room(item.tenant)

    async def get(
        self, tenant: str, keys: Sequence[bytes], known: Collection[str] = ()
    ) -> list[FoundItem]:
        """The items of a tenant under any of these keys."""
        found: list[FoundItem] = []
        now = self._now()
        for key in dict.fromkeys(keys):
            for name in self._owners.get(key, ()):
                held = self._items[name]
                item = held.item
                if item.tenant != tenant or self._is_over(held, now):
                    continue
                held.used = now
                self._items.move_to_end(name)
                data = None if name in known else item.data
                found.append(FoundItem(key, name, data, item.created))
        return sorted(found, key=lambda one: one.created)

    async def items(self, tenant: str, kind: str) -> list[StoredItem]:
        """All items of one kind."""
        now = self._now()
        held = (one for one in self._items.values() if not self._is_over(one, now))
        return [one.item for one in held if (one.item.tenant, one.item.kind) == (tenant, kind)]

    async def delete(self, tenant: str, keys: Sequence[bytes]) -> int:
        """Deletes the items under any of these keys."""
        names = {
            name
            for key in keys
            for name in self._owners.get(key, ())
            if self._items[name].item.tenant == tenant
        }
        return self._drop(names)

    async def forget(self, tenant: str | None = None) -> int:
        """Deletes all items of a tenant, or of all."""
        held = (one.item for one in self._items.values())
        return self._drop(
            {item.id for item in held if not item.kept and tenant in (None, item.tenant)}
        )

    async def vacuum(self) -> int:
        """Deletes what is too old or too much."""
        now = self._now()
        count = self._drop({name for name, held in self._items.items() if self._is_over(held, now)})
        for tenant in {held.item.tenant for held in self._items.values()}:
            count += self._make_room(tenant)
        return count

    async def usage(self) -> list[TenantUsage]:
        """What each tenant has."""
        found: dict[str, list[StoredItem]] = {}
        for held in self._items.values():
            if not held.item.kept:
                found.setdefault(held.item.tenant, []).append(held.item)
        return [
            TenantUsage(
                tenant,
                len(items),
                sum(len(item.data) for item in items),
                min(item.created for item in items),
            )
            for tenant, items in sorted(found.items())
        ]

    async def count(self, amounts: Mapping[str, float], seconds: float) -> dict[str, float]:
        """Adds to counters, and returns their sums."""
        now, sums = self._now(), {}
        for name in [name for name, (_, end) in self._counters.items() if end <= now]:
            del self._counters[name]
        for name, amount in amounts.items():
            before, end = self._counters.get(name, (0.0, now + seconds))
            sums[name] = before + amount
            if amount:
                self._counters[name] = (sums[name], end)
        return sums

    async def close(self) -> None:
        """Nothing to do."""

    def _is_over(self, held: _Held, now: float) -> bool:
        return not held.item.kept and (
            now - held.used > self._retention.seconds
            or now - held.item.created > self._retention.most_seconds
        )

    def _make_room(self, tenant: str) -> int:
        """Drops the items of a tenant that were not used for longest; the newest stays."""
        own = [
            held.item
            for held in self._items.values()
            if held.item.tenant == tenant and not held.item.kept
        ]
        size = sum(len(item.data) for item in own)
        gone: set[str] = set()
        for item in own[:-1]:
            if size <= self._retention.tenant_bytes:
                break
            size -= len(item.data)
            gone.add(item.id)
        return self._drop(gone)

    def _drop(self, names: set[str]) -> int:
        for name in names:
            for key in self._items.pop(name).keys:
                owners = self._owners[key]
                del owners[name]
                if not owners:
                    del self._owners[key]
        return len(names)
