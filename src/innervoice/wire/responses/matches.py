"""Which item of a terminal response is which item of the stream before it.

The terminal response may lack items, have more of them, or have them in another order. An item is matched by its id or the id of its
call; if its id is new, by its type and text, because GitHub Copilot changes ids with every event.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import Any

from innervoice.wire.json_access import as_dict, as_text
from innervoice.wire.responses.items import Item, text_of

__all__ = ["Matches"]

_COMPARED = 16
"""How many items are compared by their text: nearly always the first one matches, and the time stays linear."""


class Matches:
    """The items of the stream, until the items of a terminal response claim them."""

    def __init__(self, items: list[Item], output: list[Any]) -> None:
        named: dict[tuple[str, str], list[Item]] = {}
        for item in items:
            for key in _keys(item.item):
                named.setdefault(key, []).append(item)
        self._named = named
        keys = (key for item in output for key in _keys(as_dict(item)))
        reserved = {item.index for key in keys for item in named.get(key, ())}
        self._unnamed: dict[str, deque[Item]] = {}
        for item in items:
            if item.index not in reserved:
                self._unnamed.setdefault(item.type, deque()).append(item)
        self._claimed: set[int] = set()

    def of(self, item: dict[str, Any]) -> Item | None:
        """The matching item of the stream, or None for one that is new."""
        named = [found for key in _keys(item) for found in self._named.get(key, ())]
        for found in named:
            if found.index not in self._claimed:
                self._claimed.add(found.index)
                return found
        text = text_of(item)
        # An item that occurs twice in the terminal response is one item.
        again = (found for found in named if found.text == text)
        return next(again, None) or self._alike(as_text(item.get("type")) or "", text)

    def _alike(self, kind: str, text: str) -> Item | None:
        left, text = self._unnamed.get(kind, deque()), text.strip()
        for item in islice(left, _COMPARED):
            came = item.text.strip()
            if text.startswith(came) or came.startswith(text):
                left.remove(item)
                return item
        return None


def _keys(item: dict[str, Any]) -> list[tuple[str, str]]:
    """The names of an item, each with the item's type: some servers use the same name for all items."""
    kind = as_text(item.get("type")) or ""
    names = (item.get("id"), item.get("call_id"))
    return [(kind, name) for name in names if isinstance(name, str) and name]
