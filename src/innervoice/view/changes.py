"""Rows before and after a change of their file -> the events that turn the first into the second.

Rows are identified by their number. `row` puts a row at its number, `grow` appends to its text, `gone` removes it; a row that became another
one (a thought that turned out to be text) is `gone` first. Only sketches of the earlier rows are kept: a conversation may be large, and is in memory
once already.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from innervoice.canon.jsontext import dump_json
from innervoice.view.row_types import Growth, Row

__all__ = ["Change", "EventName", "Sketch", "changes", "sketch_of"]

EventName: TypeAlias = Literal["row", "grow", "gone", "head", "sources", "reset"]

_CARRIED = ("first", "opening", "cut")
_GROWING = ("text", "facts", *_CARRIED)
_SAME = ("turn", "part", "kind", "role")
"""What stays the same as long as a row is the same row."""


class Change(NamedTuple):
    """An event for the page."""

    name: EventName
    data: Any


class Sketch(NamedTuple):
    """What must be known about a row to find out how it changed; texts by their hashes."""

    n: int
    same: int
    """A hash of what identifies the row."""
    fixed: int
    """A hash of everything that does not grow."""
    facts: int
    carried: tuple[int | None, ...]
    length: int
    text: int
    units: int
    """The length of its text as JavaScript counts."""


def sketch_of(row: Row) -> Sketch:
    """The sketch of a row."""
    members = cast("dict[str, Any]", row)
    text = row["text"]
    return Sketch(
        n=row["n"],
        same=hash(tuple(members[name] for name in _SAME)),
        fixed=hash(dump_json({name: members[name] for name in members if name not in _GROWING})),
        facts=hash(dump_json(row["facts"])),
        carried=tuple(hash(members[name]) if name in members else None for name in _CARRIED),
        length=len(text),
        text=hash(text),
        units=len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2,
    )


def changes(old: Sequence[Sketch], new: Sequence[Row]) -> Iterator[Change]:
    """The events, in the order in which they are applied."""
    for before in reversed(old[len(new) :]):
        yield Change("gone", {"n": before.n})
    for before, row in zip(old, new, strict=False):
        yield from _change(before, row)
    for row in new[len(old) :]:
        yield Change("row", row)


def _change(before: Sketch, row: Row) -> Iterator[Change]:
    after = sketch_of(row)
    if before == after:
        return
    # A text that is no longer the same was replaced, not continued.
    goes_on = after.length >= before.length and hash(row["text"][: before.length]) == before.text
    growth = _growth(before, after, row) if goes_on else None
    if growth is not None:
        yield Change("grow", growth)
        return
    if before.same != after.same or not goes_on:
        yield Change("gone", {"n": before.n})
    yield Change("row", row)


def _growth(before: Sketch, after: Sketch, row: Row) -> Growth | None:
    """The appended text; None if anything else changed."""
    carried = dict(zip(_CARRIED, zip(before.carried, after.carried, strict=True), strict=True))
    is_longer = after.length > before.length or carried["cut"][0] != carried["cut"][1]
    is_lost = any(was is not None and now is None for was, now in carried.values())
    if (before.same, before.fixed) != (after.same, after.fixed) or is_lost or not is_longer:
        return None
    growth = {"n": row["n"], "at": before.units, "text": row["text"][before.length :]}
    members = cast("dict[str, Any]", row)
    changed = {name: members[name] for name, (was, now) in carried.items() if was != now}
    return cast("Growth", growth | {"facts": row["facts"]} | changed)
