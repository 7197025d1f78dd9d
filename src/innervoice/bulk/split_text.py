"""The columns of a text, and its status."""

from __future__ import annotations

from typing import NamedTuple

from innervoice.canon.response import Status

__all__ = ["SplitText", "status_of"]


class SplitText(NamedTuple):
    """The columns of a text."""

    answer: str | None
    """None only where there is no text at all, as in a row that cannot be read."""
    reasoning: str | None
    status: str
    notes: tuple[str, ...] = ()
    markup: str | None = None
    """The name of the tag, or of the row of `inline/formats.py`."""


def status_of(
    finish: str | None, *, answered: bool, is_open: bool = False, calls: bool = False
) -> Status:
    """The status of a complete text, as in `Response.status`."""
    if finish == "refusal":
        return "refused"
    if finish == "length":
        return "truncated" if answered or calls else "budget_exhausted"
    if calls:
        return "tool_calls"
    if answered:
        return "answered"
    return "stopped_inside_thinking" if is_open else "empty"
