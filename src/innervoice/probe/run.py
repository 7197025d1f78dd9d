"""Facts -> results, one after the other: what the catalog expects, what was measured, and whether they agree.

What the catalog expects is measured as well, at the emulator: it takes no time, counts the requests, and gives a bound for the cost. A fact that
differs is measured twice, and counts only if both measurements are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal, TypeAlias

from innervoice.canon.target import Target
from innervoice.probe.columns import Column, catalog_value, column_of
from innervoice.probe.exchanges import Emulated
from innervoice.probe.facts import ProbeFact, concerned
from innervoice.probe.looks import LOOKS, Finding, is_reasoning
from innervoice.probe.recipes import Recipe
from innervoice.probe.session import NotMeasuredError, Session, Spending, StoppedError

__all__ = ["Estimate", "ProbeResult", "Run", "Status"]

Status: TypeAlias = Literal["agrees", "differs", "differs in words", "not measured", "settled"]


@dataclass(frozen=True)
class ProbeResult:
    """A fact: as the catalog has it, and as it was measured."""

    fact: ProbeFact
    status: Status
    expected: Finding | None = None
    measured: Finding | None = None
    reason: str = ""
    """Why it was not measured."""
    column: Column | None = None
    """What the catalog should say, where it differs."""


@dataclass(frozen=True)
class Estimate:
    """What a run takes at most, if everything is as the catalog says."""

    requests: int
    dollars: Decimal | None
    """None: the price of the model is unknown."""


@dataclass
class _Side:
    """One server, and what is known of its model so far."""

    session: Session
    findings: dict[str, Finding] = field(default_factory=dict)
    _reasons: bool | None = None

    def lacks(self, fact: ProbeFact) -> str:
        """What a fact needs and this model does not have; empty if nothing."""
        return next(
            (need for need in fact.needs if need in _MEASURED and not _MEASURED[need](self)), ""
        )

    def look(self, fact: ProbeFact) -> Finding:
        """The finding of a fact."""
        finding = LOOKS[fact.look](self.session, fact)
        self.findings[fact.id] = finding
        return finding

    def value(self, name: str) -> Any:
        """What was measured of another fact; None if it was not."""
        finding = self.findings.get(name)
        return finding.value if finding else None

    def is_reasoning(self) -> bool:
        """Whether the model reasons at all."""
        if self._reasons is None:
            self._reasons = is_reasoning(self.session)
        return self._reasons


def _has_seals(side: _Side) -> bool:
    return bool(LOOKS["sealed"](side.session, _NO_FACT).value)


def _is_off(side: _Side) -> bool:
    if side.value("off") is None:
        return bool(side.session.target.row.off in ("value", "between_tools"))
    return side.value("off") in ("value", "between_tools")


_MEASURED: dict[str, Callable[[_Side], bool]] = {
    "reasons": _Side.is_reasoning,
    "seals": _has_seals,
    "is_off": _is_off,
    "inline": lambda side: side.value("inline") is not False,
    "loop": lambda side: side.value("loop") != "refused",
}
_NO_FACT = ProbeFact(id="", fact="", look="sealed", group="")


class Run:
    """The facts of one model, measured at one server."""

    def __init__(self, facts: Iterable[ProbeFact], session: Session) -> None:
        target = session.target
        self._facts = [fact for fact in facts if concerned(fact, target)]
        self._side = _Side(session)
        spending = replace(session.spending, most=None, spent=Decimal(0), requests=0)
        catalog = Session(target, Emulated(target.provider or "custom"), spending, attempt=1)
        self._catalog = _Side(catalog)
        self._expected: dict[str, Finding | str] = {}
        self.stopped = ""
        """Why the run ended early."""
        self.current: ProbeFact | None = None
        """The fact that is measured now."""

    @property
    def target(self) -> Target:
        """The model."""
        return self._side.session.target

    def estimate(self) -> Estimate:
        """What the run takes; the emulator answers."""
        for fact in self._facts:
            self._expected[fact.id] = self._expect(fact)
        spending: Spending = self._catalog.session.spending
        priced = spending.output_price is not None
        return Estimate(spending.requests, spending.planned if priced else None)

    def _expect(self, fact: ProbeFact) -> Finding | str:
        """What the catalog expects, or the need that the model does not have."""
        try:
            lacking = self._catalog.lacks(fact)
            return lacking or self._catalog.look(fact)
        except NotMeasuredError as problem:
            return str(problem)

    def results(self) -> Iterator[ProbeResult]:
        """The facts one after the other, as they are measured; ends early if the server denies access, or refuses everything."""
        if not self._expected:
            self.estimate()
        try:
            self._check_plain()
            for fact in self._facts:
                self.current = fact
                result = self._result(fact)
                if result is not None:
                    yield result
        except StoppedError as problem:
            self.stopped = str(problem)

    def _check_plain(self) -> None:
        """Raises `StoppedError` if not even a plain request is accepted: then a refusal says nothing about what it adds."""
        session = self._side.session
        try:
            outcome = session.outcome(Recipe(whole=True))
            if outcome.is_accepted or session.streams():
                return
        except NotMeasuredError:
            return  # perhaps later
        raise StoppedError(f"a plain request is refused: {outcome.status} {outcome.words}"[:300])

    def _result(self, fact: ProbeFact) -> ProbeResult | None:
        expected = self._expected[fact.id]
        known = expected if isinstance(expected, Finding) else None
        side = self._side
        try:
            if lacking := side.lacks(fact):
                # A fact that has no meaning on either side is no result.
                reason = f"settled: {_SETTLED.get(lacking, lacking)}"
                return ProbeResult(fact, "settled", known, reason=reason) if known else None
            measured = side.look(fact)
            result = self._compared(fact, known, measured)
            if result.status == "differs" and not self._is_same_again(fact, measured):
                return ProbeResult(fact, "not measured", known, reason="two measurements differ")
        except NotMeasuredError as problem:
            if known is None:
                return None
            return ProbeResult(fact, "not measured", known, reason=str(problem))
        return result

    def _is_same_again(self, fact: ProbeFact, measured: Finding) -> bool:
        session = self._side.session
        session.attempt += 1
        try:
            return bool(LOOKS[fact.look](session, fact).value == measured.value)
        finally:
            session.attempt -= 1

    def _compared(
        self, fact: ProbeFact, expected: Finding | None, measured: Finding
    ) -> ProbeResult:
        column = column_of(fact, measured, self.target)
        if expected is None:
            # The emulator cannot say it; then only a column can.
            if column is None or column.value == catalog_value(column.table, column.name, self.target):  # fmt: skip
                return ProbeResult(fact, "agrees", None, measured)
            return ProbeResult(fact, "differs", None, measured, column=column)
        if expected.value == measured.value:
            other = any(expected.words[key] != words for key, words in measured.words.items() if key in expected.words)  # fmt: skip
            return ProbeResult(fact, "differs in words" if other else "agrees", expected, measured)
        said = None if column is None else catalog_value(column.table, column.name, self.target)
        if column is not None and column.value == said:
            return ProbeResult(fact, "agrees", expected, measured)
        return ProbeResult(fact, "differs", expected, measured, column=column)


_SETTLED = {
    "reasons": "it does not reason",
    "seals": "nothing is sealed",
    "is_off": "it cannot be switched off",
    "inline": "the text has no reasoning",
    "loop": "the loop itself is refused",
}
