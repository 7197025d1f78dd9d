"""What every store can do. Items are opaque to it: they are sealed before they come (`sealed_store.py`).

An item is never changed once it is stored; only the time of its last use moves. So nothing has to be locked or compared, and it does not
matter which process stores what first.
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
"""A tenant may ask the same question a thousand times. A key that so many items have tells nothing, so further items are not under it."""

_DAY = 86_400.0


class StoreError(Exception):
    """A store that cannot be used now: it is not there, full, locked or damaged."""


class StoredItem(NamedTuple):
    """Something to keep."""

    id: str
    """Unlike every other: 32 hexadecimal digits."""
    tenant: str
    kind: str
    """What it is, as "turn", "response" or "caller"."""
    data: bytes
    created: float
    """In seconds since 1970."""
    kept: bool = False
    """It does not age, takes no room of its tenant's, and is only deleted by `delete`."""


class FoundItem(NamedTuple):
    """An item under one of the keys that were looked up; one under several is found several times."""

    key: bytes
    id: str
    data: bytes | None
    """None if whoever asked knows the item already."""
    created: float


class Retention(NamedTuple):
    """How long items are kept, and how much of them."""

    seconds: float = 30 * _DAY
    """Since the last use."""
    most_seconds: float = 90 * _DAY
    """Since it was made."""
    tenant_bytes: int = 1_000_000_000
    """All data of one tenant; those that were not used for longest go first."""


class TenantUsage(NamedTuple):
    """What a tenant has in a store."""

    tenant: str
    items: int
    size: int
    """In bytes."""
    oldest: float
    """When the oldest was made."""


class Store(Protocol):
    """Keeps items under keys. Every method raises `StoreError`, and nothing else, if the store cannot be used."""

    async def put(self, item: StoredItem, keys: Sequence[bytes]) -> None:
        """Stores an item under its keys; one with the same id is there already and stays. It outlives this process once this returns.

        A key that `MOST_UNDER_A_KEY` items of the tenant have takes no more.
        """
        ...

    async def get(
        self, tenant: str, keys: Sequence[bytes], known: Collection[str] = ()
    ) -> list[FoundItem]:
        """The items of a tenant under any of these keys, in one round trip, the oldest first. Those in `known` come without data."""
        ...

    async def items(self, tenant: str, kind: str) -> list[StoredItem]:
        """All items of one kind."""
        ...

    async def delete(self, tenant: str, keys: Sequence[bytes]) -> int:
        """Deletes the items under any of these keys, with all their keys; returns how many."""
        ...

    async def forget(self, tenant: str | None = None) -> int:
        """Deletes all items of a tenant, or of all tenants, but those that are `kept`; returns how many. Nothing of them can be read afterwards."""
        ...

    async def vacuum(self) -> int:
        """Deletes what is too old or too much, and gives its room back; returns how many items went."""
        ...

    async def usage(self) -> list[TenantUsage]:
        """What each tenant has, without what is `kept`."""
        ...

    async def count(self, amounts: Mapping[str, float], seconds: float) -> dict[str, float]:
        """Adds to counters, at once for all processes, and returns their sums. An amount of 0 reads one.

        A counter is gone `seconds` after it was made.
        """
        ...

    async def close(self) -> None:
        """Ends it; what was put is stored."""
        ...
