"""The limits of callers: requests and tokens per minute, concurrent answers, and a budget.

One call of the store at the start of a request reads and counts, one at its end adds what it used. So a request that starts within its
limits runs to its end, and several concurrent ones may exceed a limit on tokens or money by what they use together.

A rate is measured over the last sixty seconds: the count of this minute, and that of the previous one in proportion to the part that still counts.

Concurrent answers are counted in this minute and the next, and renewed once a minute: the counts of a crashed process are gone after two.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from innervoice.canon.bounded import Bounded
from innervoice.canon.notes import Note
from innervoice.canon.response import Response
from innervoice.errors import UsageError
from innervoice.gateway.callers import ANYBODY, Caller, Period
from innervoice.gateway.errors import budget_spent, too_many_in_a_minute, too_many_streams
from innervoice.gateway.limits import LIMITS
from innervoice.gateway.report import Report
from innervoice.memory.store_calls import SlowStoreError, StoreCalls
from innervoice.memory.stores.store import Store, StoreError
from innervoice.pricing import cost
from innervoice.wire.refusals import Refusal, Refused

__all__ = [
    "PeriodOfTime",
    "Quotas",
    "SharedCounts",
    "Sums",
    "Underway",
    "period_at",
    "seconds_until",
]

_MINUTE = 60.0
_KEPT = 4 * _MINUTE
"""How long a counter of a minute is kept: it is read in the next one, and clocks differ."""
_ROOM = 0.001
"""A rate must be below its limit, by any amount: then one more request does not exceed the limit in any minute."""
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


def seconds_until(before: float, current: float, elapsed: float, room: float) -> float:
    """The seconds until a rate has fallen to `room`, if nothing is added.

    `before` and `current` are the counts of the previous minute and of this one, of which `elapsed` seconds have passed.
    """
    if current <= room:
        over = before * (1 - elapsed / _MINUTE) + current - room
        return over / before * _MINUTE if over > 0 else 0.0
    return _MINUTE - elapsed + _MINUTE * (1 - room / current)


@dataclass(slots=True, eq=False)
class Underway:
    """A request that has begun."""

    caller: Caller
    counted_until: int = 0
    """The last minute in which it is counted as a concurrent answer; 0 if it is not."""


class Quotas:
    """Enforces the limits of callers in one process, together with the others that share its store."""

    def __init__(self, counts: SharedCounts, *, now: Callable[[], float] = time.time) -> None:
        self._counts = counts
        self.now = now
        self.streams_per_key = 1000
        self._open: dict[str, int] = {}
        self._counted: set[Underway] = set()
        self._renewing: asyncio.Task[None] | None = None

    async def begin(self, caller: Caller, report: Report) -> Underway | None:
        """Counts a request; raises `Refused` if a limit is reached. None for a caller without limits."""
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
            try:
                await self._count(underway, report)
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
        amounts = self._streams_back(underway, now)
        if caller.tpm is not None and (tokens := _tokens(report)):
            amounts[_name(caller, "tokens", _minute(now))] = tokens
        if amounts:
            await self._add(amounts, _KEPT, report)
        if caller.budget is not None:
            report.cost = _cost(report)
            if report.cost:
                period = period_at(caller.budget.period, now)
                seconds = _EVER if period.ends is None else period.ends.timestamp() - now + _LATER
                await self._add({_name(caller, "cost", period.name): report.cost}, seconds, report)

    # ---- the start -------------------------------------------------------------------------------

    async def _count(self, underway: Underway, report: Report) -> None:
        caller, now = underway.caller, self.now()
        minute = _minute(now)
        added: dict[str, float] = {}
        read: list[str] = []
        if caller.streams is not None:
            added |= dict.fromkeys((_name(caller, "streams", minute + n) for n in (0, 1)), 1)
        if caller.rpm is not None:
            added[_name(caller, "requests", minute)] = 1
            read.append(_name(caller, "requests", minute - 1))
        if caller.tpm is not None:
            read += [_name(caller, "tokens", minute - n) for n in (0, 1)]
        if caller.budget is not None:
            read.append(_name(caller, "cost", period_at(caller.budget.period, now).name))
        sums = await self._add({**dict.fromkeys(read, 0), **added}, _KEPT, report)
        refusal = self._refusal(caller, sums, now, report)
        if refusal is not None:
            # A refused request does not count: a client that retries again and again must succeed eventually.
            if added:
                await self._add({name: -amount for name, amount in added.items()}, _KEPT, report)
            raise Refused(refusal)
        if caller.streams is not None:
            underway.counted_until = minute + 1
            self._counted.add(underway)
            if self._renewing is None or self._renewing.done():
                self._renewing = asyncio.get_running_loop().create_task(self._renew())

    def _refusal(
        self, caller: Caller, sums: dict[str, float], now: float, report: Report
    ) -> Refusal | None:
        """Why a request is refused, given the counts that include it; None if it is not."""
        minute, elapsed = _minute(now), now % _MINUTE
        if caller.budget is not None:
            period = period_at(caller.budget.period, now)
            if sums[_name(caller, "cost", period.name)] >= caller.budget.amount:
                report.limited = "budget"
                return _spent(caller, period, now, report.dialect)
        if caller.streams is not None and sums[_name(caller, "streams", minute)] > caller.streams:
            report.limited = "streams"
            return too_many_streams(caller.streams)
        for kind, most, amount in (("requests", caller.rpm, 1), ("tokens", caller.tpm, 0)):
            if most is None:
                continue
            before = sums[_name(caller, kind, minute - 1)]
            current = sums[_name(caller, kind, minute)] - amount
            wait = seconds_until(before, current, elapsed, most - _ROOM)
            if wait > 0:
                report.limited = kind
                return too_many_in_a_minute(kind, most, wait, report.dialect)
        return None

    # ---- answers under way -----------------------------------------------------------------------

    def _close(self, underway: Underway) -> None:
        counter = _counter_of(underway.caller)
        self._open[counter] -= 1
        if not self._open[counter]:
            del self._open[counter]
        self._counted.discard(underway)

    def _streams_back(self, underway: Underway, now: float) -> dict[str, float]:
        minutes = range(_minute(now), underway.counted_until + 1)
        return {_name(underway.caller, "streams", minute): -1.0 for minute in minutes}

    async def _renew(self) -> None:
        """Counts the concurrent answers in the following minutes, as long as there are any."""
        while self._counted:
            now = self.now()
            await asyncio.sleep(_MINUTE - now % _MINUTE)
            await self.renew()

    async def renew(self) -> None:
        """Counts each concurrent answer in this minute and the next, where it is not counted yet."""
        minute = _minute(self.now())
        amounts: dict[str, float] = {}
        for underway in self._counted:
            for ahead in range(max(minute, underway.counted_until + 1), minute + 2):
                name = _name(underway.caller, "streams", ahead)
                amounts[name] = amounts.get(name, 0) + 1
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


def _tokens(report: Report) -> int:
    usage = report.usage
    return (usage.input_tokens or 0) + (usage.output_tokens or 0)


def _cost(report: Report) -> float | None:
    """What a request cost in dollars; None, with a note, if that is unknown."""
    if not _tokens(report):
        return 0.0
    try:
        price = cost(Response(provider=report.provider, model=report.model, usage=report.usage))
    except (UsageError, ValueError):  # genai-prices is not installed, or counts do not fit together
        price = None
    if price is None:
        report.notes.append(Note("cost_unknown", f"{report.provider}/{report.model}"))
        return None
    return float(price.total)


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
