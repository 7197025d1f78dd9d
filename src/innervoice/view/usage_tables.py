"""The sums of a usage index -> the JSON of the usage page, its first sentences, and its CSV.

Steps are hours or days in UTC. Costs are at list prices, which is an estimate: discounts, batches and credits are not known here.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict

from innervoice.errors import UsageError
from innervoice.show.policy import counted
from innervoice.show.visible import one_line
from innervoice.view.usage import HOUR, CellKey, Sums

__all__ = ["MetricTotals", "UsageQuery", "UsageView", "query_of", "usage_csv", "usage_view"]

Step: TypeAlias = Literal["hour", "day"]
_HOURS: dict[Step, int] = {"hour": 1, "day": 24}
_MOST_STEPS = 2_500
_MOST_NAMES = 500
_DEFAULT_HOURS = 7 * 24
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that a spreadsheet would run."""


class UsageQuery(NamedTuple):
    """Which requests, and in which steps; hours since 1970, the last one not included."""

    start: int
    end: int
    step: Step
    provider: str = ""
    model: str = ""
    key: str = ""
    """The owner of a key, and its id if it has one, as `owner/id`."""


class FirstPiece(TypedDict):
    """Seconds until the first piece of an answer: exact, from every request."""

    p50: float
    p95: float
    max: float


class UsageSums(TypedDict):
    """The sums over some requests; tokens as providers counted them."""

    requests: int
    errors: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int
    unsplit_tokens: int
    """Output tokens of providers that do not say how many of them were thinking."""
    cost: float | None
    """In US dollars at list prices; None if no price is known."""
    reasoning_cost: float | None
    unpriced: int
    """Requests without a known price, which are not in `cost`."""
    kept: int
    restored: int
    omitted: int
    received: int
    first: FirstPiece | None


class UsageStep(UsageSums):
    """The sums of one step."""

    at: int
    """Its beginning, in seconds since 1970."""


class UsageName(UsageSums):
    """The sums of one provider, model or key."""

    name: str


class MetricTotals(TypedDict):
    """What a process has counted itself, while it keeps no log."""

    since: float
    providers: list[dict[str, Any]]


class UsageView(TypedDict):
    """The answer of `api/usage`."""

    start: int
    end: int
    step: Step
    words: list[str]
    """The first sentences of the page."""
    notes: list[str]
    """What the numbers do not contain."""
    total: UsageSums
    steps: list[UsageStep]
    models: list[UsageName]
    providers: list[UsageName]
    keys: list[UsageName]
    choices: dict[str, list[str]]
    """The names to filter by: those of the period."""
    is_partial: bool
    """Whether a part of the log is not read yet: the page asks again."""
    metrics: MetricTotals | None


# ---- The query of a URL.


def query_of(members: dict[str, str], now: float) -> UsageQuery:
    """The query in the members of a URL; raises `UsageError` that says what was expected."""
    step: Step = "hour" if members.get("step") == "hour" else "day"
    if members.get("step", "day") not in _HOURS:
        raise UsageError(f"step must be hour or day, not {one_line(members['step'], 40)!r}")
    hours = _HOURS[step]
    end = _hour(members["to"], "to", is_end=True) if members.get("to") else int(now // HOUR) + 1
    start = _hour(members["from"], "from") if members.get("from") else end - _DEFAULT_HOURS
    start, end = start // hours * hours, -(-end // hours) * hours
    if not 0 < (end - start) // hours <= _MOST_STEPS:
        raise UsageError(
            f"expected a period of 1 to {_MOST_STEPS:,} steps, from `from` to `to`, not {(end - start) // hours:,}"
        )
    names = {name: members.get(name, "") for name in ("provider", "model", "key")}
    return UsageQuery(start, end, step, **names)


def _hour(text: str, name: str, *, is_end: bool = False) -> int:
    """An hour, from seconds since 1970 or from a date."""
    try:
        if text.isdecimal() and len(text) <= 12:
            seconds = float(text)
        else:
            moment = datetime.fromisoformat(text)
            seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        return int(-(-seconds // HOUR) if is_end else seconds // HOUR)
    except (ValueError, OverflowError):
        raise UsageError(
            f"{name} must be a date such as 2026-11-01, or seconds since 1970, not {one_line(text, 40)!r}"
        ) from None


# ---- The answer.


Cells: TypeAlias = Iterable[tuple[CellKey, Sums]]


def usage_view(
    cells: Cells,
    query: UsageQuery,
    *,
    has_prices: bool,
    is_partial: bool,
    metrics: MetricTotals | None,
) -> UsageView:
    """The sums for a query."""
    inside = [cell for cell in cells if query.start <= cell[0].hour < query.end]
    cells_within = [cell for cell in inside if _fits(cell[0], query)]
    hours = _HOURS[query.step]
    by_step = _summed(cells_within, lambda key: key.hour // hours * hours)
    total = Sums()
    for _, sums in cells_within:
        total.add(sums)
    shown = _sums_of(total, has_prices=has_prices)
    steps = [
        UsageStep(at=hour * HOUR, **_sums_of(by_step.get(hour) or Sums(), has_prices=has_prices))
        for hour in range(query.start, query.end, hours)
    ]

    def names(name_of: Callable[[CellKey], str]) -> list[UsageName]:
        summed = sorted(_summed(cells_within, name_of).items(), key=_most_first)[:_MOST_NAMES]
        return [UsageName(name=name, **_sums_of(sums, has_prices=has_prices)) for name, sums in summed]  # fmt: skip

    return UsageView(
        start=query.start * HOUR,
        end=query.end * HOUR,
        step=query.step,
        words=_words(shown) if shown["requests"] else _metric_words(metrics),
        notes=[*_notes(shown, has_prices=has_prices), *_cut_names(cells_within)],
        total=shown,
        steps=steps,
        models=names(lambda key: key.model),
        providers=names(lambda key: key.provider),
        keys=names(key_name),
        choices={
            "provider": _choices(inside, lambda key: key.provider),
            "model": _choices(inside, lambda key: key.model),
            "key": _choices(inside, key_name),
        },
        is_partial=is_partial,
        metrics=metrics,
    )


def key_name(key: CellKey) -> str:
    """The owner of a key with the key's id, as the page and the query name it."""
    return f"{key.tenant}/{key.caller}" if key.caller else key.tenant


def _fits(key: CellKey, query: UsageQuery) -> bool:
    pairs = (query.provider, key.provider), (query.model, key.model), (query.key, key_name(key))
    return all(wanted in ("", name) for wanted, name in pairs)


def _summed(cells: Cells, name_of: Callable[[CellKey], Any]) -> dict[Any, Sums]:
    sums: dict[Any, Sums] = {}
    for key, cell in cells:
        sums.setdefault(name_of(key), Sums()).add(cell)
    return sums


def _most_first(item: tuple[str, Sums]) -> tuple[int, int, str]:
    name, sums = item
    return -sums.output_tokens, -sums.requests, name


def _choices(cells: Cells, name_of: Callable[[CellKey], str]) -> list[str]:
    return sorted({name for key, _ in cells if (name := name_of(key))})[:_MOST_NAMES]


def _sums_of(sums: Sums, *, has_prices: bool) -> UsageSums:
    is_priced = has_prices and not (sums.unpriced and not sums.cost)
    return UsageSums(
        requests=sums.requests,
        errors=sums.errors,
        input_tokens=sums.input_tokens,
        cached_tokens=sums.cached_tokens,
        output_tokens=sums.output_tokens,
        reasoning_tokens=sums.reasoning_tokens,
        unsplit_tokens=sums.unsplit_tokens,
        cost=float(sums.cost) if is_priced else None,
        reasoning_cost=float(sums.reasoning_cost) if is_priced else None,
        unpriced=sums.unpriced,
        kept=sums.kept,
        restored=sums.restored,
        omitted=sums.omitted,
        received=sums.received,
        first=_first_piece(sums),
    )


def _first_piece(sums: Sums) -> FirstPiece | None:
    if not sums.first:
        return None
    ordered = sorted(sums.first)
    last = len(ordered)
    # The nearest rank: a time that a request really took.
    p50, p95 = (ordered[-(-last * percent // 100) - 1] for percent in (50, 95))
    return FirstPiece(p50=p50, p95=p95, max=ordered[-1])


# ---- In words.


def _words(total: UsageSums) -> list[str]:
    """What costs nothing to know, in sentences."""
    output, reasoning = total["output_tokens"], total["reasoning_tokens"]
    split = output - total["unsplit_tokens"]
    money = total["reasoning_cost"]
    price = f", about {dollars(money)}" if money else ""
    words = []
    if split:
        words.append(f"Thinking was {_percent(reasoning, split)} of your output tokens{price}.")
    elif output:
        words.append(f"{counted(output, 'output token')}; no provider said how many were thinking.")
    if total["restored"]:
        were = "was" if total["restored"] == 1 else "were"
        words.append(
            f"{counted(total['restored'], 'thought')} that programs had dropped {were} restored."
        )
    requests = counted(total["requests"], "request")
    cost = "" if total["cost"] is None else f", about {dollars(total['cost'])} in all"
    failed = f", {counted(total['errors'], 'error')}" if total["errors"] else ", no error"
    words.append(f"{requests}{failed}{cost}.")
    return words


def _metric_words(metrics: MetricTotals | None) -> list[str]:
    """The same of a process that keeps no log; it does not know which providers count thinking."""
    providers = metrics["providers"] if metrics else []
    output, reasoning = (sum(one.get(name, 0) for one in providers) for name in ("output", "reasoning"))  # fmt: skip
    share = _percent(reasoning, output) if output else ""
    return [f"Thinking was at least {share} of the output tokens since the start."] if share else []


def dollars(amount: float) -> str:
    """An amount of money, as precise as it is useful."""
    if amount >= 100:
        return f"${amount:,.0f}"
    return f"${amount:.2f}" if amount >= 0.01 else "less than one cent"


def _percent(part: int, whole: int) -> str:
    share = 100 * part / whole
    if 0 < share < 1:
        return "less than 1 %"
    return "more than 99 %" if 99 < share < 100 else f"{share:.0f} %"


def _notes(total: UsageSums, *, has_prices: bool) -> list[str]:
    notes = []
    if not has_prices:
        notes.append(
            "Costs are not known: public prices come with the extra [prices] where the requests are counted."
        )
    elif total["cost"]:
        notes.append("Costs are estimates at list prices, without discounts, batches and credits.")
    if has_prices and total["unpriced"]:
        notes.append(
            f"Not in the costs: {counted(total['unpriced'], 'request')} to models without a public price."
        )
    if total["unsplit_tokens"] and total["output_tokens"]:
        share = _percent(total["unsplit_tokens"], total["output_tokens"])
        notes.append(
            f"{share} of the output tokens are from answers whose provider does not count thinking; they are not in the share of thinking."
        )
    return notes


def _cut_names(cells: Cells) -> list[str]:
    """What is said if there are too many names for a page."""
    most = max(
        len({name_of(key) for key, _ in cells}) for name_of in (lambda key: key.model, key_name)
    )
    if most <= _MOST_NAMES:
        return []
    return [f"The tables have the first {_MOST_NAMES:,} names, by output tokens; the CSV has all."]


# ---- As a table for other programs.


_COLUMNS = (
    "requests", "errors", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens", "unsplit_tokens", "cost", "reasoning_cost",
    "unpriced", "kept", "restored", "omitted", "received",
)  # fmt: skip
_FIRSTS = ("p50", "p95", "max")


def usage_csv(cells: Cells, query: UsageQuery, *, has_prices: bool) -> str:
    """One line for each step, key, provider and model; costs in US dollars, times in seconds."""
    hours = _HOURS[query.step]
    cells_within = [cell for cell in cells if query.start <= cell[0].hour < query.end and _fits(cell[0], query)]  # fmt: skip
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\r\n")
    writer.writerow(
        ["time", "key", "provider", "model", *_COLUMNS, *(f"first_piece_{name}" for name in _FIRSTS)]
    )  # fmt: skip
    summed = _summed(
        cells_within,
        lambda key: (key.hour // hours * hours, key_name(key), key.provider, key.model),
    )
    for (hour, *names), sums in sorted(summed.items(), key=lambda item: item[0]):
        shown = _sums_of(sums, has_prices=has_prices)
        time = datetime.fromtimestamp(hour * HOUR, UTC).strftime("%Y-%m-%dT%H:%MZ")
        first = shown["first"]
        numbers = [shown[name] for name in _COLUMNS]  # type: ignore[literal-required]
        times = [first[name] if first else "" for name in _FIRSTS]  # type: ignore[literal-required]
        writer.writerow([time, *map(_cell, names), *("" if one is None else one for one in numbers), *times])  # fmt: skip
    return table.getvalue()


def _cell(text: str) -> str:
    """A name that a caller may have chosen, which no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text
