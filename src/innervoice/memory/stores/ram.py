"""Items in the memory of one process."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from innervoice.memory.stores.names import in_order
from innervoice.memory.stores.store import (
    MOST_UNDER_A_KEY,
    FoundItem,
    Retention,
    StoredItem,
    TenantUsage,
)

__all__ = ["RamStore"]


class _Held:
    """An item in the store, and its time of use."""

    __slots__ = ("item", "keys", "used")

    def __init__(self, item: StoredItem, keys: tuple[bytes, ...], used: float) -> None:
        self.item, self.keys, self.used = item, keys, used


class _Tenant:
    """The data of one tenant: items in the order of their last use, kept items, and the items under each key."""

    __slots__ = ("aging", "kept", "owners", "size")

    def __init__(self) -> None:
        self.aging: OrderedDict[str, _Held] = OrderedDict()
        self.kept: dict[str, _Held] = {}
        self.owners: dict[bytes, dict[str, _Held]] = {}
        self.size = 0

    def add(self, entry: _Held) -> None:
        name = entry.item.id
        if entry.item.kept:
            self.kept[name] = entry
        else:
            self.aging[name] = entry
            self.size += len(entry.item.data)
        for key in entry.keys:
            owners = self.owners.setdefault(key, {})
            owners[name] = entry
            if len(owners) > MOST_UNDER_A_KEY:
                del owners[next(iter(owners))]

    def drop(self, every: Iterable[_Held]) -> int:
        count = 0
        for count, entry in enumerate(every, 1):  # noqa: B007 - the last one is returned
            name = entry.item.id
            if entry.item.kept:
                del self.kept[name]
            else:
                del self.aging[name]
                self.size -= len(entry.item.data)
            for key in entry.keys:
                owners = self.owners.get(key, {})
                owners.pop(name, None)
                if not owners:
                    self.owners.pop(key, None)
        return count


class RamStore:
    """A store that ends with its process."""

    def __init__(
        self, retention: Retention | None = None, now: Callable[[], float] = time.time
    ) -> None:
        self._retention = retention or Retention()
        self._now = now
        self._tenants: dict[str, _Tenant] = {}
        self._counters: dict[str, tuple[float, float]] = {}
        self._next_sweep = 0.0

    async def put(self, item: StoredItem, keys: Sequence[bytes]) -> None:
        """Stores an item under its keys."""
        tenant = self._tenants.setdefault(item.tenant, _Tenant())
        if item.id in tenant.aging or item.id in tenant.kept:
            return
        tenant.add(_Held(item, tuple(dict.fromkeys(keys)), self._now()))
        self._make_room(tenant)

    async def get(
        self, tenant: str, keys: Sequence[bytes], known: Collection[str] = ()
    ) -> list[FoundItem]:
        """The items of a tenant under any of these keys."""
        entries = self._tenants.get(tenant)
        if entries is None:
            return []
        items: list[FoundItem] = []
        now = self._now()
        for key in dict.fromkeys(keys):
            for name, entry in entries.owners.get(key, {}).items():
                if self._is_over(entry, now):
                    continue
                entry.used = now
                if not entry.item.kept:
                    entries.aging.move_to_end(name)
                data = None if name in known else entry.item.data
                items.append(FoundItem(key, name, data, entry.item.created))
        return in_order(items, keys)

    async def items(self, tenant: str, kind: str) -> list[StoredItem]:
        """All items of one kind."""
        entries = self._tenants.get(tenant, _Tenant())
        now = self._now()
        every = [*entries.kept.values(), *entries.aging.values()]
        items = [entry.item for entry in every if not self._is_over(entry, now)]
        return sorted((one for one in items if one.kind == kind), key=lambda one: one.created)

    async def delete(self, tenant: str, keys: Sequence[bytes]) -> int:
        """Deletes the items under any of these keys."""
        entries = self._tenants.get(tenant, _Tenant())
        return entries.drop(
            {id(one): one for key in keys for one in entries.owners.get(key, {}).values()}.values()
        )

    async def forget(self, tenant: str | None = None) -> int:
        """Deletes all items of a tenant, or of all."""
        return sum(
            entries.drop(list(entries.aging.values()))
            for name, entries in self._tenants.items()
            if tenant in (None, name)
        )

    async def vacuum(self) -> int:
        """Deletes items that are too old or exceed the limits."""
        now, count = self._now(), 0
        for entries in self._tenants.values():
            count += entries.drop(
                [entry for entry in entries.aging.values() if self._is_over(entry, now)]
            )
            count += self._make_room(entries)
        return count

    async def usage(self) -> list[TenantUsage]:
        """The usage of each tenant."""
        return [
            TenantUsage(
                name,
                len(entries.aging),
                entries.size,
                min(entry.item.created for entry in entries.aging.values()),
            )
            for name, entries in sorted(self._tenants.items())
            if entries.aging
        ]

    async def count(self, amounts: Mapping[str, float], seconds: float) -> dict[str, float]:
        """Adds to counters, and returns their sums."""
        now, sums = self._now(), {}
        if now >= self._next_sweep:
            self._next_sweep = now + 60
            for name in [name for name, (_, end) in self._counters.items() if end <= now]:
                del self._counters[name]
        for name, amount in amounts.items():
            before, end = self._counters.get(name, (0.0, now + seconds))
            if end <= now:
                before, end = 0.0, now + seconds
            sums[name] = before + amount
            if amount:
                self._counters[name] = (sums[name], end)
        return sums

    async def close(self) -> None:
        """Does nothing."""

    def _is_over(self, entry: _Held, now: float) -> bool:
        return not entry.item.kept and (
            now - entry.used > self._retention.seconds
            or now - entry.item.created > self._retention.most_seconds
        )

    def _make_room(self, tenant: _Tenant) -> int:
        """Drops the least recently used items of a tenant; the newest stays."""
        now, size = self._now(), tenant.size
        gone: list[_Held] = []
        for entry in tenant.aging.values():
            if size <= self._retention.tenant_bytes and not self._is_over(entry, now):
                break
            if len(gone) == len(tenant.aging) - 1:
                break
            size -= len(entry.item.data)
            gone.append(entry)
        return tenant.drop(gone)
