"""The interface of every store. Items are opaque to it: they are sealed before they are stored (`sealed_store.py`).

A stored item never changes; only the time of its last use does. So nothing has to be locked or compared, and it does not matter which
process stores an item first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

__all__ = [
    "MOST_UNDER_A_KEY",
    "FoundItem",
    "Retention",
    "Store",
    "StoreError",
    "StoredItem",
    "TenantUsage",
]

MOST_UNDER_A_KEY = 17
"""A tenant may ask the same question a thousand times: a key has the newest items, so many that they show it."""

_DAY = 86_400.0


class StoreError(Exception):
    """A store that cannot be used now: it is unreachable, full, locked or damaged."""


class StoredItem(NamedTuple):
    """An item to store."""

    id: str
    """Unique: 32 hexadecimal digits."""
    tenant: str
    kind: str
    """The kind of item, such as "turn", "response" or "caller"."""
    data: bytes
    created: float
    """In seconds since 1970."""
    kept: bool = False
    """A kept item does not expire, does not count for its tenant's limit, and is deleted only by `delete`."""


class FoundItem(NamedTuple):
    """An item under one of the requested keys; an item under several of them is returned several times."""

    key: bytes
    id: str
    data: bytes | None
    """None if the caller already has the item."""
    created: float


class Retention(NamedTuple):
    """How long items are kept, and how many bytes of them."""

    seconds: float = 30 * _DAY
    """Since the last use."""
    most_seconds: float = 90 * _DAY
    """Since its creation."""
    tenant_bytes: int = 1_000_000_000
    """All data of one tenant; the least recently used items are deleted first."""


class TenantUsage(NamedTuple):
    """The usage of a tenant in a store."""

    tenant: str
    items: int
    size: int
    """In bytes."""
    oldest: float
    """When the oldest was created."""


class Store(Protocol):
    """Keeps items under keys. Every method raises `StoreError`, and nothing else, if the store cannot be used."""

    async def put(self, item: StoredItem, keys: Sequence[bytes]) -> None:
        """Stores an item under its keys; if one with the same id exists, that one stays. The item outlives this process once this returns.

        A key has the newest `MOST_UNDER_A_KEY` items of the tenant; older ones are found by their other keys.
        """
        ...

    async def get(
        self, tenant: str, keys: Sequence[bytes], known: Collection[str] = ()
    ) -> list[FoundItem]:
        """The items of a tenant under any of these keys, in one round trip, the oldest first. Those in `known` are returned without data."""
        ...

    async def items(self, tenant: str, kind: str) -> list[StoredItem]:
        """All items of one kind."""
        ...

    async def delete(self, tenant: str, keys: Sequence[bytes]) -> int:
        """Deletes the items under any of these keys, with all their keys; returns how many."""
        ...

    async def forget(self, tenant: str | None = None) -> int:
        """Deletes all items of a tenant, or of all tenants, except `kept` ones; returns how many. Nothing of them can be read afterwards."""
        ...

    async def vacuum(self) -> int:
        """Deletes items that are too old or exceed the limits, and frees their space; returns how many were deleted."""
        ...

    async def usage(self) -> list[TenantUsage]:
        """The usage of each tenant, without `kept` items."""
        ...

    async def count(self, amounts: Mapping[str, float], seconds: float) -> dict[str, float]:
        """Adds to counters, atomically for all processes, and returns their sums. An amount of 0 reads a counter.

        A counter expires `seconds` after it was created.
        """
        ...

    async def close(self) -> None:
        """Closes the store; items that were put are stored."""
        ...
