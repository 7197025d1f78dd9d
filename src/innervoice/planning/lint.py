"""Checks a history for a target: what would be refused, or would silently degrade."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from innervoice.canon.messages import Message
from innervoice.canon.notes import ADVICE, Severity
from innervoice.canon.parts import is_inline
from innervoice.canon.request import Request
from innervoice.canon.value import Value
from innervoice.planning.decisions import Decision
from innervoice.planning.pairs import pairs_of
from innervoice.planning.plan import planned, refused_end
from innervoice.planning.request import FittedRequest

__all__ = ["Problem", "Problems", "Severity", "lint"]


_SENT: dict[Severity, str] = {
    "refused": "would be refused",
    "degraded": "is sent, with less effect",
}


class Problem(Value, frozen=True, kw_only=True):
    """One problem of a history, for a target."""

    code: str
    """What it is: the code of the note that sending the history would add."""
    severity: Severity
    """ "refused" if the provider would refuse the request, "degraded" if the answer would be worse."""
    message: int
    """The number of the message."""
    part: int | None = None
    """The number of the part in it; None for the whole message."""
    why: str
    """What is wrong."""
    fix: str
    """What to do."""

    def __str__(self) -> str:
        place = f"message {self.message}" + (f", part {self.part}" if self.part is not None else "")
        return self.at(place)

    def at(self, place: str) -> str:
        """The problem as a sentence, with its place in front.

        :param place: The place, in words.
        """
        return f"{place}: {_SENT[self.severity]}: {self.why}. To fix it, {self.fix}. [{self.code}]"

    def _repr_html_(self) -> str:
        """The problem as HTML, for notebooks."""
        return str(import_module("innervoice.show.notebook").problems_html([self]))


class Problems(list[Problem]):
    """The problems of a history: a list that a notebook shows as a table."""

    def _repr_html_(self) -> str:
        """The problems as HTML, for notebooks."""
        return str(import_module("innervoice.show.notebook").problems_html(self))


def lint(
    messages: Sequence[Message], target: str, dialect: str | None = None, **settings: Any
) -> list[Problem]:
    """Lists the problems of a history for a target, `provider/model`.

    `settings` are other fields of a `Request` (system, tools, reasoning, scope, ...), which are taken into account.
    """
    request = Request(target, tuple(messages), dialect=dialect, **settings)
    fitted, plan, _ = planned(request)
    repeated = {item.message for item in plan.decisions if item.note == "turn_repeated"}
    sent = [
        message.replace(parts=()) if number in repeated else message
        for number, message in enumerate(messages)
    ]
    problems = [*_of_structure(sent)]
    for decision in plan.decisions:
        if decision.note and decision.note != "result_filled":  # reported by _of_structure
            problem = _problem(decision.note, decision.message, decision.why, decision.part)
            if decision.action == "kept":  # the part is sent, and the host ignores it
                problem = problem.replace(severity="degraded")
            problems.append(problem)
        elif _is_stored_inline(decision, messages):
            why = "reasoning between tags is part of the text, and would be read as the answer"
            problems.append(_problem("inline_thinking", decision.message, why, decision.part))
    problems += _of_efforts(fitted)
    if plan.thinking_off and fitted.reasons:
        problems.append(_loop_problem(messages))
    if end := refused_end(fitted, plan):
        problems.append(_problem("prefill_refused", len(messages) - 1, end))
    return Problems(sorted(problems, key=lambda problem: (problem.message, problem.part or 0)))


def _is_stored_inline(decision: Decision, messages: Sequence[Message]) -> bool:
    """Whether a part that is sent is reasoning in the text of a turn whose model is unknown: a model gets its own text back as it wrote it."""
    if decision.kind != "thinking" or decision.part is None:
        return False
    part = messages[decision.message].parts[decision.part]
    return is_inline(part) and part.origin is not None and part.origin.model is None


def _loop_problem(messages: Sequence[Message]) -> Problem:
    number = max(number for number, message in enumerate(messages) if message.role == "assistant")
    why = "the open tool loop does not begin with this model's thinking"
    return _problem("reasoning_off_for_loop", number, why)


def _of_efforts(fitted: FittedRequest) -> Iterator[Problem]:
    """Changes of the effort that the model does not read where they stand; before the first answer they are none."""
    if not fitted.effort.has_changes or fitted.effort.is_carried:
        return
    is_answered = False
    for number, message in enumerate(fitted.asked.messages):
        is_answered = is_answered or message.role == "assistant"
        if is_answered and message.effort and message.role != "assistant":
            why = "the model does not read where the effort changes"
            yield _problem("effort_from_history", number, why)


def _of_structure(messages: Sequence[Message]) -> Iterator[Problem]:
    """Calls without results, and results without calls; calls of the last turn may still be open."""
    pairs = pairs_of(messages)
    for number, position in pairs.strays:
        part = messages[number].parts[position]
        why = f"a result for the call {getattr(part, 'call_id', '')!r}, which is not in the history"
        yield _problem("result_without_call", number, why, position)
    for number, position in pairs.unanswered:
        if number < len(messages) - 1:
            part = messages[number].parts[position]
            why = f"the call {getattr(part, 'id', '')!r} has no result"
            yield _problem("call_without_result", number, why, position)


def _problem(code: str, message: int, why: str, part: int | None = None) -> Problem:
    severity, fix = ADVICE[code]
    return Problem(code=code, severity=severity, message=message, part=part, why=why, fix=fix)
