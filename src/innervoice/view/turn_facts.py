"""The facts above a turn: its number, model, time, status, tokens, cost, place in the file, marks, and notes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from innervoice.canon.notes import SENTENCES
from innervoice.canon.response import Response, Status
from innervoice.sources.conversation import Mark, Turn
from innervoice.view.row_types import Fact
from innervoice.view.totals import Prices, token_facts
from innervoice.view.wording import duration, fact, moment

__all__ = ["STATUS_WORDS", "turn_facts", "turn_notes"]

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
    "api_error": ("error of the API", "The program showed this error; it was never sent to the model."),
    "injected": ("written by the program", "The program, not the user, wrote this."),
}  # fmt: skip


def turn_facts(number: int, turn: Turn, prices: Prices) -> list[Fact]:
    """The facts of a turn, the most important first."""
    return list(_facts(number, turn, prices))


def _facts(number: int, turn: Turn, prices: Prices) -> Iterator[Fact]:
    answer = turn.answer
    for mark in turn.marks:
        label, why = _MARKS[mark]
        yield fact(label, why, "bad" if mark == "api_error" else "warn")
    if model := _model(turn):
        yield fact(*model)
    if answer is not None:
        reason = (
            f"The provider's finish reason is {answer.wire_finish_reason}."
            if answer.wire_finish_reason
            else ""
        )
        yield fact(STATUS_WORDS[answer.status], reason, _TONES.get(answer.status))
        yield from token_facts(answer.usage, prices.of(answer))
    if turn.message.role == "assistant" and turn.seconds and (words := duration(turn.seconds)):
        yield fact(words, "How long the model took.")
    if turn.at is not None and (when := moment(turn.at)):
        yield fact(when, "When it was written, in local time.")
    yield fact(
        f"turn {number}", "The number of the turn in plans and comparisons; the first turn is 0."
    )
    if turn.line is not None:
        yield fact(f"line {turn.line}", "Where it begins in the file.")


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
