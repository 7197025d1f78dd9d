"""A map with a limit: what is kept in a process must not grow with the number of requests, conversations or callers."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

__all__ = ["Bounded"]

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Bounded(OrderedDict[_Key, _Value]):
    """A map of at most `limit` entries; the one that was set or used least recently goes first."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    def __setitem__(self, key: _Key, value: _Value) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        while len(self) > self._limit:
            self.popitem(last=False)

    def used(self, key: _Key) -> _Value | None:
        """The value of a key, which counts as used now; None if there is none."""
        value = self.get(key)
        if value is not None:
            self.move_to_end(key)
        return value
