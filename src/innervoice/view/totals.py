"""Tokens and dollars of a turn and of a conversation, and how much of them is reasoning.

`Usage` has one convention for all providers: output includes reasoning, input includes the cache. So nothing is counted twice here; a fact says how
the provider itself counted, where its own numbers show it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, Literal, NamedTuple

from innervoice.canon.notes import SENTENCES
from innervoice.canon.response import Response, Status
from innervoice.canon.thinking_metrics import ThinkingMetrics
from innervoice.canon.usage import Cost, Usage
from innervoice.errors import InnervoiceError
from innervoice.pricing import are_prices_known
from innervoice.show.policy import counted
from innervoice.sources.conversation import Conversation, Mark, Turn
from innervoice.thinking_metrics import token_metrics
from innervoice.view.row_types import (
    Fact,
    clock,
    dollars,
    duration,
    fact,
    moment,
    rest,
    share,
    turn_name,
)
from innervoice.view.sending import sent_before

__all__ = [
    "STATUS_WORDS",
    "Prices",
    "covered_fact",
    "lost_cache",
    "sums",
    "token_facts",
    "turn_facts",
    "turn_notes",
]


class Prices:
    """Costs at list prices, or those of the user's own catalog, if there are any."""

    def __init__(self) -> None:
        self.are_known = are_prices_known()

    def of(self, answer: Response) -> Cost | None:
        """The cost of an answer; None where tokens or prices are unknown."""
        if not self.are_known or not answer.model:
            return None
        try:
            return answer.cost()
        except (InnervoiceError, ArithmeticError, ValueError, TypeError, AttributeError):
            return None  # the turn is shown even if the price table does not match


def token_facts(usage: Usage, cost: Cost | None = None, *, estimated: bool = False) -> list[Fact]:
    """What an answer, or all of them, used: tokens in and out, and dollars; those of reasoning may be estimated."""
    facts = []
    if usage.input_tokens is not None:
        facts.append(
            fact(f"{usage.input_tokens:,} in", "Tokens of the request, cached ones included.")
        )
    if usage.cached_input_tokens:
        part = share(usage.cached_input_tokens, usage.input_tokens or 0)
        why = f"{part} of the request came from the prompt cache." if usage.input_tokens else ""
        facts.append(fact(f"{usage.cached_input_tokens:,} cached", why))
    if usage.output_tokens is not None:
        facts.append(
            fact(f"{usage.output_tokens:,} out", "Tokens of the answer, reasoning included.")
        )
    if usage.reasoning_tokens is not None:
        about = "~" if estimated else ""
        why = f"{_about_reasoning(usage)} {_ESTIMATED}" if estimated else _about_reasoning(usage)
        facts.append(fact(f"{about}{usage.reasoning_tokens:,} reasoning", why))
    if cost is not None:
        facts.append(_cost_fact(cost, "about " if estimated else ""))
    return facts


_ESTIMATED = "Estimated from the lengths of the texts: the provider counted only the sum."


def _about_reasoning(usage: Usage) -> str:
    if not usage.output_tokens or usage.reasoning_tokens is None:
        return "Tokens of reasoning."
    part = share(usage.reasoning_tokens, usage.output_tokens)
    return f"{part} of the output tokens are reasoning. {_convention(usage)}".rstrip()


def _convention(usage: Usage) -> str:
    """How the provider counted, as far as its own numbers show."""
    output, reasoning = usage.output_tokens or 0, usage.reasoning_tokens or 0
    if usage.raw is None or not reasoning:
        return ""
    reported = set(_numbers(usage.raw))
    if output in reported:
        return "The provider counts them as part of its output tokens."
    if output - reasoning in reported:
        return "The provider reports them separately from the tokens of the answer; here they are part of the output."
    return ""


def _numbers(raw: Any) -> Iterator[int]:
    if isinstance(raw, dict):
        for value in raw.values():
            yield from _numbers(value)
    elif isinstance(raw, int) and not isinstance(raw, bool):
        yield raw


def _cost_fact(cost: Cost, about: str) -> Fact:
    why = f"At list prices of {cost.model}: {dollars(cost.input)} in, {dollars(cost.output)} out."
    if cost.reasoning is not None and cost.total:
        part = share(float(cost.reasoning), float(cost.total))
        why += f" Reasoning is {about}{dollars(cost.reasoning)} of it, {part} of the bill."
    return fact(dollars(cost.total), why)


class _Sum(NamedTuple):
    """What all answers used together."""

    usage: Usage
    answers: int
    uncounted: int
    """Answers without token counts."""
    reasoned: Usage
    """The usage of the answers that report reasoning tokens, so that the share is computed over the same answers."""


def sums(conversation: Conversation, prices: Prices) -> list[Fact]:
    """What the conversation used: tokens, reasoning and its share, dollars, and lost cache hits."""
    answers = _answers(conversation)
    total = _sum(answers)
    facts = token_facts(total.usage.replace(reasoning_tokens=None))
    tokens = total.usage.reasoning_tokens
    if tokens is not None:
        part = share(tokens, total.reasoned.output_tokens or 0)
        why = f"{part} of the output tokens of the answers that report them are reasoning."
        facts.append(fact(f"{tokens:,} reasoning", why))
    if total.uncounted and total.answers > total.uncounted:
        why = f"{total.uncounted} of {total.answers} answers have no token counts; the sums do not include them."
        facts.append(fact(f"{counted(total.uncounted, 'answer')} uncounted", why, "warn"))
    if bill := _bill(answers, prices):
        facts.append(bill)
    facts += lost_cache(conversation)
    return facts


def _answers(conversation: Conversation) -> list[Response]:
    """The answers, each once: programs that split an answer into several turns repeat its counts on each."""
    seen: set[str] = set()
    answers = []
    for turn in conversation.turns:
        answer = turn.answer
        if answer is None or (answer.id is not None and answer.id in seen):
            continue
        if answer.id is not None:
            seen.add(answer.id)
        answers.append(answer)
    return answers


def _sum(answers: Sequence[Response]) -> _Sum:
    usage = reasoned = Usage()
    uncounted = 0
    for answer in answers:
        usage += answer.usage
        uncounted += answer.usage.output_tokens is None
        if answer.usage.reasoning_tokens is not None:
            reasoned += answer.usage
    return _Sum(usage, len(answers), uncounted, reasoned)


def _bill(answers: Sequence[Response], prices: Prices) -> Fact | None:
    costs = [cost for answer in answers if (cost := prices.of(answer)) is not None]
    if not costs:
        return None
    total = sum((cost.total for cost in costs), Decimal())
    reasoning = sum((cost.reasoning for cost in costs if cost.reasoning), Decimal())
    models = ", ".join(sorted({cost.model for cost in costs}))
    why = f"At list prices of {models}."
    if total and reasoning:
        why += f" Reasoning is {dollars(reasoning)} of it, {share(float(reasoning), float(total))} of the bill."
    if len(costs) < len(answers):
        why += f" {len(answers) - len(costs)} of {len(answers)} answers have no price."
    return fact(dollars(total), why)


def lost_cache(conversation: Conversation) -> list[Fact]:
    """Tokens that came from the prompt cache at one answer but not at the next of the same model, though the prompt only grows."""
    lost = 0
    places: list[str] = []
    last: dict[str, Usage] = {}
    for number, turn in enumerate(conversation.turns):
        answer = turn.answer
        if "compaction" in turn.marks:
            last.clear()  # a summary begins a new prompt on purpose
        if answer is None or answer.model is None or answer.usage.cached_input_tokens is None:
            continue
        before = last.get(answer.model)
        cached = before.cached_input_tokens if before else None
        if cached and answer.usage.cached_input_tokens < cached:
            lost += cached - answer.usage.cached_input_tokens
            places.append(str(number + 1))
        last[answer.model] = answer.usage
    if not lost:
        return []
    turns = f"turn{'' if len(places) == 1 else 's'} {', '.join(places[:8])}{' …' if len(places) > 8 else ''}"
    why = f"At {turns} fewer tokens came from the prompt cache than for the answer before: something earlier was edited, or the cache expired."
    return [fact(f"{lost:,} cached tokens lost", why, "warn")]


# ---- The facts above a turn: its number, model, time, status, tokens, cost, place in the file, marks, and notes.


STATUS_WORDS: dict[Status, str] = {
    "answered": "answered",
    "tool_calls": "calls tools",
    "truncated": "cut off at the token limit",
    "budget_exhausted": "token limit reached before an answer",
    "refused": "refused",
    "interrupted": "interrupted",
    "stopped_inside_thinking": "stopped inside its thinking",
    "empty": "no answer",
}
_TONES: dict[Status, Literal["warn", "bad"]] = {
    "truncated": "warn",
    "budget_exhausted": "bad",
    "refused": "bad",
    "interrupted": "bad",
    "stopped_inside_thinking": "bad",
    "empty": "bad",
}
_MARKS: dict[Mark, tuple[str, str]] = {
    "compaction": ("summary of the turns before", "It replaces everything before it in the requests that follow."),
    "abandoned": ("abandoned", "The user went back to a point before this turn; it is not part of the requests that follow."),
    "repeated": ("asked again", "The same request was sent again; this answer is not part of the requests that follow."),
    "api_error": ("error of the API", "The program showed this error; it was never sent to the model."),
    "injected": ("written by the program", "The program, not the user, wrote this."),
}  # fmt: skip


def turn_facts(number: int, turn: Turn, prices: Prices) -> list[Fact]:
    """The facts of a turn, the most important first."""
    return list(_facts(number, turn, prices))


def _facts(number: int, turn: Turn, prices: Prices) -> Iterator[Fact]:
    """Marks, model, trouble, tokens and cost, time on one line; the rest on demand."""
    answer = turn.answer
    for mark in turn.marks:
        label, why = _MARKS[mark]
        yield fact(label, why, "bad" if mark == "api_error" else "warn")
    if turn.at is not None and (when := clock(turn.at)):
        yield fact(when)
    if model := _model(turn):
        yield fact(*model)
    if answer is not None:
        yield _status_fact(answer)
        metrics = token_metrics(answer, answer.usage, ThinkingMetrics())
        usage = answer.usage.replace(reasoning_tokens=metrics.thinking_tokens)
        cost = prices.of(answer.replace(usage=usage))
        for one in token_facts(usage, cost, estimated=metrics.estimated):
            yield one if one["label"].endswith(" out") or "$" in one["label"] else {**one, "rest": True}  # fmt: skip
    if turn.message.role == "assistant" and turn.seconds and (words := duration(turn.seconds)):
        yield fact(words, "How long the model took.")
    if turn.thinking_seconds and (words := duration(turn.thinking_seconds)):
        yield fact(f"thought {words}", "How long it thought before it answered, or between two pieces of its answer.")  # fmt: skip
    if turn.at is not None and (when := moment(turn.at)):
        yield rest(when, "When it was written, in local time.")
    yield rest(turn_name(number), "The number of the turn in plans and comparisons.")
    if turn.line is not None:
        yield rest(f"line {turn.line}", "Where it begins in the file.")


def covered_fact(conversation: Conversation, number: int) -> Fact:
    """What a compaction stands for: the turns that the request before it would have contained."""
    sent = [conversation.turns[one] for one in sent_before(conversation, number).numbers]
    covered = [turn for turn in sent if turn.message.role != "system"]
    earlier = any("compaction" in turn.marks for turn in covered)
    why = (
        "So many turns of the user, the model and its tools were sent before it, and are no longer."
    )
    if earlier:
        why += " The compaction before it is one of them."
    return fact(f"covers {counted(len(covered), 'turn')}", why)


def _status_fact(answer: Response) -> Fact:
    """How the answer ended; that it is complete, or calls tools, everybody sees."""
    reason = answer.wire_finish_reason
    why = f"The provider's finish reason is {reason}." if reason else ""
    if answer.status in ("answered", "tool_calls"):
        return rest(STATUS_WORDS[answer.status], why)
    return fact(STATUS_WORDS[answer.status], why, _TONES.get(answer.status))


def _model(turn: Turn) -> tuple[str, str] | None:
    answer: Response | None = turn.answer
    if answer is not None and answer.model:
        return answer.model, f"Answered by {answer.provider or 'an unknown provider'}."
    origins = (part.origin for part in turn.message.parts if part.origin and part.origin.model)
    origin = next(origins, None)
    if origin is None or not origin.model:
        return None
    return origin.model, f"Answered by {origin.provider or 'an unknown provider'}."


def turn_notes(turn: Turn) -> list[Fact]:
    """The notes of an answer: code and sentence."""
    return [
        fact(
            note.code + (f" ×{note.count}" if note.count > 1 else ""),
            SENTENCES.get(note.code, "") + (f" ({note.detail[:4000]})" if note.detail else ""),
        )
        for note in (turn.answer.notes if turn.answer else ())
    ]
