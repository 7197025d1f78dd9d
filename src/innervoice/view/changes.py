"""Rows before and after a change of their file -> the events that turn the first into the second.

Rows are told apart by their number. `row` puts a row at its number, `grow` appends to its text, `gone` takes it away; a row that became another
one (a thought that turned out to be text) is `gone` first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from innervoice.view.row_types import Growth, Row

__all__ = ["Change", "EventName", "changes"]

EventName: TypeAlias = Literal["row", "grow", "gone", "head", "sources", "reset"]

_GROWING = ("text", "facts", "first", "opening", "cut")
_CARRIED = ("first", "opening", "cut")
_SAME = ("turn", "part", "kind", "role")
"""What a row keeps as long as it is the same row."""


class Change(NamedTuple):
    """An event for the page."""

    name: EventName
    data: Any


def changes(old: Sequence[Row], new: Sequence[Row]) -> Iterator[Change]:
    """The events, in the order in which they are applied."""
    for row in reversed(old[len(new) :]):
        yield Change("gone", {"n": row["n"]})
    for before, after in zip(old, new, strict=False):
        yield from _change(before, after)
    for row in new[len(old) :]:
        yield Change("row", row)


def _change(before: Row, after: Row) -> Iterator[Change]:
    if before == after:
        return
    growth = _growth(before, after)
    if growth is not None:
        yield Change("grow", growth)
        return
    # A text that is not the same any more was taken back, not continued.
    is_same = all(before.get(name) == after.get(name) for name in _SAME)
    if not is_same or not after["text"].startswith(before["text"]):
        yield Change("gone", {"n": before["n"]})
    yield Change("row", after)


def _growth(before: Row, after: Row) -> Growth | None:
    """What was appended; None if anything else changed."""
    fixed = (before.keys() | after.keys()) - set(_GROWING)
    if any(before.get(name) != after.get(name) for name in fixed):
        return None
    if any(name in before and name not in after for name in _CARRIED):
        return None
    text = before["text"]
    is_longer = len(after["text"]) > len(text) or before.get("cut") != after.get("cut")
    if not is_longer or not after["text"].startswith(text):
        return None
    carried = {name: after.get(name) for name in _CARRIED if before.get(name) != after.get(name)}
    growth = {"n": after["n"], "at": _in_utf16(text), "text": after["text"][len(text) :]}
    return cast("Growth", growth | {"facts": after["facts"]} | carried)


def _in_utf16(text: str) -> int:
    """How many units JavaScript counts."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
