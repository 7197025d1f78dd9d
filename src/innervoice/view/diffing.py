"""Two lists of lines -> the differences, with a few equal lines around them; a line says how many others are equal.

Requests of one conversation differ in a few lines of thousands. Equal lines at both ends are found first, and only the lines in between are passed to
`difflib`, up to a size at which it stays fast.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

from innervoice.view.row_types import DiffLine

__all__ = ["diff_lines"]

_CONTEXT = 3
_MOST_COMPARED = 3000
_MOST_SHOWN = 4000
_MOST_AT_AN_END = 900
_LONGEST = 2000


def diff_lines(left: Sequence[str], right: Sequence[str]) -> list[DiffLine]:
    """The lines removed from `left` and added in `right`, in order."""
    return list(_bounded(_with_cuts(_compared(left, right))))


def _compared(left: Sequence[str], right: Sequence[str]) -> Iterator[DiffLine]:
    shorter = min(len(left), len(right))
    start = next((n for n in range(shorter) if left[n] != right[n]), shorter)
    end = 0
    while end < shorter - start and left[-1 - end] == right[-1 - end]:
        end += 1
    yield from _lines("same", left[:start])
    yield from _middle(left[start : len(left) - end], right[start : len(right) - end])
    yield from _lines("same", left[len(left) - end :])


def _middle(left: Sequence[str], right: Sequence[str]) -> Iterator[DiffLine]:
    if not left or not right or max(len(left), len(right)) > _MOST_COMPARED:
        yield from _ends("removed", left)
        yield from _ends("added", right)
        return
    for word, one, other, third, fourth in SequenceMatcher(None, left, right).get_opcodes():
        if word == "equal":
            yield from _lines("same", left[one:other])
        else:
            yield from _lines("removed", left[one:other])
            yield from _lines("added", right[third:fourth])


def _ends(op: Literal["removed", "added"], lines: Sequence[str]) -> Iterator[DiffLine]:
    """The beginning and the end of many lines, so that both sides are visible."""
    if len(lines) <= 2 * _MOST_AT_AN_END:
        yield from _lines(op, lines)
        return
    left_out = len(lines) - 2 * _MOST_AT_AN_END
    yield from _lines(op, lines[:_MOST_AT_AN_END])
    yield {"op": op, "text": f"… {left_out:,} more lines …"}
    yield from _lines(op, lines[-_MOST_AT_AN_END:])


def _lines(op: Literal["same", "removed", "added"], lines: Sequence[str]) -> Iterator[DiffLine]:
    for line in lines:
        yield {"op": op, "text": line if len(line) <= _LONGEST else _shortened(line)}


def _shortened(line: str) -> str:
    return f"{line[:_LONGEST]} … {len(line) - _LONGEST:,} more characters"


def _with_cuts(lines: Iterator[DiffLine]) -> Iterator[DiffLine]:
    """Leaves out the middle of a long run of equal lines."""
    same: list[DiffLine] = []
    changed = False
    for line in lines:
        if line["op"] == "same":
            same.append(line)
            continue
        yield from _cut(same, before=_CONTEXT if changed else 0, after=_CONTEXT)
        same, changed = [], True
        yield line
    yield from _cut(same, before=_CONTEXT if changed else 0, after=0)


def _cut(same: list[DiffLine], *, before: int, after: int) -> Iterator[DiffLine]:
    left_out = len(same) - before - after
    if left_out <= 1:
        yield from same
        return
    yield from same[:before]
    yield {"op": "same", "text": f"… {left_out:,} lines are the same …"}
    yield from same[len(same) - after :] if after else ()


def _bounded(lines: Iterator[DiffLine]) -> Iterator[DiffLine]:
    number = 0
    for line in lines:
        number += 1
        if number <= _MOST_SHOWN:
            yield line
    if number > _MOST_SHOWN:
        yield {"op": "same", "text": f"… {number - _MOST_SHOWN:,} more lines are not shown …"}
