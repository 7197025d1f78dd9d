"""The gateway's counts as a page in the text format of Prometheus (0.0.4).

A worker counts in memory. With several workers, each also writes its counts to a file of its own in one folder, at most once a second, and
the worker that serves the page adds up all of them. The counts of a worker that has ended stay in the sum; its gauges do not.

A label's value is never a caller's text: model names are not labels, and each label has a bounded number of values.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.notes import Note
from innervoice.canon.thinking_metrics import ThinkingMetrics
from innervoice.client.drift import DIFFERS, fact_of
from innervoice.gateway.limits import LIMITS
from innervoice.gateway.report import Report
from innervoice.wire.dialects import DIALECTS

__all__ = ["CONTENT_TYPE", "FAMILIES", "Metrics", "retire"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class _Family(NamedTuple):
    name: str
    kind: Literal["counter", "gauge", "histogram"]
    labels: tuple[str, ...]
    help: str
    bounds: tuple[float, ...] = ()
    """The upper bounds of the buckets, except the last one."""


# Reasoning models take from a tenth of a second to many minutes until the first piece; whole answers take up to an hour.
_FIRST = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600)
_THINKING = (0.1, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600)
_TOTAL = (0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600)

FAMILIES = (
    _Family("innervoice_requests_total", "counter", ("dialect", "provider", "status", "way"), "Requests that were answered, by the client's dialect, the provider that was called, the status class and the way: bytes forwarded unchanged, or read and rewritten."),
    _Family("innervoice_errors_total", "counter", ("provider", "kind"), "Requests that ended in an error; provider none: before one was called."),
    _Family("innervoice_attempts_total", "counter", ("provider",), "Requests that were sent to providers, retries included, by the provider that was called last."),
    _Family("innervoice_first_piece_seconds", "histogram", ("provider",), "Seconds until the first piece of the answer was sent to the client.", _FIRST),
    _Family("innervoice_first_thought_seconds", "histogram", ("provider",), "Seconds until the first piece of reasoning came, of streamed answers.", _FIRST),
    _Family("innervoice_first_answer_seconds", "histogram", ("provider",), "Seconds until the first text or tool call came, of streamed answers.", _FIRST),
    _Family("innervoice_thinking_seconds", "histogram", ("provider",), "Seconds that streamed answers were thinking.", _THINKING),
    _Family("innervoice_request_seconds", "histogram", ("provider",), "Seconds until the answer ended.", _TOTAL),
    _Family("innervoice_tokens_total", "counter", ("provider", "kind"), "Tokens as providers counted them; output includes reasoning, input includes cached tokens."),
    _Family("innervoice_limited_total", "counter", ("limit",), "Requests that were refused because of a limit of their caller: requests, tokens, streams or budget."),
    _Family("innervoice_reasoning_total", "counter", ("provider", "outcome"), "Pieces of reasoning in histories: kept, restored (which are also kept), and omitted; and those received in answers."),
    _Family("innervoice_steered_total", "counter", ("provider", "why"), "Answers that were steered while they ran: limit (the reasoning was too long), loops (it repeated itself), continued (the answer broke off, and another request went on)."),
    _Family("innervoice_lost_seals_total", "counter", ("provider",), "Seals of reasoning that arrived after the text of a final answer, so that the client does not carry them, and that were not stored either."),
    _Family("innervoice_catalog_differs_total", "counter", ("provider", "fact"), "Facts of the catalog that a provider contradicted, each once in a process: innervoice probe measures what is true."),
    _Family("innervoice_store_total", "counter", ("state",), "Requests by the state of the store: ok, off or degraded."),
    _Family("innervoice_store_degraded", "gauge", (), "Workers whose last request could not reach the store."),
    _Family("innervoice_open_streams", "gauge", (), "Open streams."),
    _Family("innervoice_workers", "gauge", (), "Processes that serve requests."),
)  # fmt: skip
_FAMILY = {family.name: family for family in FAMILIES}

_KINDS = ("input", "output", "reasoning", "cached")
_kinds_of = attrgetter("input_tokens", "output_tokens", "reasoning_tokens", "cached_input_tokens")
_OUTCOMES = ("kept", "restored", "omitted", "received")
_outcomes_of = attrgetter(*_OUTCOMES)
_count_of = itemgetter(1)
_TIMES = {
    "innervoice_first_thought_seconds": attrgetter("first_thought_seconds"),
    "innervoice_first_answer_seconds": attrgetter("first_answer_seconds"),
    "innervoice_thinking_seconds": attrgetter("thinking_seconds"),
}
_COUNTED = {
    "thinking_cut_short": ("innervoice_steered_total", "limit"),
    "thinking_loops": ("innervoice_steered_total", "loops"),
    "answer_continued": ("innervoice_steered_total", "continued"),
    "seal_after_text": ("innervoice_lost_seals_total",),
}
"""Notes that are counted -> the family, and the value of its label."""
_OTHER, _NONE = "other", "none"

Key: TypeAlias = tuple[str, tuple[str, ...]]
"""The name of a family, and the values of its labels."""
Series: TypeAlias = list[float]
"""One number; for a histogram its buckets, from the lowest, then the sum."""


class Metrics:
    """Counts reports and open streams."""

    def __init__(self) -> None:
        self._series: dict[Key, Series] = {}
        self._values: dict[tuple[str, str], set[str]] = {}
        self._directory: Path | None = None
        self._timer: asyncio.TimerHandle | None = None
        for family in FAMILIES:
            if family.kind == "gauge":
                self._series[family.name, ()] = [0]
        self._set("innervoice_workers", 1)

    def share(self, directory: Path) -> None:
        """From now on this worker's counts are in a file for the others, and theirs are in its page."""
        self._directory = directory
        self.write()

    def add(self, report: Report) -> None:
        """Counts a request that is over."""
        provider = report.provider or _NONE
        dialect = report.dialect if report.dialect in DIALECTS else _OTHER
        status = _status_class(report.status)
        self._count("innervoice_requests_total", (dialect, provider, status, report.way))
        if report.error:
            self._count("innervoice_errors_total", (provider, report.error))
        if report.limited:
            self._count("innervoice_limited_total", (report.limited,))
        if report.attempts:
            self._count("innervoice_attempts_total", (provider,), report.attempts)
        if report.first_byte is not None:
            self._observe("innervoice_first_piece_seconds", (provider,), report.first_byte)
        if report.thinking is not None and report.thinking.total_seconds is not None:
            self._observe_thinking(provider, report.thinking)
        if report.total is not None:
            self._observe("innervoice_request_seconds", (provider,), report.total)
        for kind, count in filter(_count_of, zip(_KINDS, _kinds_of(report.usage), strict=True)):
            self._count("innervoice_tokens_total", (provider, kind), count)
        for outcome, count in filter(_count_of, zip(_OUTCOMES, _outcomes_of(report), strict=True)):
            self._count("innervoice_reasoning_total", (provider, outcome), count)
        self._count_notes(provider, report.notes)
        self._count("innervoice_store_total", (report.store,))
        self._set("innervoice_store_degraded", int(report.store == "degraded"))
        self._changed()

    def _observe_thinking(self, provider: str, thinking: ThinkingMetrics) -> None:
        for name, member in _TIMES.items():
            if (seconds := member(thinking)) is not None:
                self._observe(name, (provider,), seconds)

    def _count_notes(self, provider: str, notes: Iterable[Note]) -> None:
        for note in notes:
            if counted := _COUNTED.get(note.code):
                self._count(counted[0], (provider, *counted[1:]), note.count)
            if note.code == DIFFERS:
                self._count("innervoice_catalog_differs_total", (provider, fact_of(note)))

    def stream_opened(self) -> None:
        """Counts a stream that begins."""
        self._series["innervoice_open_streams", ()][0] += 1
        self._changed()

    def stream_closed(self) -> None:
        """Counts a stream that ended, in whatever way."""
        self._series["innervoice_open_streams", ()][0] -= 1
        self._changed()

    def page(self) -> str:
        """The page, with the sums of all workers."""
        total: dict[Key, Series] = {}
        if self._directory is None:
            _add(total, self._series.items())
        else:
            self.write()
            _add(total, _stored(self._directory))
        return "".join(_lines(total))

    def write(self) -> None:
        """Writes the counts for other workers, now; does nothing if there are none."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
        if self._directory is None:
            return
        rows = [[name, labels, series] for (name, labels), series in self._series.items()]
        process = os.getpid()
        self._directory.mkdir(mode=0o700, exist_ok=True)  # a cleaner of /tmp may have removed it
        # Replaced as a whole: a reader never sees half of it.
        draft = self._directory / f"{process}.draft"
        draft.write_bytes(dump_json(rows))
        draft.replace(self._directory / f"{process}.json")

    # ---- counting --------------------------------------------------------------------------------

    def _count(self, name: str, labels: tuple[str, ...], count: float = 1) -> None:
        series = self._series.get((name, labels)) or self._new(name, labels, 1)
        series[0] += count

    def _observe(self, name: str, labels: tuple[str, ...], value: float) -> None:
        bounds = _FAMILY[name].bounds
        series = self._series.get((name, labels)) or self._new(name, labels, len(bounds) + 2)
        series[bisect_left(bounds, value)] += 1
        series[-1] += value

    def _set(self, name: str, value: float) -> None:
        self._series[name, ()] = [value]

    def _new(self, name: str, labels: tuple[str, ...], length: int) -> Series:
        return self._series.setdefault((name, self._bounded(name, labels)), [0] * length)

    def _bounded(self, name: str, values: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(
            self._label_value(name, label, value)
            for label, value in zip(_FAMILY[name].labels, values, strict=True)
        )

    def _label_value(self, name: str, label: str, value: str) -> str:
        values = self._values.setdefault((name, label), set())
        if value in values:
            return value
        if len(value) > LIMITS.label_characters or len(values) >= LIMITS.label_values:
            return _OTHER
        values.add(value)
        return value

    def _changed(self) -> None:
        """Makes sure that the file is written within a second."""
        if self._directory is None or self._timer:
            return
        try:
            self._timer = asyncio.get_running_loop().call_later(1.0, self.write)
        except RuntimeError:  # no event loop
            self.write()


def retire(directory: Path, process: int) -> None:
    """Keeps the counts of a process that has ended, without its gauges."""
    (directory / f"{process}.draft").unlink(missing_ok=True)
    name = directory / f"{process}.json"
    if name.exists():
        # A process number may be used again.
        ended = sum(1 for _ in directory.glob("*.ended"))
        name.replace(directory / f"{ended}.ended")


def _status_class(status: int) -> str:
    if status == 499:
        return "left"
    return f"{status // 100}xx" if 100 <= status < 600 else _NONE


# ---- several workers -----------------------------------------------------------------------------


def _stored(directory: Path) -> list[tuple[Key, Series]]:
    """The counts that all workers have written, including those that have ended."""
    for _ in range(10):
        # If a worker has just ended, its file has been renamed.
        with contextlib.suppress(FileNotFoundError):
            return [row for file in sorted(directory.iterdir()) for row in _rows(file)]
    return []


def _rows(file: Path) -> Iterator[tuple[Key, Series]]:
    if file.suffix not in (".json", ".ended"):
        return
    for name, labels, series in load_json(file.read_bytes()):
        if file.suffix == ".json" or _FAMILY[name].kind != "gauge":
            yield (name, tuple(labels)), series


def _add(total: dict[Key, Series], rows: Iterable[tuple[Key, Series]]) -> None:
    for key, series in rows:
        before = total.get(key)
        total[key] = (
            [one + other for one, other in zip(before, series, strict=True)] if before else series
        )


# ---- the format ----------------------------------------------------------------------------------


def _lines(total: dict[Key, Series]) -> Iterator[str]:
    for family in FAMILIES:
        yield f"# HELP {family.name} {family.help}\n"
        yield f"# TYPE {family.name} {family.kind}\n"
        for (name, labels), series in sorted(total.items()):
            if name == family.name:
                pairs = list(zip(family.labels, labels, strict=True))
                yield from _samples(family, pairs, series)


def _samples(family: _Family, labels: list[tuple[str, str]], series: Series) -> Iterator[str]:
    if family.kind != "histogram":
        yield f"{family.name}{_braces(labels)} {_number(series[0])}\n"
        return
    count: float = 0
    for bound, inside in zip((*family.bounds, float("inf")), series[:-1], strict=True):
        count += inside
        upper = "+Inf" if bound == float("inf") else _number(bound)
        yield f"{family.name}_bucket{_braces([*labels, ('le', upper)])} {_number(count)}\n"
    yield f"{family.name}_sum{_braces(labels)} {_number(series[-1])}\n"
    yield f"{family.name}_count{_braces(labels)} {_number(count)}\n"


def _braces(labels: list[tuple[str, str]]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}"


def _escaped(value: str) -> str:
    # A lone surrogate has no UTF-8.
    whole = value.encode("utf-8", "replace").decode("utf-8")
    return whole.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))
