"""What a request to a target would do with each row, and that request, compared with the last one that was sent."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal, NamedTuple

from innervoice.canon.messages import Message, tool_result, user
from innervoice.canon.parts import Thinking
from innervoice.canon.request import Request
from innervoice.errors import InnervoiceError
from innervoice.planning.cache import cache_effect
from innervoice.planning.decisions import Decision
from innervoice.planning.encode import encoded_plan
from innervoice.planning.lint import Problem, lint
from innervoice.planning.pairs import pairs_of
from innervoice.planning.plan import Plan, Planned, planned
from innervoice.privacy.redactor import Redactor
from innervoice.privacy.secrets import redacted
from innervoice.show.policy import counted
from innervoice.show.visible import visible
from innervoice.sources.conversation import Conversation
from innervoice.view.plan_sentence import plan_sentence
from innervoice.view.row_types import DiffLine, Fact, PlanMark, PlanView, fact, turn_name
from innervoice.view.rows import heads_of
from innervoice.view.sending import (
    Sent,
    last_answered,
    model_of,
    next_sent,
    request_for,
    sent_before,
)

__all__ = ["diff_lines", "encoded_lines", "plan_view", "request_lines", "trouble"]

_Action = Literal["goes", "stays", "rewritten", "added"]
_ACTIONS: dict[str, _Action] = {
    "kept": "goes",
    "omitted": "stays",
    "converted": "rewritten",
    "filled": "added",
}
_LABELS: dict[_Action, str] = {
    "goes": "goes unchanged",
    "stays": "stays here",
    "rewritten": "goes in another form",
    "added": "is added",
}
_SAID_NEXT = "[your next message]"
_TOOL_GIVES = "[the result of the tool]"


def plan_view(conversation: Conversation, target: str) -> PlanView:
    """The plan for a target, `provider/model`; if it cannot be planned or written, `error` says why."""
    view: PlanView = {
        "target": target, "sentence": "", "summary": [], "marks": {}, "request": [], "compared": "",
    }  # fmt: skip
    sent = next_sent(conversation)
    try:
        request = request_for(conversation, _gone_on(sent.messages), target)
        plan = planned(request)
        problems = lint(request.messages, target, **_settings(request))
    except Exception as error:  # noqa: BLE001 - whatever a file holds, the page shows the rest
        view["error"] = trouble(error)
        return view
    marks = _Marks(conversation, sent)
    view["marks"] = marks.of(plan.plan, problems)
    view["sentence"] = _in_words(target, plan.plan, sent, None)
    try:
        last = _last(conversation)
        view["sentence"] = _in_words(target, plan.plan, sent, last)
        lines = encoded_lines(plan)
        view["request"] = diff_lines(last.lines if last else [], lines)
        view["compared"] = (
            last.words if last else "Nothing was sent before: the whole request is new."
        )
        view["summary"] = _summary(conversation, plan, marks.open_problems, last, sent)
    except Exception as error:  # noqa: BLE001 - whatever a file holds, the page shows the rest
        view["error"] = trouble(error)
        view["summary"] = _summary(conversation, plan, marks.open_problems, None, sent)
    return view


def _in_words(target: str, plan: Plan, sent: Sent, last: _Last | None) -> str:
    """The plan in one sentence."""
    effect = cache_effect(last.plan, plan) if last else None
    number = effect.message if effect else None
    is_sent = number is not None and number < len(sent.numbers)
    turn = turn_name(sent.numbers[number]) if is_sent and number is not None else "the end"
    return plan_sentence(target, plan, sent.messages, effect, turn)


def trouble(error: Exception) -> str:
    """An error in words, without anything that looks like a key."""
    words = str(error) if isinstance(error, InnervoiceError) else f"{type(error).__name__}: {error}"
    return _sentence(redacted(words[:2000], wary=True))


def _sentence(words: str) -> str:
    return fact("", words)["why"]


def encoded_lines(planned_request: Planned) -> list[str]:
    """A planned request in its target's dialect, as lines, without seals and files."""
    return request_lines(encoded_plan(planned_request).body, planned_request.fitted.asked.messages)


class _Last(NamedTuple):
    """The last request that was sent."""

    plan: Plan
    lines: list[str]
    words: str


def _last(conversation: Conversation) -> _Last | None:
    """The request before the last answer, to the model that wrote it; None if there is none, or it cannot be rewritten."""
    turn = last_answered(conversation)
    if turn is None:
        return None
    request_before = conversation.request
    model = model_of(conversation, turn) or (request_before.model if request_before else None)
    sent = sent_before(conversation, turn)
    if model is None or not sent.messages:
        return None
    try:
        plan_before = planned(request_for(conversation, sent.messages, model))
        lines = encoded_lines(plan_before)
    except InnervoiceError:
        return None
    words = f"Compared with the request before {turn_name(turn)}, to {model}, as it would be written now."
    return _Last(plan_before.plan, lines, _sentence(words))


def _gone_on(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The history with what must be added before it is sent: results of open calls, or the user's next message."""
    if not messages or messages[-1].role != "assistant":
        return messages
    last = len(messages) - 1
    places = [place for number, place in pairs_of(messages).unanswered if number == last]
    calls = [messages[-1].parts[place] for place in places]
    results = [tool_result(str(getattr(call, "id", "")), _TOOL_GIVES) for call in calls]
    return (*messages, *(results or [user(_SAID_NEXT)]))


def _settings(request: Request) -> dict[str, Any]:
    return {
        name: getattr(request, name)
        for name in Request.__struct_fields__
        if name not in ("model", "messages")
    }


class _Marks:
    """Decisions and findings, by the rows that they are about."""

    def __init__(self, conversation: Conversation, sent: Sent) -> None:
        self._conversation = conversation
        self._sent = sent
        self._heads = heads_of(conversation)
        self._made: dict[str, list[PlanMark]] = {}
        self.open_problems: list[Problem] = []
        """Findings that the plan does not fix: they need a person."""

    def of(self, plan: Plan, problems: list[Problem]) -> dict[str, list[PlanMark]]:
        """All marks, by the numbers of rows as text."""
        for decision in plan.decisions:
            for row in self._rows(decision.message, decision.part, decision.kind):
                self._add(row, _mark(decision))
        for problem in problems:
            for row in self._rows(problem.message, problem.part, ""):
                self._report(row, problem)
        sent = set(self._sent.numbers)
        for number, turn in enumerate(self._conversation.turns):
            if number not in sent:
                self._add(self._heads[number], _unsent(turn.marks))
        return self._made

    def _rows(self, message: int, part: int | None, kind: str) -> Iterator[int]:
        """The rows of a position in the request; none for messages that are only added."""
        if message >= len(self._sent.numbers):
            return
        turn = self._sent.numbers[message]
        head = self._heads[turn]
        if part is not None:
            yield head + 1 + part
        elif kind == "thinking":
            parts = self._conversation.turns[turn].message.parts
            yield from (head + 1 + n for n, one in enumerate(parts) if isinstance(one, Thinking))
        else:
            yield head

    def _add(self, row: int, mark: PlanMark) -> None:
        self._made.setdefault(str(row), []).append(mark)

    def _report(self, row: int, problem: Problem) -> None:
        """Adds a finding that needs a person; one that the plan fixes is told by the mark of the row."""
        code = problem.code.replace("_", " ")
        why = f"{problem.why}. To do: {problem.fix}."
        if any(mark["why"] == _sentence(problem.why) for mark in self._made.get(str(row), [])):
            return
        self.open_problems.append(problem)
        report = fact(code, why, "bad" if problem.severity == "refused" else "warn")
        label = "would be refused" if problem.severity == "refused" else "is sent, with less effect"
        self._add(
            row,
            {
                "action": "goes",
                "label": label,
                "rule": "lint",
                "why": _sentence(problem.why),
                "problems": [report],
            },
        )


def _mark(decision: Decision) -> PlanMark:
    action = _ACTIONS[decision.action]
    label = _LABELS[action]
    if action == "goes" and decision.note:
        label = "is sent, with less effect"
    return {
        "action": action,
        "label": label,
        "rule": decision.rule,
        "why": _sentence(decision.why),
        "problems": [],
    }


def _unsent(marks: tuple[str, ...]) -> PlanMark:
    why = "a later summary replaces it"
    if "abandoned" in marks:
        why = "the user went back to a point before it"
    elif "repeated" in marks:
        why = "the same request was sent again, and got another answer"
    elif "api_error" in marks:
        why = "it is an error that was only shown"
    return {"action": "stays", "label": _LABELS["stays"], "rule": "", "why": why, "problems": []}


def _summary(
    conversation: Conversation,
    planned_request: Planned,
    problems: list[Problem],
    last: _Last | None,
    sent: Sent,
) -> list[Fact]:
    plan, fitted = planned_request.plan, planned_request.fitted
    facts = []
    if not fitted.target.is_known:
        why = "The catalog has no row for this model; the defaults of its API are used."
        facts.append(fact("unknown model", why, "warn"))
    if conversation.request is None:
        why = "The source does not say which system prompt, tools and settings were sent; the request is written without them."
        facts.append(fact("unknown settings", why, "warn"))
    refused = sum(problem.severity == "refused" for problem in problems)
    if refused:
        why = "The host would refuse the history because of them, and somebody must decide what to do; each is marked at its place."
        label = f"{counted(refused, 'problem')} {'needs' if refused == 1 else 'need'} you"
        facts.append(fact(label, why, "bad"))
    facts.append(fact(f"thinking: {plan.setting}", "How much the model would be asked to think."))
    if last is not None:
        facts.append(_cache_fact(last, plan, sent))
    noted = {decision.note for decision in plan.decisions}
    facts += [
        fact(note.code, note.sentence + (f" ({note.detail})" if note.detail else ""), "warn")
        for note in fitted.notebook.notes()
        if note.code not in noted
    ]
    return facts


def _cache_fact(last: _Last, plan: Plan, sent: Sent) -> Fact:
    """How much of the prompt cache of the last request can be reused."""
    effect = cache_effect(last.plan, plan)
    if effect.message is None:
        why = f"All of the last request can be reused from the prompt cache: {effect.why}."
        return fact("cache reusable", why, "good")
    if effect.message == 0:
        return fact(
            "cache lost", f"No part of the prompt cache can be reused: {effect.why}.", "warn"
        )
    is_sent = effect.message < len(sent.numbers)
    place = turn_name(sent.numbers[effect.message]) if is_sent else "the end"
    why = f"The prompt cache can be reused up to {place}: {effect.why}."
    return fact("cache partly lost", why, "warn")


# A request as its host would get it -> lines of JSON for people.


def request_lines(body: dict[str, Any], messages: Iterable[Message]) -> list[str]:
    """The body of a request as lines, without seals, files and keys."""
    readable = Redactor("screen", messages).foreign(body)
    text = json.dumps(readable, indent=2, ensure_ascii=False, default=str)
    return visible(text).split("\n")


# ---- Two lists of lines -> the differences, with a few equal lines around them; a line says how many others are equal.
#
# Requests of one conversation differ in a few lines of thousands. Equal lines at both ends are found first, and only the lines in between are passed to
# `difflib`, up to a size at which it stays fast.


_CONTEXT = 3
_MOST_COMPARED = 3000
_MOST_SHOWN = 4000
_MOST_AT_AN_END = 900
_LONGEST = 2000


def diff_lines(before: Sequence[str], after: Sequence[str]) -> list[DiffLine]:
    """The lines removed from `before` and added in `after`, in order."""
    return list(_bounded(_with_cuts(_compared(before, after))))


def _compared(before: Sequence[str], after: Sequence[str]) -> Iterator[DiffLine]:
    shorter = min(len(before), len(after))
    start = next((n for n in range(shorter) if before[n] != after[n]), shorter)
    end = 0
    while end < shorter - start and before[-1 - end] == after[-1 - end]:
        end += 1
    yield from _lines("same", before[:start])
    yield from _middle(before[start : len(before) - end], after[start : len(after) - end])
    yield from _lines("same", before[len(before) - end :])


def _middle(before: Sequence[str], after: Sequence[str]) -> Iterator[DiffLine]:
    if not before or not after or max(len(before), len(after)) > _MOST_COMPARED:
        yield from _ends("removed", before)
        yield from _ends("added", after)
        return
    for word, one, other, third, fourth in SequenceMatcher(None, before, after).get_opcodes():
        if word == "equal":
            yield from _lines("same", before[one:other])
        else:
            yield from _lines("removed", before[one:other])
            yield from _lines("added", after[third:fourth])


def _ends(op: Literal["removed", "added"], lines: Sequence[str]) -> Iterator[DiffLine]:
    """The beginning and the end of many lines, so that both sides are visible."""
    if len(lines) <= 2 * _MOST_AT_AN_END:
        yield from _lines(op, lines)
        return
    left_out = len(lines) - 2 * _MOST_AT_AN_END
    yield from _lines(op, lines[:_MOST_AT_AN_END])
    yield {"op": op, "text": f"… {left_out:,} more lines …"}
    yield from _lines(op, lines[-_MOST_AT_AN_END:])


def _lines(op: Literal["same", "removed", "added"], lines: Sequence[str]) -> Iterator[DiffLine]:
    for line in lines:
        yield {"op": op, "text": line if len(line) <= _LONGEST else _shortened(line)}


def _shortened(line: str) -> str:
    return f"{line[:_LONGEST]} … {len(line) - _LONGEST:,} more characters"


def _with_cuts(lines: Iterator[DiffLine]) -> Iterator[DiffLine]:
    """Leaves out the middle of a long run of equal lines."""
    same: list[DiffLine] = []
    changed = False
    for line in lines:
        if line["op"] == "same":
            same.append(line)
            continue
        yield from _cut(same, before=_CONTEXT if changed else 0, after=_CONTEXT)
        same, changed = [], True
        yield line
    yield from _cut(same, before=_CONTEXT if changed else 0, after=0)


def _cut(same: list[DiffLine], *, before: int, after: int) -> Iterator[DiffLine]:
    left_out = len(same) - before - after
    if left_out <= 1:
        yield from same
        return
    yield from same[:before]
    yield {"op": "same", "text": f"… {left_out:,} lines are the same …"}
    yield from same[len(same) - after :] if after else ()


def _bounded(lines: Iterator[DiffLine]) -> Iterator[DiffLine]:
    number = 0
    for line in lines:
        number += 1
        if number <= _MOST_SHOWN:
            yield line
    if number > _MOST_SHOWN:
        yield {"op": "same", "text": f"… {number - _MOST_SHOWN:,} more lines are not shown …"}
