"""A cache that is bounded by bytes, not by the number of what it holds."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

__all__ = ["BoundedCache"]

Held = TypeVar("Held")


class BoundedCache(Generic[Held]):
    """Keeps what was used last, up to so many bytes; the newest stays, however large it is, because it is being read."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held: OrderedDict[Hashable, tuple[Held, int]] = OrderedDict()
        self._lock = Lock()
        self.size = 0

    def get(self, key: Hashable) -> Held | None:
        """What is held under a key."""
        with self._lock:
            if key not in self._held:
                return None
            self._held.move_to_end(key)
            return self._held[key][0]

    def put(self, key: Hashable, held: Held, size: int) -> None:
        """Holds something of this many bytes, and lets go of what was used longest ago."""
        with self._lock:
            self._let_go(key)
            self._held[key] = held, size
            self.size += size
            while self.size > self._limit and len(self._held) > 1:
                self._let_go(next(iter(self._held)))

    def make_room(self, key: Hashable, size: int) -> None:
        """Lets go of what was under a key and of what would not fit beside so many bytes, before they are made."""
        with self._lock:
            self._let_go(key)
            while self._held and self.size + size > self._limit:
                self._let_go(next(iter(self._held)))

    def drop(self, key: Hashable) -> None:
        """Lets go of a key, if it is held."""
        with self._lock:
            self._let_go(key)

    def _let_go(self, key: Hashable) -> None:
        _, size = self._held.pop(key, (None, 0))
        self.size -= size
