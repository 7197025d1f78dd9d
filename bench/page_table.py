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


def shown_range(outcome: Outcome, unit: str = "x") -> str:
    """The lowest and the highest value of an outcome."""
    if not outcome.values:
        return ""
    low, high = (_with(unit, pick(outcome.values.values())) for pick in (min, max))
    if len(outcome.values) == 1 or low == high:
        return high
    return f"{low.removesuffix(unit) if unit != 'x' else low} to {high}"


def _with(unit: str, value: float) -> str:
    return times(value) if unit == "x" else f"{value:.2f}{unit}"
