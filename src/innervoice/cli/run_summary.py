"""What `innervoice run` prints at the end: requests, tokens, and what happened to the reasoning."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Protocol, TextIO

import httpx2

from innervoice.canon.response import Response
from innervoice.canon.usage import Usage
from innervoice.cli.serve_output import ServeOutput
from innervoice.errors import UsageError
from innervoice.gateway.operations.journal import json_line
from innervoice.gateway.report import Report
from innervoice.pricing import cost

__all__ = ["CountedSummary", "RequestSummary", "Summary"]

_MOST_IDS = 5
_MOST_RULES = 10
_SAMPLE = re.compile(
    r"^innervoice_(requests|tokens|reasoning)_total\{(.*)\} ([0-9.e+]+)$", re.MULTILINE
)
_OUTCOME = re.compile(r'(?:kind|outcome)="(\w+)"')


class Summary(Protocol):
    """Lines for the end of a run."""

    def lines(self) -> Iterator[str]:
        """The summary, line by line."""


class RequestSummary(ServeOutput):
    """Counts the requests of a gateway in this process; prints nothing while the client uses the screen."""

    def __init__(self, file: TextIO | None = None, *, priced: bool = True) -> None:
        super().__init__("text")
        self._file = file
        self._priced = priced
        self._models: Counter[str] = Counter()
        self._failed = 0
        self._counts: Counter[str] = Counter()
        self._rules: Counter[str] = Counter()
        self._usage = Usage()
        self._cost: Decimal | None = None
        self._worth_explaining: list[str] = []
        self.logs: list[Path] = []
        """The logs of the requests."""

    def say(self, text: str) -> None:
        """Prints nothing: the client uses the screen."""

    def request(self, report: Report) -> None:
        """Counts a request that has ended."""
        name = "/".join(filter(None, (report.provider, report.model))) or "no model"
        self._models[name] += 1
        self._counts.update(kept=report.kept, carried=report.carried, restored=report.restored)
        self._counts["omitted"] += report.omitted
        self._counts["received"] += report.received
        if report.store == "off" or report.keeps == "off":
            self._counts["dropped"] += report.received
        self._rules.update(report.rules)
        self._usage += report.usage
        self._add_cost(report)
        failed = bool(report.error) or not 200 <= report.status < 300
        self._failed += failed
        if failed or report.omitted or report.store == "degraded":
            self._worth_explaining.append(report.id)
        if self._file:
            self._file.write(json_line(report) + "\n")
            self._file.flush()

    def _add_cost(self, report: Report) -> None:
        if not self._priced:
            return
        try:
            price = cost(Response(provider=report.provider, model=report.model, usage=report.usage))
        except UsageError:  # genai-prices is not installed
            self._priced = False
            return
        if price:
            self._cost = (self._cost or Decimal(0)) + price.total

    def lines(self) -> Iterator[str]:
        """The summary, line by line."""
        total = self._models.total()
        if not total:
            yield "the client sent no request to the gateway: it was asked nothing, or one of its own options or files names another address"
            return
        models = ", ".join(f"{name} ({count})" for name, count in self._models.most_common(5))
        failed = f", {self._failed:,} failed" if self._failed else ""
        yield f"{_number(total, 'request')}{failed}: {models}"
        yield f"reasoning: {_reasoning(self._counts, self._rules)}"
        if tokens := _tokens(self._usage, self._cost):
            yield f"tokens: {tokens}"
        if self._worth_explaining:
            ids = " ".join(self._worth_explaining[:_MOST_IDS])
            more = len(self._worth_explaining) - _MOST_IDS
            rest = f" and {more:,} more" if more > 0 else ""
            details = (
                f"details are in {self._file.name}"
                if self._file
                else "run with --report FILE to get the details"
            )
            yield f"requests with problems: {ids}{rest}; {details}"
        if self.logs:
            yield f"to view it: innervoice view {' '.join(shlex.quote(str(log)) for log in self.logs)}"


class CountedSummary:
    """What a gateway in another process counted in the meantime."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._before = self._count()
        self._after = self._before

    def finish(self) -> None:
        """Reads the counts once more."""
        self._after = self._count()

    def _count(self) -> Counter[str]:
        try:
            page = httpx2.get(f"{self._url}/metrics", timeout=10, trust_env=False)
            page.raise_for_status()
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            reason = str(error) or type(error).__name__
            raise UsageError(f"no gateway answers at {self._url}: {reason}") from None
        counts: Counter[str] = Counter()
        for family, labels, value in _SAMPLE.findall(page.text):
            match = _OUTCOME.search(labels)
            counts[f"{family} {match[1]}" if match else family] += int(float(value))
        return counts

    def lines(self) -> Iterator[str]:
        """The summary, line by line."""
        counts = self._after - self._before
        yield f"{_number(counts['requests'], 'request')}, those of other clients of {self._url} included"
        outcomes = Counter({name: counts[f"reasoning {name}"] for name in ("kept", "restored", "omitted", "received")})  # fmt: skip
        yield f"reasoning: {_reasoning(outcomes, Counter())}"
        usage = Usage(
            input_tokens=counts["tokens input"],
            output_tokens=counts["tokens output"],
            reasoning_tokens=counts["tokens reasoning"],
        )
        yield f"tokens: {_tokens(usage, None)}"
        yield f"to view it: {self._url}/view"
        yield f"to explain a request: GET {self._url}/v1/explain/ID, with its x-innervoice-id"


def _reasoning(counts: Counter[str], rules: Counter[str]) -> str:
    among = [f"{counts[name]:,} {name}" for name in ("carried", "restored") if counts[name]]
    words = f"{counts['kept']:,} kept" + (f" ({', '.join(among)})" if among else "")
    omitted = f"{counts['omitted']:,} omitted"
    if rules:
        omitted += f" ({', '.join(sorted(rules)[:_MOST_RULES])})"
    history = f"{words}, {omitted}"
    if not counts["received"]:
        return history
    where = "not kept" if counts["dropped"] else "kept for the next turn"
    received = f"{_number(counts['received'], 'thought')} received, {where}"
    is_said = counts["kept"] or counts["omitted"]
    return f"{received}; of the history {history}" if is_said else received


def _tokens(usage: Usage, price: Decimal | None) -> str:
    counts = (usage.input_tokens, "in"), (usage.output_tokens, "out")
    words = [f"{count:,} {word}" for count, word in counts if count is not None]
    if usage.reasoning_tokens:
        words.append(f"({usage.reasoning_tokens:,} thought)")
    if price is not None:
        words.append(f"about ${price:.4f}")
    return " ".join(words)


def _number(count: int, word: str) -> str:
    return f"{count:,} {word}" + ("" if count == 1 else "s")
