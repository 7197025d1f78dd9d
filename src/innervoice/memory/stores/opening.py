"""An address -> the store that is there."""

from __future__ import annotations

from innervoice.memory.stores.ram import RamStore
from innervoice.memory.stores.store import Retention, Store

__all__ = ["open_store"]


def open_store(url: str, retention: Retention) -> Store:
    """The store at an address."""
    assert url
    return RamStore(retention)
