"""The body of a request with a tool loop -> the same with another history: reasoning dropped, seals changed or removed.

Works on JSON, by the names that each dialect has for reasoning and its seals (`wire/dialect.py`).
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from innervoice.wire.dialect import Dialect
from innervoice.wire.dialects import dialect_named
from innervoice.wire.json_access import as_dict

__all__ = ["Change", "has_seals", "tampered"]

Change: TypeAlias = Literal[
    "intact", "dropped", "changed", "unsigned", "rewritten", "prefix", "sibling"
]
"""What is done to the reasoning of a loop: nothing; it is left out; its seals are changed; its seals are left out; its words are
changed; the question before it is changed; it is that of another model of the family, with other words."""

WORDS = "Let me think about something else."


_TEXTS = ("thinking", "text", "summary", "reasoning_content", "reasoning")
"""Members with the words of reasoning."""
_IDS = frozenset({"id"})


def tampered(body: dict[str, Any], history: str, change: Change, dialect: str) -> dict[str, Any]:
    """The body with a changed history."""
    places = dialect_named(dialect)
    seals = frozenset(places.seals) - _IDS
    items = body[history]
    match change:
        case "dropped":
            items = _without(items, places, seals)
        case "changed":
            items = _mapped(items, seals, _swapped)
        case "unsigned":
            items = _mapped(_reworded(items, places, only_empty=True), seals, None)
        case "rewritten" | "sibling":
            items = _reworded(items, places, only_empty=False)
        case _:
            return body
    return {**body, history: items}


def has_seals(turn: Any, dialect: str) -> bool:
    """Whether a turn has a seal."""
    seals = frozenset(dialect_named(dialect).seals) - _IDS
    found: list[str] = []

    def kept(seal: str) -> str:
        found.append(seal)
        return seal

    _mapped(turn, seals, kept)
    return any(found)


def _is_block(item: Any, places: Dialect) -> bool:
    block = as_dict(item)
    return block.get("type") in places.reasoning_blocks or any(
        name in block for name in places.reasoning_keys
    )


def _without(value: Any, places: Dialect, seals: frozenset[str]) -> Any:
    """A history without reasoning: blocks, members and seals elsewhere."""
    if isinstance(value, list):
        return [_without(item, places, seals) for item in value if not _is_block(item, places)]
    if isinstance(value, dict):
        gone = {*places.reasoning_members, *(seals - {"data"})}
        return {
            key: _without(item, places, seals) for key, item in value.items() if key not in gone
        }
    return value


def _mapped(value: Any, names: frozenset[str], change: Any) -> Any:
    """A history whose seals are changed by a function, or left out if there is none."""
    if isinstance(value, list):
        return [_mapped(item, names, change) for item in value]
    if not isinstance(value, dict):
        return value
    mapped = {}
    for key, item in value.items():
        if key not in names or not isinstance(item, str) or not _is_seal(key, value):
            mapped[key] = _mapped(item, names, change)
        elif change is not None:
            mapped[key] = change(item)
    return mapped


def _is_seal(key: str, block: dict[str, Any]) -> bool:
    """`data` is a seal in blocks of reasoning only; elsewhere it is a file."""
    return (
        key != "data"
        or "thinking" in str(block.get("type"))
        or "reasoning" in str(block.get("type"))
    )


def _swapped(seal: str) -> str:
    """A seal with another character in its middle; it stays valid base64."""
    middle = len(seal) // 2
    return f"{seal[:middle]}{'B' if seal[middle : middle + 1] == 'A' else 'A'}{seal[middle + 1 :]}"


def _reworded(items: Any, places: Dialect, *, only_empty: bool) -> Any:
    """A history whose reasoning has other words; with `only_empty`, only where it has none."""
    if isinstance(items, list):
        return [
            _with_words(item, only_empty=only_empty)
            if _is_block(item, places)
            else _reworded(item, places, only_empty=only_empty)
            for item in items
        ]
    if not isinstance(items, dict):
        return items
    return {
        key: _words(item, only_empty=only_empty)
        if key in places.reasoning_members and isinstance(item, str)
        else _reworded(item, places, only_empty=only_empty)
        for key, item in items.items()
    }


def _with_words(value: Any, *, only_empty: bool) -> Any:
    if isinstance(value, list):
        return [_with_words(item, only_empty=only_empty) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _words(item, only_empty=only_empty)
        if key in _TEXTS and isinstance(item, str)
        else _with_words(item, only_empty=only_empty)
        for key, item in value.items()
    }


def _words(text: str, *, only_empty: bool) -> str:
    return text if text and only_empty else WORDS
