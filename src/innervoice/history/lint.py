"""Checks a history for a target: what would be refused, or would silently degrade."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias

from innervoice.canon.messages import Message
from innervoice.canon.request import Request
from innervoice.canon.value import Value
from innervoice.history.inputs import messages_of
from innervoice.history.pairs import pairs_of
from innervoice.history.plan import planned

__all__ = ["Problem", "Severity", "lint"]

Severity: TypeAlias = Literal["refused", "degraded"]

# The note of a decision -> what happens if the part is sent unchanged, and how to fix it.
_BY_NOTE: dict[str, tuple[Severity, str]] = {
    "thinking_omitted": ("refused", "do not send it; it stays in the history"),
    "thinking_as_text": ("degraded", "models imitate such text; omit it instead"),
    "opaque_dropped": ("refused", "do not send it; it stays in the history"),
    "reasoning_filled": ("refused", "send the field, empty where the reasoning is lost"),
    "signature_filled": ("refused", "send the documented value that skips the check"),
    "prefix_changed": ("refused", "undo the change, or do not send the reasoning"),
    "held_by_server": ("degraded", "the messages that the server stores are not checked"),
    "reasoning_missing": (
        "degraded",
        "keep the reasoning of a tool loop, and send it back with the loop",
    ),
    "item_id_dropped": ("refused", "send it without its id"),
    "item_not_stored": ("refused", "send it without its id"),
    "calls_moved": ("refused", "move the calls to the end of their turn"),
    "turn_removed": ("refused", "do not send the turn"),
    "turn_repeated": ("refused", "do not send the second one"),
    "result_repeated": ("refused", "send only the first"),
    "blank_omitted": ("refused", "do not send it"),
    "call_omitted": ("refused", "do not send it"),
    "id_mapped": ("refused", "map the id, in the call and in its result"),
}


class Problem(Value, frozen=True, kw_only=True):
    """One problem of a history, for a target."""

    code: str
    severity: Severity
    message: int
    part: int | None = None
    why: str
    fix: str

    def __str__(self) -> str:
        place = f"message {self.message}" + (f", part {self.part}" if self.part is not None else "")
        return f"{place}: {self.why} ({self.code}, {self.severity}); {self.fix}"


def lint(
    messages: Sequence[Any], target: str, dialect: str | None = None, **settings: Any
) -> list[Problem]:
    """Lists the problems of a history for a target, `provider/model`.

    `messages` are ours, or the list of another library. `settings` are other fields of a `Request` (system, tools, reasoning, scope, ...),
    which are taken into account.
    """
    messages = messages_of(messages)
    request = Request(target, messages, dialect=dialect, **settings)
    fitted, plan, _ = planned(request)
    repeated = {item.message for item in plan.decisions if item.note == "turn_repeated"}
    sent = [
        message.replace(parts=()) if number in repeated else message
        for number, message in enumerate(messages)
    ]
    found = [*_of_structure(sent)]
    for decision in plan.decisions:
        if decision.note and decision.note != "result_filled":  # reported by _of_structure
            severity, fix = _BY_NOTE[decision.note]
            if decision.action == "kept":
                severity = "degraded"  # the part is sent, and the host ignores it
            found.append(
                Problem(
                    code=decision.note,
                    severity=severity,
                    message=decision.message,
                    part=decision.part,
                    why=decision.why,
                    fix=fix,
                )
            )
    if plan.thinking_off and fitted.reasons:
        found.append(_loop_problem(messages))
    if fitted.refuses_prefill:
        why = "the history ends with an assistant message, and this model does not accept prefill"
        found.append(_refused("prefill_refused", len(messages) - 1, why, "end with a user message"))
    return sorted(found, key=lambda problem: (problem.message, problem.part or 0))


def _loop_problem(messages: Sequence[Message]) -> Problem:
    number = max(number for number, message in enumerate(messages) if message.role == "assistant")
    why = "the open tool loop does not begin with this model's thinking"
    return _refused("reasoning_off_for_loop", number, why, "switch reasoning off for this request")


def _of_structure(messages: Sequence[Message]) -> Iterator[Problem]:
    """Calls without results, and results without calls; calls of the last turn may still be open."""
    pairs = pairs_of(messages)
    for number, position in pairs.strays:
        part = messages[number].parts[position]
        why = f"a result for the call {getattr(part, 'call_id', '')!r}, which is not in the history"
        yield _refused("result_without_call", number, why, "remove it", position)
    for number, position in pairs.unanswered:
        if number < len(messages) - 1:
            part = messages[number].parts[position]
            why = f"the call {getattr(part, 'id', '')!r} has no result"
            fix = "add a result that reports it"
            yield _refused("call_without_result", number, why, fix, position)


def _refused(code: str, message: int, why: str, fix: str, part: int | None = None) -> Problem:
    return Problem(code=code, severity="refused", message=message, part=part, why=why, fix=fix)
