"""Which reasoning of a conversation stays in it: the rules `all`, `last_turn`, `none` and `unroll`.

A row is one answer, with the messages before it. Chat templates drop the reasoning of earlier turns, so a conversation of three answers, written as one
example, trains one of them with its reasoning and two without. `unroll` writes three examples, each as the model saw it: the reasoning of its own answer, and
that of the tool loop that led to it, but not that of earlier turns.

  all        one example for a conversation, all reasoning in it
  last_turn  one example, with the reasoning after the last question of the user
  none       one example, without reasoning
  unroll     an example for each answer, with the reasoning after the last question before it
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from innervoice.bulk.schema import Batch, Column, Step, column, rows_in
from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.views import is_blank
from innervoice.errors import UsageError

__all__ = [
    "HISTORY",
    "Call",
    "HistoryRule",
    "Turn",
    "by_rule",
    "conversation_of",
    "keep_last",
    "strip",
    "unroll",
]

HistoryRule: TypeAlias = Literal["all", "last_turn", "none", "unroll"]
HISTORY: tuple[HistoryRule, ...] = get_args(HistoryRule)

_TURNS = (
    "list<struct<role: string, content: string, reasoning: string, calls: string, call_id: string>>"
)


class Call(NamedTuple):
    """A tool call; the arguments are JSON text."""

    id: str
    name: str
    arguments: str


class Turn(NamedTuple):
    """A message of a conversation to write."""

    role: str
    content: str
    reasoning: str | None = None
    calls: tuple[Call, ...] = ()
    call_id: str | None = None


def strip() -> Step:
    """Adds `history`: the conversation without reasoning, on the row of its last answer."""
    return _step(
        "strip", "none", "The conversation without reasoning; null except for its last answer."
    )


def keep_last() -> Step:
    """Adds `history`: the conversation with the reasoning after the last question, on the row of its last answer."""
    return _step(
        "keep_last",
        "last_turn",
        "The conversation with the reasoning of its last turn; null except for its last answer.",
    )


def unroll() -> Step:
    """Adds `history`: the conversation up to this answer, as the model saw it, on every row."""
    return _step(
        "unroll",
        "unroll",
        "The conversation up to this answer, with the reasoning since the last question.",
    )


def _step(name: str, rule: HistoryRule, meaning: str) -> Step:
    return Step(name, partial(_run, rule=rule), {"history": Column(_TURNS, meaning)})


def _run(batch: Batch, *, rule: HistoryRule) -> Batch:
    conversations = (conversation_of(batch, index) for index in range(rows_in(batch)))
    last = batch.get("last") or [True] * rows_in(batch)
    histories = [
        _as_rows(by_rule(turns, rule)) if is_last or rule == "unroll" else None
        for turns, is_last in zip(conversations, last, strict=True)
    ]
    return {**batch, "history": histories}


def conversation_of(batch: Batch, index: int) -> tuple[Turn, ...]:
    """The messages before the answer of a row, and the answer."""
    prompt = column(batch, "prompt", "history")[index] or ()
    answer = Turn(
        "assistant",
        column(batch, "answer", "history")[index] or "",
        _unless_blank(column(batch, "reasoning", "history")[index]),
        _calls_of((batch.get("calls") or {index: None})[index]),
    )
    return (*map(_turn, prompt), answer)


def by_rule(turns: Sequence[Turn], rule: HistoryRule) -> tuple[Turn, ...]:
    """The conversation with the reasoning that the rule keeps."""
    if rule not in HISTORY:
        raise UsageError(f"a history rule is one of {', '.join(HISTORY)}, not {rule!r}")
    if rule == "all":
        return tuple(turns)
    last_question = max(
        (index for index, turn in enumerate(turns) if turn.role == "user"), default=-1
    )
    first_kept = len(turns) if rule == "none" else last_question
    return tuple(
        turn if index > first_kept else turn._replace(reasoning=None)
        for index, turn in enumerate(turns)
    )


def _turn(message: dict[str, Any]) -> Turn:
    return Turn(
        message["role"],
        message["content"] or "",
        _unless_blank(message.get("reasoning")),
        _calls_of(message.get("calls")),
        message.get("call_id"),
    )


def _as_rows(turns: Sequence[Turn]) -> list[dict[str, Any]]:
    return [
        {
            "role": turn.role,
            "content": turn.content,
            "reasoning": turn.reasoning,
            "calls": dump_json([call._asdict() for call in turn.calls]).decode()
            if turn.calls
            else None,
            "call_id": turn.call_id,
        }
        for turn in turns
    ]


def _unless_blank(reasoning: str | None) -> str | None:
    """Reasoning of only white space counts as none: readers and templates treat it so."""
    return None if reasoning is None or is_blank(reasoning) else reasoning


def _calls_of(text: str | None) -> tuple[Call, ...]:
    return tuple(Call(**call) for call in load_json(text)) if text else ()
