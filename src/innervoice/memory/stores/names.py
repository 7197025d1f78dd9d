"""Names of tenants, kinds and items as bytes, and how often the time of use is updated."""

from __future__ import annotations

from collections.abc import Sequence

from innervoice.memory.stores.store import FoundItem, Retention

__all__ = ["decoded", "encoded", "in_order", "use_is_told_after"]

_HOUR = 3_600.0


def encoded(name: str) -> bytes:
    """A name as bytes; works for any text, even with a lone surrogate."""
    return name.encode("utf-8", "surrogatepass")


def decoded(name: bytes) -> str:
    """A name from its bytes."""
    return name.decode("utf-8", "surrogatepass")


def in_order(items: list[FoundItem], keys: Sequence[bytes]) -> list[FoundItem]:
    """Found items, the oldest first, then in the order of the requested keys."""
    places = {key: place for place, key in reversed(list(enumerate(keys)))}
    return sorted(items, key=lambda item: (item.created, places[item.key]))


def use_is_told_after(retention: Retention) -> float:
    """The seconds after which the time of use is written again: not at every use."""
    return min(_HOUR, retention.seconds / 24)
