"""A cache that is bounded by bytes, not by the number of its entries."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

__all__ = ["BoundedCache"]

Held = TypeVar("Held")


class BoundedCache(Generic[Held]):
    """Keeps the most recently used entries, up to a number of bytes; the newest stays, however large it is, because it is being read."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held: OrderedDict[Hashable, tuple[Held, int]] = OrderedDict()
        self._lock = Lock()
        self.size = 0

    def get(self, key: Hashable) -> Held | None:
        """The value of a key."""
        with self._lock:
            if key not in self._held:
                return None
            self._held.move_to_end(key)
            return self._held[key][0]

    def put(self, key: Hashable, held: Held, size: int) -> None:
        """Adds a value of this many bytes, and drops the least recently used ones."""
        with self._lock:
            self._let_go(key)
            self._held[key] = held, size
            self.size += size
            while self.size > self._limit and len(self._held) > 1:
                self._let_go(next(iter(self._held)))

    def make_room(self, key: Hashable, size: int) -> None:
        """Drops a key, and makes room for so many bytes, before the new value is created."""
        with self._lock:
            self._let_go(key)
            while self._held and self.size + size > self._limit:
                self._let_go(next(iter(self._held)))

    def drop(self, key: Hashable) -> None:
        """Drops a key, if it exists."""
        with self._lock:
            self._let_go(key)

    def _let_go(self, key: Hashable) -> None:
        _, size = self._held.pop(key, (None, 0))
        self.size -= size
