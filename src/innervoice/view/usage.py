"""Request logs -> what was used: sums by hour, key, provider and model, that grow with the files.

Each request that ended is one line of a log, with its report, whether texts are kept or not. A file is read once; a later look reads only
what was added, and a deleted file leaves the sums. Nothing of the texts is held.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator
from decimal import Decimal
from math import isfinite
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple

from innervoice.canon.jsontext import load_json
from innervoice.canon.response import Response
from innervoice.canon.usage import Cost, Usage
from innervoice.errors import UsageError
from innervoice.pricing import cost
from innervoice.sources.request_log import LogTail, TenantLines
from innervoice.wire.json_access import as_count, as_dict

__all__ = ["HOUR", "CellKey", "Sums", "UsageIndex"]

HOUR = 3600
_END = b'{"record":"end",'
_MOST_CELLS = 100_000
_OTHERS = "others"
"""Keys and models together that came after so many cells; what they used is still counted."""
_LATEST = 253_402_300_800
"""The year 10000, in seconds."""
_STRIDE = 500
"""How many lines are read between two looks at the clock."""


class CellKey(NamedTuple):
    """What requests have in common that are summed up."""

    hour: int
    """Hours since 1970, in UTC."""
    tenant: str
    caller: str
    """The id of the key; "" for keys of the configuration."""
    provider: str
    model: str


class Sums:
    """The sums over some requests; `first` has every time to the first piece, so that percentiles are exact."""

    __slots__ = (
        "cached_tokens", "cost", "errors", "first", "input_tokens", "kept", "omitted", "output_tokens", "reasoning_cost",
        "reasoning_tokens", "received", "requests", "restored", "unpriced", "unsplit_tokens",
    )  # fmt: skip

    def __init__(self) -> None:
        self.requests = self.errors = 0
        self.input_tokens = self.cached_tokens = 0
        self.output_tokens = self.reasoning_tokens = 0
        self.unsplit_tokens = 0
        """The output tokens of answers whose provider does not say how many of them were reasoning."""
        self.kept = self.restored = self.omitted = self.received = 0
        self.cost = self.reasoning_cost = Decimal(0)
        self.unpriced = 0
        """Requests with tokens whose price is not known."""
        self.first = array("d")

    def add(self, other: Sums) -> None:
        """Adds other sums to these."""
        for name in _NUMBERS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.first.extend(other.first)

    def count(self, report: dict[str, Any], usage: Usage, price: Cost | None) -> None:
        """Adds a request, by its report."""
        status = report.get("status")
        self.requests += 1
        self.errors += isinstance(report.get("error"), str) or (as_count(status) or 0) >= 400
        self.input_tokens += usage.input_tokens or 0
        self.cached_tokens += usage.cached_input_tokens or 0
        self.output_tokens += usage.output_tokens or 0
        self.reasoning_tokens += usage.reasoning_tokens or 0
        if usage.reasoning_tokens is None:
            self.unsplit_tokens += usage.output_tokens or 0
        reasoning = as_dict(report.get("reasoning"))
        for name in ("kept", "restored", "omitted", "received"):
            setattr(self, name, getattr(self, name) + (as_count(reasoning.get(name)) or 0))
        if price is not None:
            self.cost += price.total
            self.reasoning_cost += price.reasoning or 0
        elif usage.input_tokens or usage.output_tokens:
            self.unpriced += 1
        first = as_dict(report.get("seconds")).get("first")
        if isinstance(first, (int, float)) and isfinite(first):
            self.first.append(first)


_NUMBERS = tuple(name for name in Sums.__slots__ if name != "first")


class _File(NamedTuple):
    """One log, as far as it was read."""

    tail: LogTail
    own: TenantLines | None
    cells: dict[CellKey, Sums]


class UsageIndex:
    """The sums over the files of a log; with a tenant, over its requests alone."""

    def __init__(self, tenant: str | None = None) -> None:
        self._tenant = tenant
        self._files: dict[Path, _File] = {}
        self._looking = Lock()
        self._size = 0
        self.has_prices = True
        """Whether public prices are installed."""

    def look(self, paths: Iterable[Path], seconds: float) -> bool:
        """Reads what was added to these files, for a limited time; returns whether that was all. Files that are not among them are forgotten."""
        deadline = monotonic() + seconds
        is_all = True
        with self._looking:
            statuses = {path: status for path in paths if (status := _status(path)) is not None}
            for gone in self._files.keys() - statuses.keys():
                self._forget(gone)
            for path, status in statuses.items():
                if path in self._files and not self._files[path].tail.is_of(status):
                    self._forget(path)
                file = self._files.get(path) or self._new_file(path, status)
                if monotonic() > deadline or not self._read(path, file, deadline):
                    # How much is left is not said: it would tell a tenant about others.
                    is_all = is_all and file.tail.position >= status.st_size
        return is_all

    def cells(self) -> Iterator[tuple[CellKey, Sums]]:
        """What was read so far; a key may come several times, once from each file."""
        with self._looking:
            cells = [cell for file in self._files.values() for cell in file.cells.items()]
        yield from cells

    def _forget(self, path: Path) -> None:
        self._size -= len(self._files.pop(path).cells)

    def _new_file(self, path: Path, status: os.stat_result) -> _File:
        own = None if self._tenant is None else TenantLines(self._tenant)
        self._files[path] = _File(LogTail(status), own, {})
        return self._files[path]

    def _read(self, path: Path, file: _File, deadline: float) -> bool:
        """Reads what was added; returns whether that is all that can be read now."""
        try:
            for number, line in enumerate(file.tail.lines(path), 1):
                # Of another tenant's request nothing is read.
                if (file.own is None or file.own.is_own(line)) and line.startswith(_END):
                    self._add(file, line)
                if not number % _STRIDE and monotonic() > deadline:
                    return False
        except OSError:  # it was deleted just now
            pass
        return True

    def _add(self, file: _File, line: bytes) -> None:
        try:
            record = as_dict(load_json(line))
        except ValueError:
            return
        report = as_dict(record.get("report"))
        begun = report.get("begun", record.get("at"))
        if not report or not isinstance(begun, (int, float)) or not 0 <= begun < _LATEST:
            return
        usage = _usage(report, record)
        provider, model = _text(report, "provider"), _text(report, "model")
        key = CellKey(
            int(begun // HOUR),
            _text(report, "tenant"),
            _text(report, "caller"),
            provider,
            model or _text(report, "asked"),
        )
        if key not in file.cells and self._size >= _MOST_CELLS:
            key = key._replace(tenant=_OTHERS, caller="", model=_OTHERS)
        if key not in file.cells:
            file.cells[key] = Sums()
            self._size += 1
        file.cells[key].count(report, usage, self._price(provider, model, usage))

    def _price(self, provider: str, model: str, usage: Usage) -> Cost | None:
        if not self.has_prices:
            return None
        try:
            return cost(Response(provider=provider, model=model, usage=usage))
        except UsageError:
            self.has_prices = False
            return None


def _status(path: Path) -> os.stat_result | None:
    """The facts of a file; None if it is gone."""
    try:
        return path.stat()
    except OSError:
        return None


def _usage(report: dict[str, Any], record: dict[str, Any]) -> Usage:
    """The counts of a report; prices also need those that only the provider's own answer has, such as cache writes."""
    counts = as_dict(report.get("usage"))
    names = ("input_tokens", "output_tokens", "reasoning_tokens", "cached_input_tokens")
    raw = as_dict(as_dict(record.get("response")).get("usage")).get("raw")
    return Usage(raw=raw, **{name: as_count(counts.get(name)) for name in names})


def _text(report: dict[str, Any], name: str) -> str:
    value = report.get(name)
    return value if isinstance(value, str) else ""
