"""`to(target)`: adds to each row the example that a trainer reads, as JSON text, or why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from innervoice.bulk.history_rules import HISTORY, HistoryRule, Turn, by_rule, conversation_of
from innervoice.bulk.needs import column, rows_in
from innervoice.bulk.schema import Batch, Column, Step
from innervoice.bulk.training.forms import FORMS, Extras, Writing
from innervoice.bulk.training.targets import Family, family_of, target_of
from innervoice.canon.jsontext import dump_json
from innervoice.errors import UsageError

__all__ = ["default_history", "settings_of", "to"]

_ADDS = {
    "example": Column("string", "The example as JSON; null if the row gives none."),
    "left_out": Column("string", "Why the row gives no example; `earlier_turn` if a later row of its conversation holds it."),
}  # fmt: skip

EARLIER_TURN = "earlier_turn"


def to(
    target: str,
    family: str | None = None,
    history: HistoryRule | None = None,
    reference: str | None = None,
) -> Step:
    """The step for a trainer and a model family: `to("trl", "qwen3")`.

    `history` says which reasoning of a conversation stays (`history_rules.py`); without it, the family does. `reference` is a column with the right
    answer, for targets that want one.
    """
    chosen, known = target_of(target), family_of(family)
    rule = history or default_history(known)
    if rule not in HISTORY:
        raise UsageError(f"a history rule is one of {', '.join(HISTORY)}, not {rule!r}")
    writing = Writing(chosen, known, unrolled=rule == "unroll")
    form = FORMS[(chosen.unrolled if writing.unrolled else None) or chosen.form]

    def run(batch: Batch) -> Batch:
        examples: list[str | None] = []
        reasons: list[str | None] = []
        last = batch.get("last") or [True] * rows_in(batch)
        references = column(batch, reference, "to") if reference else None
        for index in range(rows_in(batch)):
            turns = conversation_of(batch, index)
            reason = (
                EARLIER_TURN
                if not writing.unrolled and not last[index]
                else _unfit(batch, index, turns, writing)
            )
            reasons.append(reason)
            if reason is not None:
                examples.append(None)
                continue
            extras = _extras(batch, index, references)
            examples.append(dump_json(form(by_rule(turns, rule), extras, writing)).decode())
        return {**batch, "example": examples, "left_out": reasons}

    return Step("to", run, _ADDS)


def default_history(family: Family) -> HistoryRule:
    """What is lost nowhere: all reasoning where the template keeps it, an example for each answer where it does not."""
    return "all" if family.keeps == "all" else "unroll"


def settings_of(
    target: str, family: str | None = None, history: HistoryRule | None = None
) -> list[str]:
    """What the trainer has to be told to read these examples."""
    chosen, known = target_of(target), family_of(family)
    unrolled = (history or default_history(known)) == "unroll"
    lines = [*chosen.settings, *(chosen.unrolled_settings if unrolled else ())]
    if history == "all" and known.keeps != "all":
        lines.append(
            f"the template of {known.name} drops the reasoning of earlier turns: with history `all`, only that of the last turn is trained"
        )
    return [
        line.format(field=known.field, template=known.template or "the one of your model")
        for line in lines
    ]


def _unfit(batch: Batch, index: int, turns: Sequence[Turn], writing: Writing) -> str | None:
    """Why a row can be no example for the target; None if it can."""
    if batch.get("status", [None] * (index + 1))[index] == "unreadable":
        return "unreadable"
    answer = turns[-1]
    if not answer.content and not answer.calls and not answer.reasoning:
        return "the answer is empty"
    family = writing.family
    for turn in turns:
        found = next(
            (
                text
                for text in family.reserved
                if text in turn.content or text in (turn.reasoning or "")
            ),
            None,
        )
        if found and turn.role == "assistant":
            return f"an answer holds {found}, which the template of {family.name} takes for its own"
        if family.one_call and len(turn.calls) > 1:
            return f"a turn has {len(turn.calls)} tool calls, and the template of {family.name} reads one"
    return None


def _extras(batch: Batch, index: int, references: Sequence[Any] | None) -> Extras:
    right = references[index] if references is not None else None
    return Extras(
        id=str(batch["id"][index]) if "id" in batch else str(index),
        source=batch["source"][index] if "source" in batch else "",
        tools=batch["tools"][index] if "tools" in batch else None,
        reference=None if right is None else str(right),
    )
