"""Rows -> examples: which rows become one, and in which form. A step that adds them as a column, and a form that writes them instead of the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from innervoice.bulk.leak import final_answer
from innervoice.bulk.running import Form
from innervoice.bulk.schema import Batch, Column, Step, column, rows_in
from innervoice.bulk.training.history_rules import (
    HISTORY,
    Call,
    HistoryRule,
    Turn,
    by_rule,
    conversation_of,
)
from innervoice.bulk.training.targets import Family, FormName, TrainingTarget, family_of, target_of
from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.messages import Message
from innervoice.canon.parts import Part, Text, Thinking, ToolCall, ToolResult
from innervoice.canon.storage import to_json
from innervoice.errors import UsageError

__all__ = [
    "EARLIER_TURN",
    "FORMS",
    "Extras",
    "Recipe",
    "Writing",
    "default_history",
    "examples_form",
    "form_columns",
    "parsed_arguments",
    "recipe",
    "tagged",
    "to",
]

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
    """Whether answers that were cut off, or are missing, or have no whole prompt, are written as well."""
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
        problem = _prompt_problem(batch, index, turns)
        if problem is not None and not self.incomplete:
            return problem
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
    return Step("to", partial(_add, recipe=maker), _ADDS)


def _add(batch: Batch, *, recipe: Recipe) -> Batch:
    outcomes = [recipe.example(batch, index) for index in range(rows_in(batch))]
    examples = [None if example is None else dump_json(example).decode() for example, _ in outcomes]
    return {**batch, "example": examples, "left_out": [reason for _, reason in outcomes]}


def examples_form(recipe: Recipe, *, tools: bool = False) -> Form:
    """The form that `run` writes instead of rows; `tools` says that the rows have a column of that name. Rows without an example are left out."""
    columns = form_columns(recipe.form, recipe.writing, tools=tools)
    return Form(recipe.target, partial(_written, recipe=recipe, names=tuple(columns)), columns)


def _written(batch: Batch, *, recipe: Recipe, names: tuple[str, ...]) -> Batch:
    row_examples = (recipe.example(batch, index)[0] for index in range(rows_in(batch)))
    examples = [example for example in row_examples if example is not None]
    return {name: [example.get(name) for example in examples] for name in names}


def unfit_rows(recipe: Recipe) -> Callable[[Batch], list[str | None]]:
    """A function that returns for each row why it has no example, although no other row contains it."""
    return partial(_reasons, recipe=recipe)


def _reasons(batch: Batch, *, recipe: Recipe) -> list[str | None]:
    reasons = (recipe.example(batch, index)[1] for index in range(rows_in(batch)))
    return [None if reason == EARLIER_TURN else reason for reason in reasons]


def _prompt_problem(batch: Batch, index: int, turns: Sequence[Turn]) -> str | None:
    """Why a row has no prompt, or only a part of it; None if it is complete."""
    problem: str | None = (batch.get("prompt_problem") or {index: None})[index]
    if problem is not None:
        return problem
    if all(turn.role == "system" for turn in turns[:-1]):
        return "there is no prompt: name its column with --prompt, or the file of a batch's requests with --requests"
    return None


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


def _extras(batch: Batch, index: int, recipe: Recipe) -> Extras:
    right = column(batch, recipe.reference, "to")[index] if recipe.reference else None
    return Extras(
        id=_id(batch, index, recipe),
        source=batch["source"][index] if "source" in batch else "",
        tools=batch["tools"][index] if "tools" in batch else None,
        reference=None if right is None else str(right),
    )


def _id(batch: Batch, index: int, recipe: Recipe) -> str:
    """The id of the row, with the number of its turn if a conversation or a list yields several examples."""
    row_id = str(batch["id"][index]) if "id" in batch else str(index)
    turn = batch["turn"][index] if "turn" in batch else 0
    several = turn or not (batch.get("last") or {index: True})[index]
    return (
        f"{row_id}#{turn}"
        if several and (recipe.history == "unroll" or _is_listed(batch, index))
        else row_id
    )


def _is_listed(batch: Batch, index: int) -> bool:
    """Whether the answer is one of a list to the same prompt, not a turn of a conversation."""
    answers = sum(message["role"] == "assistant" for message in batch["prompt"][index] or ())
    return bool(batch["turn"][index] > answers) if "turn" in batch else False


# ---- A conversation -> an example, in one of the forms that trainers read.


class Extras(NamedTuple):
    """What a row has besides its conversation."""

    id: str
    source: str = ""
    tools: Any = None
    """The tools that the model was offered, as in the row."""
    reference: str | None = None
    """The right answer, if a column has it."""


class Writing(NamedTuple):
    """How an example is written."""

    target: TrainingTarget
    family: Family
    unrolled: bool = False
    """Whether only the last answer is trained."""


def tagged(turn: Turn, family: Family) -> str:
    """The text of a turn with its reasoning in the tags of the family."""
    opens, closes = family.tags
    # The tags include the line breaks; a second one between would be a token that the model does not expect there.
    return (
        f"{opens}{turn.reasoning.strip(_LINES)}{closes}{turn.content.lstrip(_LINES)}"
        if turn.reasoning
        else turn.content
    )


_LINES = "\n"


def _messages(turns: Sequence[Turn], extras: Extras, writing: Writing) -> dict[str, Any]:
    messages = [_message(turn, writing) for turn in turns]
    if writing.unrolled and writing.target.trained:
        for message in messages:
            if message["role"] == "assistant":
                message[writing.target.trained] = message is messages[-1]
    return {"id": extras.id, "messages": messages, **_tools(extras)}


def _prompt_completion(turns: Sequence[Turn], extras: Extras, writing: Writing) -> dict[str, Any]:
    return {
        "id": extras.id,
        "prompt": [_message(turn, writing) for turn in turns[:-1]],
        "completion": [_message(turns[-1], writing)],
        **_tools(extras),
    }


def _message(turn: Turn, writing: Writing) -> dict[str, Any]:
    family = writing.family
    message: dict[str, Any] = {"role": turn.role, "content": turn.content}
    if turn.role == "assistant" and (turn.reasoning or family.empty_field):
        message[family.field] = turn.reasoning or ""
    if turn.calls:
        if family.one_call and turn.reasoning:
            # The template has one place for both, before the call.
            message[family.field] = "\n\n".join(filter(None, (turn.reasoning, turn.content)))
            message["content"] = ""
        message["tool_calls"] = [_call(call, family) for call in turn.calls]
    if turn.call_id is not None:
        message["tool_call_id"] = turn.call_id
    return message


def _call(call: Call, family: Family) -> dict[str, Any]:
    arguments: Any = (
        parsed_arguments(call.arguments) if family.arguments == "object" else call.arguments
    )
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }


def parsed_arguments(arguments: str) -> Any:
    """The arguments as a value; text that is not JSON stays text."""
    try:
        return load_json(arguments)
    except ValueError:
        return arguments


def _sharegpt(turns: Sequence[Turn], extras: Extras, writing: Writing) -> dict[str, Any]:
    system = [turn.content for turn in turns if turn.role == "system"]
    spoken = [turn for turn in turns if turn.role != "system"]
    example: dict[str, Any] = {
        "id": extras.id,
        "conversations": [_spoken(turn, writing.family) for turn in spoken],
        "system": "\n\n".join(system),
    }
    if extras.tools is not None:
        example["tools"] = (
            extras.tools if isinstance(extras.tools, str) else dump_json(extras.tools).decode()
        )
    return example


def _spoken(turn: Turn, family: Family) -> dict[str, str]:
    if turn.calls:
        calls = [
            {"name": call.name, "arguments": parsed_arguments(call.arguments)}
            for call in turn.calls
        ]
        written = dump_json(calls if len(calls) > 1 else calls[0]).decode()
        return {
            "from": "function_call",
            "value": tagged(turn._replace(content=turn.content + written), family),
        }
    return {"from": _SHAREGPT.get(turn.role, turn.role), "value": tagged(turn, family)}


_SHAREGPT = {"user": "human", "assistant": "gpt", "tool": "observation"}


def _text(turns: Sequence[Turn], extras: Extras, writing: Writing) -> dict[str, Any]:
    return {
        "id": extras.id,
        "prompt": _plain(turns[:-1], writing),
        "text": tagged(turns[-1], writing.family),
    }


def _columns(turns: Sequence[Turn], extras: Extras, writing: Writing) -> dict[str, Any]:
    last = turns[-1]
    return {
        "id": extras.id,
        "prompt": _plain(turns[:-1], writing),
        "reasoning": last.reasoning,
        "answer": last.content,
    }


def _plain(turns: Sequence[Turn], writing: Writing) -> list[dict[str, str]]:
    return [{"role": turn.role, "content": tagged(turn, writing.family)} for turn in turns]


def _json(turns: Sequence[Turn], extras: Extras, writing: Writing) -> dict[str, Any]:
    del writing
    messages = load_json(to_json([_canonical(turn) for turn in turns]))
    return {"id": extras.id, "messages": messages, **_tools(extras)}


def _canonical(turn: Turn) -> Message:
    if turn.role == "tool":
        return Message("tool", (ToolResult(turn.call_id or "", turn.content),))
    if turn.role not in ("system", "user", "assistant"):
        raise UsageError(f"the JSON of innervoice has no role {turn.role!r}")
    parts: list[Part] = [Thinking(turn.reasoning)] if turn.reasoning else []
    if turn.content:
        parts.append(Text(turn.content))
    parts += (ToolCall(call.id, call.name, call.arguments) for call in turn.calls)
    return Message(turn.role, tuple(parts))  # type: ignore[arg-type] # one of the four


def _verl(turns: Sequence[Turn], extras: Extras, writing: Writing) -> dict[str, Any]:
    last = turns[-1]
    right = extras.reference or final_answer(last.content) or last.content
    return {
        "data_source": extras.source,
        "prompt": [_asked(turn, writing.family) for turn in turns[:-1]],
        "ability": "reasoning",
        "reward_model": {"style": "rule", "ground_truth": right},
        "extra_info": {"index": extras.id, "answer": last.content, "reasoning": last.reasoning},
    }


def _asked(turn: Turn, family: Family) -> dict[str, Any]:
    """A message of a prompt, with its tool calls, or the id of the call that it answers."""
    calls = {"tool_calls": [_call(call, family) for call in turn.calls]} if turn.calls else {}
    answered = {"tool_call_id": turn.call_id} if turn.call_id is not None else {}
    return {"role": turn.role, "content": turn.content, **calls, **answered}


def _tools(extras: Extras) -> dict[str, Any]:
    if extras.tools is None:
        return {}
    return {
        "tools": parsed_arguments(extras.tools) if isinstance(extras.tools, str) else extras.tools
    }


FORMS: dict[FormName, Callable[[Sequence[Turn], Extras, Writing], dict[str, Any]]] = {
    "messages": _messages,
    "prompt_completion": _prompt_completion,
    "sharegpt": _sharegpt,
    "text": _text,
    "columns": _columns,
    "json": _json,
    "verl": _verl,
}


def form_columns(form: FormName, writing: Writing, *, tools: bool) -> dict[str, Column]:
    """The columns of the examples of a form, with their types for files that have a schema."""
    columns = {
        name: Column(kind.replace("{message}", _message_type(writing)), "")
        for name, kind in _COLUMNS[form].items()
    }
    if tools and form in ("messages", "prompt_completion", "sharegpt", "json"):
        columns["tools"] = Column("string", "")
    return columns


_CALL = "struct<id: string, type: string, function: struct<name: string, arguments: string>>"
_PLAIN = "list<struct<role: string, content: string>>"
_COLUMNS: dict[FormName, dict[str, str]] = {
    "messages": {"id": "string", "messages": "list<{message}>"},
    "prompt_completion": {
        "id": "string",
        "prompt": "list<{message}>",
        "completion": "list<{message}>",
    },
    "sharegpt": {
        "id": "string",
        "conversations": "list<struct<from: string, value: string>>",
        "system": "string",
    },
    "text": {"id": "string", "prompt": _PLAIN, "text": "string"},
    "columns": {"id": "string", "prompt": _PLAIN, "reasoning": "string", "answer": "string"},
    "json": {"id": "string", "messages": "string"},
    "verl": {
        "data_source": "string",
        "prompt": f"list<struct<role: string, content: string, tool_calls: list<{_CALL}>, tool_call_id: string>>",
        "ability": "string",
        "reward_model": "struct<style: string, ground_truth: string>",
        "extra_info": "struct<index: string, answer: string, reasoning: string>",
    },
}


def _message_type(writing: Writing) -> str:
    trained = (
        f", {writing.target.trained}: bool" if writing.unrolled and writing.target.trained else ""
    )
    return f"struct<role: string, content: string, {writing.family.field}: string, tool_calls: list<{_CALL}>, tool_call_id: string{trained}>"
