"""A map with a limit: what is kept in a process must not grow with the number of requests, conversations or callers."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["Bounded"]

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Bounded(OrderedDict[_Key, _Value]):
    """A map of at most `limit` entries; the one that was set or used least recently goes first.

    With `weight`, an entry counts as much as that says, for example its bytes.
    """

    def __init__(self, limit: int, weight: Callable[[_Value], int] | None = None) -> None:
        super().__init__()
        self._limit, self._weight = limit, weight
        self._weights = 0

    @property
    def total(self) -> int:
        """How much all entries count together."""
        return len(self) if self._weight is None else self._weights

    def __setitem__(self, key: _Key, value: _Value) -> None:
        if self._weight is not None:
            self.pop(key, None)
            self._weights += self._weight(value)
        super().__setitem__(key, value)
        self.move_to_end(key)
        while self.total > self._limit:
            self.pop(next(iter(self)))

    def __delitem__(self, key: _Key) -> None:
        if self._weight is not None and key in self:
            self._weights -= self._weight(self[key])
        super().__delitem__(key)

    def pop(self, key: _Key, default: Any = None) -> Any:
        """Removes an entry and returns its value; `default` if there is none. Whether the base class calls `__delitem__` depends on the Python."""
        if key not in self:
            return default
        value = self[key]
        del self[key]
        return value

    def clear(self) -> None:
        """Removes all entries."""
        super().clear()
        self._weights = 0

    def used(self, key: _Key) -> _Value | None:
        """The value of a key, which counts as used now; None if there is none."""
        value = self.get(key)
        if value is not None:
            self.move_to_end(key)
        return value
