"""The limits of callers: requests and tokens per minute, concurrent answers, and a budget.

One call of the store at the start of a request reads and counts, one at its end adds what it used. Tokens and money are reserved while a
request is in progress, by an estimate: concurrent requests cannot use a limit several times. A request does not count against itself, so
one that is larger than a limit is served as the only one.

A rate is measured over the last sixty seconds, in counters of one second and of ten.

What is in progress (answers, reserved tokens and money) is counted in this minute and the next, and renewed once a minute: the counts of a
crashed process are gone after two.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from innervoice.canon.bounded import Bounded
from innervoice.canon.notes import Note
from innervoice.canon.response import Response
from innervoice.canon.usage import Usage
from innervoice.errors import UsageError
from innervoice.gateway.callers import ANYBODY, Caller, Period
from innervoice.gateway.errors import (
    budget_reserved,
    budget_spent,
    too_many_in_a_minute,
    too_many_streams,
)
from innervoice.gateway.limits import LIMITS
from innervoice.gateway.report import Report
from innervoice.memory.store_calls import SlowStoreError, StoreCalls
from innervoice.memory.stores.store import Store, StoreError
from innervoice.pricing import cost
from innervoice.wire.refusals import Refusal, Refused

__all__ = [
    "Expected",
    "PeriodOfTime",
    "Quotas",
    "SharedCounts",
    "Sums",
    "Underway",
    "Window",
    "cost_of",
    "period_at",
]

_MINUTE = 60.0
_KEPT = 4 * _MINUTE
"""How long a counter of a minute is kept: it is read in the next one, and clocks differ."""
_LATER = 86_400.0
_EVER = 100 * 366 * 86_400.0


class PeriodOfTime(NamedTuple):
    """A day, a week or a month of the calendar, in UTC; or all time."""

    name: str
    ends: datetime | None


def period_at(period: Period, now: float) -> PeriodOfTime:
    """The period that contains a moment."""
    today = datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    match period:
        case "day":
            return PeriodOfTime(f"{today:%Y-%m-%d}", today + timedelta(days=1))
        case "week":
            monday = today - timedelta(days=today.weekday())
            return PeriodOfTime(f"week of {monday:%Y-%m-%d}", monday + timedelta(days=7))
        case "month":
            first = today.replace(day=1)
            return PeriodOfTime(f"{today:%Y-%m}", (first + timedelta(days=32)).replace(day=1))
        case "total":
            return PeriodOfTime("total", None)


class Window:
    """The counters of the sixty seconds before a moment, and of the second of that moment.

    Older tens of seconds that are in it only in part are read second by second, the others at once: sixteen counters instead of sixty-one.
    """

    def __init__(self, prefix: str, now: float) -> None:
        self._prefix, self._now = prefix, now
        self._second = int(now)

    @property
    def added(self) -> tuple[str, str]:
        """The counters that grow at this moment."""
        return f"{self._prefix}/s{self._second}", f"{self._prefix}/t{self._second // 10}"

    @property
    def read(self) -> list[str]:
        """The counters whose sum is what the window has."""
        oldest, ten = self._second - 60, self._second // 10
        seconds = (f"{self._prefix}/s{second}" for second in range(oldest, (ten - 5) * 10))
        return [*seconds, *(f"{self._prefix}/t{number}" for number in range(ten - 5, ten + 1))]

    @property
    def seconds(self) -> list[str]:
        """The counters of its seconds, the oldest first."""
        return [f"{self._prefix}/s{self._second - age}" for age in range(60, -1, -1)]

    def total(self, sums: Mapping[str, float]) -> float:
        """What the window has."""
        return sum(sums[name] for name in self.read)

    def wait(self, sums: Mapping[str, float], room: float) -> float:
        """The seconds until the window has at most `room`, if nothing is added; `sums` has the counters of its seconds."""
        total = sum(sums[name] for name in self.seconds)
        for age, name in zip(range(60, -1, -1), self.seconds, strict=True):
            if total <= room:
                break
            total -= sums[name]
            left = self._second - age + 61 - self._now
            if total <= room:
                return left
        return 0.0


class Expected(NamedTuple):
    """What a request will probably use."""

    tokens: float
    cost: float = 0.0
    """In US dollars; 0 if the price is unknown."""


@dataclass(slots=True, eq=False)
class Underway:
    """A request that has begun."""

    caller: Caller
    amounts: dict[str, float] = field(default_factory=dict)
    """What it counts for as long as it is in progress: streams, reserved tokens, reserved money."""
    counted_until: int = 0
    """The last minute in which it is counted so; 0 if it is not."""
    tokens: int = 0
    """What it used and is counted already."""
    cost: float = 0.0
    """The same in dollars."""


class Quotas:
    """Enforces the limits of callers in one process, together with the others that share its store."""

    def __init__(self, counts: SharedCounts, *, now: Callable[[], float] = time.time) -> None:
        self._counts = counts
        self.now = now
        self.streams_per_key = 1000
        self._open: dict[str, int] = {}
        self._counted: set[Underway] = set()
        self._renewing: asyncio.Task[None] | None = None

    async def begin(
        self,
        caller: Caller,
        report: Report,
        expected: Callable[[], Expected],
        dialect: str | None = None,
    ) -> Underway | None:
        """Counts a request; raises `Refused` if a limit is reached. None for a caller without limits.

        `expected` says what it will probably use; it is called only if a limit needs that. `dialect` is the one whose words a refusal has, if it
        is not that of the report.
        """
        if caller is ANYBODY:
            return None
        most = self.streams_per_key if caller.streams is None else caller.streams
        counter = _counter_of(caller)
        if self._open.get(counter, 0) >= most:
            report.limited = "streams"
            raise Refused(too_many_streams(most))
        self._open[counter] = self._open.get(counter, 0) + 1
        underway = Underway(caller)
        if caller.is_counted:
            report.needs_usage = caller.tpm is not None or caller.budget is not None
            underway.amounts = _reserved(caller, expected() if report.needs_usage else Expected(0))
            try:
                await self._count(underway, report, dialect or report.dialect)
            except BaseException:
                self._close(underway)
                raise
        return underway

    async def end(self, underway: Underway, report: Report) -> None:
        """Counts what a request used."""
        caller, now = underway.caller, self.now()
        self._close(underway)
        if not caller.is_counted:
            return
        # What it cost before what was reserved for it: another request sees one of them at any time.
        await self._add_cost(underway, report, now)
        amounts = self._given_back(underway, now) | self._new_tokens(underway, report, now)
        if amounts:
            await self._add(amounts, _KEPT, report)

    async def book(self, underway: Underway, report: Report, dialect: str) -> Refusal | None:
        """Counts what a request used so far that goes on for long; returns why its caller may not use more, if a limit is reached."""
        caller, now = underway.caller, self.now()
        if not report.needs_usage:
            return None
        spent = await self._add_cost(underway, report, now, always=True)
        window = _window(caller, "tokens", now)
        read = dict.fromkeys((*window.read, *window.seconds), 0.0)
        added = self._new_tokens(underway, report, now)
        sums = {**spent, **await self._add(read | added, _KEPT, report)}
        if caller.budget is not None:
            period = period_at(caller.budget.period, now)
            if sums[_name(caller, "cost", period.name)] >= caller.budget.amount:
                return _refusal(underway, "budget", sums, now, dialect)
        if caller.tpm is not None and window.total(sums) >= caller.tpm:
            return _refusal(underway, "tokens", sums, now, dialect)
        return None

    def _new_tokens(self, underway: Underway, report: Report, now: float) -> dict[str, float]:
        """What is to be added to the counters for tokens that are not counted yet."""
        caller, tokens = underway.caller, _tokens(report) - underway.tokens
        if caller.tpm is None or not tokens:
            return {}
        underway.tokens += tokens
        return dict.fromkeys(_window(caller, "tokens", now).added, tokens)

    async def _add_cost(
        self, underway: Underway, report: Report, now: float, *, always: bool = False
    ) -> Mapping[str, float]:
        """Adds what is not counted yet of the cost; returns the sum of the period, if it grew, or `always`."""
        caller = underway.caller
        if caller.budget is None:
            return {}
        report.cost = _cost(report)
        more = (report.cost or 0.0) - underway.cost
        if not (more or always):
            return {}
        underway.cost += more
        period = period_at(caller.budget.period, now)
        seconds = _EVER if period.ends is None else period.ends.timestamp() - now + _LATER
        return await self._add({_name(caller, "cost", period.name): more}, seconds, report)

    # ---- the start -------------------------------------------------------------------------------

    async def _count(self, underway: Underway, report: Report, dialect: str) -> None:
        caller, now = underway.caller, self.now()
        minute = _minute(now)
        added: dict[str, float] = {
            _name(caller, kind, minute + ahead): amount
            for kind, amount in underway.amounts.items()
            for ahead in (0, 1)
        }
        read: list[str] = []
        if caller.rpm is not None:
            window = _window(caller, "requests", now)
            added |= dict.fromkeys(window.added, 1)
            read += window.read
        if caller.tpm is not None:
            read += _window(caller, "tokens", now).read
        if caller.budget is not None:
            read.append(_name(caller, "cost", period_at(caller.budget.period, now).name))
        sums = await self._add({**dict.fromkeys(read, 0), **added}, _KEPT, report)
        if (limit := _reached(underway, sums, now)) is not None:
            # A refused request does not count: a client that retries again and again must succeed eventually.
            back = {name: -amount for name, amount in added.items()}
            seconds = _window(caller, limit, now).seconds if limit in _RATES else []
            sums |= await self._add({**dict.fromkeys(seconds, 0), **back}, _KEPT, report)
            report.limited = limit
            raise Refused(_refusal(underway, limit, sums, now, dialect))
        if underway.amounts:
            underway.counted_until = minute + 1
            self._counted.add(underway)
            if self._renewing is None or self._renewing.done():
                self._renewing = asyncio.get_running_loop().create_task(self._renew())

    # ---- answers under way -----------------------------------------------------------------------

    def _close(self, underway: Underway) -> None:
        counter = _counter_of(underway.caller)
        self._open[counter] -= 1
        if not self._open[counter]:
            del self._open[counter]
        self._counted.discard(underway)

    def _given_back(self, underway: Underway, now: float) -> dict[str, float]:
        minutes = range(_minute(now), underway.counted_until + 1)
        return {
            _name(underway.caller, kind, minute): -amount
            for kind, amount in underway.amounts.items()
            for minute in minutes
        }

    async def _renew(self) -> None:
        """Counts what is in progress in the following minutes, as long as there is anything."""
        while self._counted:
            now = self.now()
            await asyncio.sleep(_MINUTE - now % _MINUTE)
            await self.renew()

    async def renew(self) -> None:
        """Counts what is in progress in this minute and the next, where it is not counted yet."""
        minute = _minute(self.now())
        amounts: dict[str, float] = {}
        for underway in self._counted:
            for ahead in range(max(minute, underway.counted_until + 1), minute + 2):
                for kind, amount in underway.amounts.items():
                    name = _name(underway.caller, kind, ahead)
                    amounts[name] = amounts.get(name, 0) + amount
            underway.counted_until = max(underway.counted_until, minute + 1)
        if amounts:
            await self._counts.add(amounts, _KEPT)

    def close(self) -> None:
        """Stops counting."""
        if self._renewing is not None:
            self._renewing.cancel()

    async def _add(
        self, amounts: dict[str, float], seconds: float, report: Report
    ) -> dict[str, float]:
        sums = await self._counts.add(amounts, seconds)
        if not sums.is_shared:
            report.store = "degraded"
        return sums.values


def _counter_of(caller: Caller) -> str:
    """What tells keys apart: owners of the configuration have no ids."""
    return caller.id or f"/{caller.name}"


def _minute(now: float) -> int:
    return int(now // _MINUTE)


def _name(caller: Caller, kind: str, when: int | str) -> str:
    return f"callers/{caller.id}/{kind}/{when}"


def _window(caller: Caller, kind: str, now: float) -> Window:
    return Window(f"callers/{caller.id}/{kind}", now)


def _reserved(caller: Caller, expected: Expected) -> dict[str, float]:
    """What a request counts for while it is in progress, by the limits of its caller."""
    amounts: dict[str, float] = {}
    if caller.streams is not None:
        amounts["streams"] = 1
    if caller.tpm is not None:
        amounts["reserved-tokens"] = expected.tokens
    if caller.budget is not None:
        amounts["reserved-cost"] = expected.cost
    return {kind: amount for kind, amount in amounts.items() if amount}


_RATES = ("requests", "tokens")


def _reached(underway: Underway, sums: Mapping[str, float], now: float) -> str | None:
    """The limit that a request has reached, given the counts that include it; None if there is none."""
    caller = underway.caller
    if caller.budget is not None:
        spent = sums[_name(caller, "cost", period_at(caller.budget.period, now).name)]
        if spent + _others(underway, "reserved-cost", sums, now) >= caller.budget.amount:
            return "budget"
    if caller.streams is not None and _others(underway, "streams", sums, now) >= caller.streams:
        return "streams"
    if caller.rpm is not None and _window(caller, "requests", now).total(sums) > caller.rpm:
        return "requests"
    if caller.tpm is not None:
        tokens = _window(caller, "tokens", now).total(sums)
        if tokens + _others(underway, "reserved-tokens", sums, now) >= caller.tpm:
            return "tokens"
    return None


def _others(underway: Underway, kind: str, sums: Mapping[str, float], now: float) -> float:
    """What other requests in progress count for."""
    amount = underway.amounts.get(kind)
    return sums[_name(underway.caller, kind, _minute(now))] - amount if amount else 0.0


def _refusal(
    underway: Underway, limit: str, sums: Mapping[str, float], now: float, dialect: str
) -> Refusal:
    """Why a request is refused; `sums` has the counts without it, for a rate second by second."""
    caller = underway.caller
    if limit == "streams":
        assert caller.streams is not None
        return too_many_streams(caller.streams)
    if limit == "budget":
        assert caller.budget is not None
        period = period_at(caller.budget.period, now)
        if sums[_name(caller, "cost", period.name)] < caller.budget.amount:
            return budget_reserved(caller.budget.amount)
        return _spent(caller, period, now, dialect)
    # A rate must be below its limit, so that one more request does not exceed it; tokens by any amount.
    most, room = (caller.rpm or 0, 1.0) if limit == "requests" else (caller.tpm or 0, 0.001)
    wait = _window(caller, limit, now).wait(sums, most - room)
    return too_many_in_a_minute(limit, most, wait, dialect)


def _tokens(report: Report) -> int:
    usage = report.usage
    return (usage.input_tokens or 0) + (usage.output_tokens or 0)


def _cost(report: Report) -> float | None:
    """What a request cost in dollars; None, with a note, if that is unknown."""
    if not _tokens(report):
        return 0.0
    price = cost_of(report.provider, report.model, report.usage)
    note = Note("cost_unknown", f"{report.provider}/{report.model}")
    if price is None and note not in report.notes:
        report.notes.append(note)
    return price


def cost_of(provider: str | None, model: str, usage: Usage) -> float | None:
    """The price of tokens at a model in dollars; None if it is unknown."""
    try:
        price = cost(Response(provider=provider, model=model, usage=usage))
    except (UsageError, ValueError):  # genai-prices is not installed, or counts do not fit together
        price = None
    return None if price is None else float(price.total)


def _spent(caller: Caller, period: PeriodOfTime, now: float, dialect: str) -> Refusal:
    assert caller.budget is not None
    budget, ends = caller.budget, period.ends
    date = None if ends is None else f"{ends:%Y-%m-%d %H:%M} UTC"
    wait = None if ends is None else ends.timestamp() - now
    return budget_spent(budget.amount, budget.period, date, wait, dialect)


# Counters that all processes share, in the store; only those of this process while the store cannot be reached.


class Sums(NamedTuple):
    """The current values of counters."""

    values: dict[str, float]
    is_shared: bool
    """Whether other processes are counted as well."""


class SharedCounts:
    """Adds to counters. It never fails: without the store it continues from the last known values, and adds the outstanding amounts later."""

    def __init__(self, store: Store, calls: StoreCalls | None = None) -> None:
        self._store = store
        self._calls = calls or StoreCalls()
        self._seen: Bounded[str, float] = Bounded(LIMITS.counters)
        self._owed: Bounded[str, float] = Bounded(LIMITS.counters)

    async def add(self, amounts: Mapping[str, float], seconds: float) -> Sums:
        """Adds amounts to counters that expire `seconds` after they were created; returns their sums. An amount of 0 reads a counter."""
        due = {
            name: amount + self._owed.get(name, 0) if amount else 0
            for name, amount in amounts.items()
        }
        try:
            sums = await self._calls.wait(
                lambda: self._store.count(due, seconds), LIMITS.store_seconds
            )
        except StoreError as error:
            for name, amount in amounts.items():
                self._seen[name] = self._seen.get(name, 0) + amount
                if amount and not isinstance(error, SlowStoreError):
                    self._owed[name] = self._owed.get(name, 0) + amount
            return Sums({name: self._seen[name] for name in amounts}, is_shared=False)
        for name, value in sums.items():
            self._seen[name] = value
            if amounts[name]:
                self._owed.pop(name, None)
        return Sums(sums, is_shared=True)
