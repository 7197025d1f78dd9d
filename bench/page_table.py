"""Tables of docs/performance.md, and numbers in them."""

from __future__ import annotations

from collections.abc import Iterable

from goals import Outcome


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    head = list(head)
    lines = [head, ["---"] * len(head), *map(list, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def times(ratio: float) -> str:
    """A ratio as text."""
    if ratio >= 100:
        return f"{ratio:.0f}x"
    return f"{ratio:.1f}x" if ratio >= 10 else f"{ratio:.2f}x"


def shown_range(outcome: Outcome) -> str:
    """The lowest and the highest value of an outcome."""
    if not outcome.values:
        return ""
    low, high = min(outcome.values.values()), max(outcome.values.values())
    if len(outcome.values) == 1 or times(low) == times(high):
        return times(high)
    return f"{times(low)} to {times(high)}"
