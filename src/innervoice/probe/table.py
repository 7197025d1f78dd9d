"""Results -> what people and programs read: a table, and JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from innervoice.catalog.fact_sources import shown_value
from innervoice.probe.run import Estimate, ProbeResult
from innervoice.show.visible import visible

__all__ = ["as_json", "estimate_line", "summary_lines", "table_lines"]

_WIDEST = {"catalog": 26, "measured": 26}
_WORDS = {"differs": "DIFFERS"}
_LONGEST_REASON = 90


def estimate_line(estimate: Estimate) -> str:
    """What a run takes."""
    cost = (
        "the price is unknown"
        if estimate.dollars is None
        else f"at most {_dollars(estimate.dollars)}"
    )
    return f"about {estimate.requests} small requests, {cost}"


def _dollars(amount: Decimal) -> str:
    return f"${amount:.2f}" if amount >= Decimal("0.01") else "$0.01"


def table_lines(
    results: Sequence[ProbeResult], mark: Callable[[str, str], str] = lambda text, _: text
) -> list[str]:
    """The table; `mark` adds colours to a text, by its status."""
    rows = [
        (result.fact.fact, _expected(result), _measured(result), _verdict(result), result.status)
        for result in results
    ]
    widths = [
        max([len(head), *(len(row[number]) for row in rows)])
        for number, head in enumerate(("fact", "catalog", "measured"))
    ]
    lines = [_line(("fact", "catalog", "measured"), widths)]
    for *cells, verdict, status in rows:
        lines.append(f"{_line(cells, widths)}  {mark(verdict, status)}".rstrip())
    return lines


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(f"{cell:{width}}" for cell, width in zip(cells, widths, strict=True))


def _expected(result: ProbeResult) -> str:
    return _short(result.expected.text if result.expected else "-", _WIDEST["catalog"])


def _measured(result: ProbeResult) -> str:
    if result.measured is None:
        return "-"
    other = " (other words)" if result.status == "differs in words" else ""
    return _short(result.measured.text, _WIDEST["measured"] - len(other)) + other


def _short(text: str, longest: int) -> str:
    """A text in one line of a table; the words of a server may have anything in them."""
    text = visible(" ".join(text.split()))
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def _verdict(result: ProbeResult) -> str:
    if result.status in ("not measured", "settled"):
        reason = result.reason.removeprefix("settled: ")
        return f"not measured: {_short(reason, _LONGEST_REASON)}"
    return _WORDS.get(result.status, result.status)


def summary_lines(results: Sequence[ProbeResult], *, saves: bool, records: bool) -> list[str]:
    """What to do with the differences."""
    differing = [result for result in results if result.status == "differs"]
    missing = [result for result in results if result.status == "not measured"]
    hints = []
    if any(result.column for result in differing) and not saves:
        hints.append("innervoice probe --save writes them to your catalog")
    if not records:
        hints.append("--record DIR keeps the redacted traffic")
    lines = []
    if differing:
        count = f"{len(differing)} differ{'s' if len(differing) == 1 else ''}"
        lines.append(f"{count}{': ' if hints else ''}{'; '.join(hints)}")
    else:
        lines.append("nothing differs from the catalog" if results else "nothing was measured")
    if missing:
        lines.append(f"{len(missing)} not measured: run it again, or with --only {','.join(result.fact.id for result in missing)}")  # fmt: skip
    return lines


def as_json(
    model: str,
    base_url: str,
    results: Sequence[ProbeResult],
    *,
    requests: int,
    dollars: Decimal | None,
    stopped: str,
) -> dict[str, Any]:
    """The results for programs."""
    return {
        "model": model,
        "base_url": base_url,
        "requests": requests,
        "usd": None if dollars is None else float(dollars),
        "stopped": stopped or None,
        "facts": [_fact(result) for result in results],
    }


def _fact(result: ProbeResult) -> dict[str, Any]:
    column = result.column
    members = {
        "id": result.fact.id,
        "fact": result.fact.fact,
        "column": result.fact.column,
        "status": result.status,
        "catalog": result.expected.value if result.expected else None,
        "measured": result.measured.value if result.measured else None,
        "words": (result.measured.said if result.measured else "") or None,
        "reason": result.reason or None,
    }
    if column is not None:
        members["saves"] = {"column": f"{column.table}.{column.name}", "value": column.value}
        members["saves_text"] = shown_value(column.value)
    return members
