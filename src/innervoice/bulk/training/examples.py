"""Rows -> examples: which rows become one, and in which form. A step that adds them as a column, and a form that writes them instead of the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from innervoice.bulk.history_rules import HISTORY, HistoryRule, Turn, by_rule, conversation_of
from innervoice.bulk.needs import column, rows_in
from innervoice.bulk.running import Form
from innervoice.bulk.schema import Batch, Column, Step
from innervoice.bulk.training.forms import FORMS, Extras, Writing, form_columns
from innervoice.bulk.training.targets import Family, FormName, family_of, target_of
from innervoice.canon.jsontext import dump_json
from innervoice.errors import UsageError

__all__ = ["EARLIER_TURN", "Recipe", "default_history", "examples_form", "recipe", "to"]

_INCOMPLETE = frozenset(
    ("interrupted", "budget_exhausted", "truncated", "stopped_inside_thinking", "empty")
)
"""Statuses of answers from which a model would learn to stop in the middle."""
EARLIER_TURN = "earlier_turn"
"""Why a row has no example if a later row of its conversation contains it."""

_ADDS = {
    "example": Column("string", "The example as JSON; null if the row gives none."),
    "left_out": Column("string", "Why the row gives no example; `earlier_turn` if a later row of its conversation holds it."),
}  # fmt: skip


class Recipe(NamedTuple):
    """The target of the examples, and which reasoning stays in them."""

    target: str
    family: str | None = None
    history: HistoryRule = "all"
    reference: str | None = None
    """A column with the right answer, for targets that need one."""
    incomplete: bool = False
    """Whether answers that were cut off, or are missing, are written as well."""
    text_arguments: bool = False
    """Whether the arguments of tool calls are always JSON text, since a file with a schema cannot hold arbitrary objects."""

    @property
    def writing(self) -> Writing:
        """How each example is written."""
        family = family_of(self.family)
        if self.text_arguments:
            family = family._replace(arguments="text")
        return Writing(target_of(self.target), family, unrolled=self.history == "unroll")

    @property
    def form(self) -> FormName:
        """The form of the examples."""
        writing = self.writing
        return (writing.target.unrolled if writing.unrolled else None) or writing.target.form

    @property
    def settings(self) -> list[str]:
        """The settings that a trainer needs to read these examples."""
        target, family, unrolled = self.writing
        lines = [*target.settings, *(target.unrolled_settings if unrolled else ())]
        if self.history == "all" and family.keeps != "all":
            lines.append(
                f"the template of {family.name} drops the reasoning of earlier turns: with history `all`, only that of the last turn is trained"
            )
        template = family.template or "the one of your model"
        return [line.format(field=family.field, template=template) for line in lines]

    def example(self, batch: Batch, index: int) -> tuple[dict[str, Any] | None, str | None]:
        """The example of a row, or why there is none."""
        writing = self.writing
        if not writing.unrolled and not (batch.get("last") or {index: True})[index]:
            return None, EARLIER_TURN
        turns = conversation_of(batch, index)
        reason = self._unfit(batch, index, turns)
        if reason is not None:
            return None, reason
        extras = _extras(batch, index, self)
        return FORMS[self.form](by_rule(turns, self.history), extras, writing), None

    def _unfit(self, batch: Batch, index: int, turns: Sequence[Turn]) -> str | None:
        """Why a row cannot be an example; None if it can."""
        status = batch["status"][index] if "status" in batch else None
        if status == "unreadable":
            return "the row could not be read"
        if status in _INCOMPLETE and not self.incomplete:
            return f"the answer is not complete: {status}"
        answer = turns[-1]
        if not answer.content and not answer.calls and not answer.reasoning:
            return "the answer is empty"
        return _refused(turns, family_of(self.family))


def recipe(
    target: str,
    family: str | None = None,
    history: HistoryRule | None = None,
    reference: str | None = None,
    *,
    incomplete: bool = False,
) -> Recipe:
    """The recipe for a trainer and a model family; raises UsageError for unknown ones. Without `history`, the family decides which reasoning stays."""
    target_of(target)
    rule = history or default_history(family_of(family))
    if rule not in HISTORY:
        raise UsageError(f"a history rule is one of {', '.join(HISTORY)}, not {rule!r}")
    return Recipe(target, family, rule, reference, incomplete)


def default_history(family: Family) -> HistoryRule:
    """The rule that loses nothing: all reasoning where the template keeps it, an example for each answer where it does not."""
    return "all" if family.keeps == "all" else "unroll"


def to(
    target: str,
    family: str | None = None,
    history: HistoryRule | None = None,
    reference: str | None = None,
    *,
    incomplete: bool = False,
) -> Step:
    """The step for a trainer and a model family, such as `to("trl", "qwen3")`: adds the example of each row as JSON text."""
    maker = recipe(target, family, history, reference, incomplete=incomplete)
    return Step("to", partial(_add, made=maker), _ADDS)


def _add(batch: Batch, *, made: Recipe) -> Batch:
    found = [made.example(batch, index) for index in range(rows_in(batch))]
    examples = [None if example is None else dump_json(example).decode() for example, _ in found]
    return {**batch, "example": examples, "left_out": [reason for _, reason in found]}


def examples_form(made: Recipe, *, tools: bool = False) -> Form:
    """The form that `run` writes instead of rows; `tools` says that the rows have a column of that name. Rows without an example are left out."""
    columns = form_columns(made.form, made.writing, tools=tools)
    return Form(made.target, partial(_written, made=made, names=tuple(columns)), columns)


def _written(batch: Batch, *, made: Recipe, names: tuple[str, ...]) -> Batch:
    found = (made.example(batch, index)[0] for index in range(rows_in(batch)))
    examples = [example for example in found if example is not None]
    return {name: [example.get(name) for example in examples] for name in names}


def unfit_rows(made: Recipe) -> Callable[[Batch], list[str | None]]:
    """A function that returns for each row why it has no example, although no other row contains it."""
    return partial(_reasons, made=made)


def _reasons(batch: Batch, *, made: Recipe) -> list[str | None]:
    reasons = (made.example(batch, index)[1] for index in range(rows_in(batch)))
    return [None if reason == EARLIER_TURN else reason for reason in reasons]


def _refused(turns: Sequence[Turn], family: Family) -> str | None:
    """What the template of a family would refuse, or misread."""
    for turn in turns:
        if turn.role != "assistant":
            continue
        texts = (turn.content, turn.reasoning or "")
        reason = next(
            (mark for mark in family.reserved if any(mark in text for text in texts)), None
        )
        if reason:
            return f"an answer holds {reason}, which the template of {family.name} reads as its own markup"
        if family.one_call and len(turn.calls) > 1:
            return f"a turn has {len(turn.calls)} tool calls, and the template of {family.name} reads one"
    return None


def _extras(batch: Batch, index: int, made: Recipe) -> Extras:
    right = column(batch, made.reference, "to")[index] if made.reference else None
    return Extras(
        id=_id(batch, index, made),
        source=batch["source"][index] if "source" in batch else "",
        tools=batch["tools"][index] if "tools" in batch else None,
        reference=None if right is None else str(right),
    )


def _id(batch: Batch, index: int, made: Recipe) -> str:
    """The id of the row, with the number of its turn if a conversation or a list yields several examples."""
    row_id = str(batch["id"][index]) if "id" in batch else str(index)
    turn = batch["turn"][index] if "turn" in batch else 0
    several = turn or not (batch.get("last") or {index: True})[index]
    return (
        f"{row_id}#{turn}"
        if several and (made.history == "unroll" or _is_listed(batch, index))
        else row_id
    )


def _is_listed(batch: Batch, index: int) -> bool:
    """Whether the answer is one of a list to the same prompt, not a turn of a conversation."""
    answers = sum(message["role"] == "assistant" for message in batch["prompt"][index] or ())
    return bool(batch["turn"][index] > answers) if "turn" in batch else False
