"""Reads examples back as a data set, and reports those that differ from what was written.

The reader is the one for any data set. White space at the edges of a text in tags does not count: templates add and remove it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from innervoice.bulk.history_rules import Turn, by_rule, conversation_of
from innervoice.bulk.layouts import ReadOptions, find_layout
from innervoice.bulk.rows import RowReader
from innervoice.bulk.schema import Batch, rows_in
from innervoice.bulk.table import Table
from innervoice.bulk.training.examples import Recipe, parsed_arguments
from innervoice.bulk.training.targets import FormName, family_of

__all__ = ["read_back", "read_options", "unlike"]

_OPTIONS: dict[FormName, ReadOptions] = {
    "messages": ReadOptions(messages="messages", id="id"),
    "prompt_completion": ReadOptions(messages="completion", prompt="prompt", id="id"),
    "sharegpt": ReadOptions(messages="conversations", id="id"),
    "text": ReadOptions(text=("text",), prompt="prompt", id="id"),
    "columns": ReadOptions(reasoning="reasoning", answer="answer", prompt="prompt", id="id"),
    "json": ReadOptions(messages="messages", id="id"),
    "verl": ReadOptions(reasoning="reasoning", answer="answer", prompt="prompt", id="id"),
}
_IN_TAGS: frozenset[FormName] = frozenset(("sharegpt", "text"))
"""Forms with reasoning in tags; the others have only that of earlier turns in tags, or none."""

_WITH_IDS: frozenset[FormName] = frozenset(("messages", "prompt_completion", "json"))
_WITH_CALLS: frozenset[FormName] = _WITH_IDS | {"sharegpt"}


def read_options(recipe: Recipe) -> ReadOptions:
    """How the examples of a recipe are read."""
    return _OPTIONS[recipe.form].replace(markup=family_of(recipe.family).markup, keep=())


def read_back(recipe: Recipe, examples: Sequence[dict[str, Any]]) -> list[tuple[Turn, ...]]:
    """The conversation that the reader finds in each example."""
    options = read_options(recipe)
    rows = [_flat(example) if recipe.form == "verl" else example for example in examples]
    reader = RowReader(find_layout(rows, options), options, options.markup or ())
    batch = reader.batch(Table.of_rows("examples", rows))
    last = [index for index in range(rows_in(batch)) if batch["last"][index]]
    return [conversation_of(batch, index) for index in last]


def unlike(recipe: Recipe, batch: Batch) -> list[str | None]:
    """For each row None, or what the reader finds different in its example. Rows without an example have nothing to compare."""
    examples = [recipe.example(batch, index)[0] for index in range(rows_in(batch))]
    present = [index for index, example in enumerate(examples) if example is not None]
    problems: list[str | None] = [None] * len(examples)
    if not present:
        return problems
    read = read_back(recipe, [example for example in examples if example is not None])
    for index, turns in zip(present, read, strict=True):
        expected = by_rule(conversation_of(batch, index), recipe.history)
        problems[index] = _difference(_as_written(expected, recipe), turns, recipe)
    return problems


def _as_written(turns: Sequence[Turn], recipe: Recipe) -> list[Turn]:
    """The conversation, without what the form cannot represent."""
    if recipe.form == "verl":
        return [
            turn if turn is turns[-1] else turn._replace(reasoning=None, calls=(), call_id=None)
            for turn in turns
        ]
    family = family_of(recipe.family)
    if recipe.form in ("messages", "prompt_completion") and family.one_call:
        return [_joined(turn) if turn.calls and turn.reasoning else turn for turn in turns]
    if recipe.form == "sharegpt":
        system = [turn for turn in turns if turn.role == "system"]
        spoken = [turn for turn in turns if turn.role != "system"]
        joined = "\n\n".join(turn.content for turn in system)
        return [*([Turn("system", joined)] if joined else []), *spoken]
    return list(turns)


def _joined(turn: Turn) -> Turn:
    both = "\n\n".join(filter(None, (turn.reasoning, turn.content)))
    return turn._replace(reasoning=both, content="")


def _difference(expected: Sequence[Turn], example: Sequence[Turn], recipe: Recipe) -> str | None:
    if [turn.role for turn in expected] != [turn.role for turn in example]:
        return f"reads back as {len(example)} messages, not {len(expected)}, or with other roles"
    last = len(expected) - 1
    for index, (one, other) in enumerate(zip(expected, example, strict=True)):
        in_tags = recipe.form in _IN_TAGS or (recipe.form == "columns" and index != last)
        place = "the answer" if index == last else f"message {index}"
        if one.calls and recipe.form not in _WITH_CALLS:
            return f"has no place for the tool calls of {place}"
        mine, read = (_compared(turn, recipe.form, in_tags=in_tags) for turn in (one, other))
        differing = [what for what in mine if mine[what] != read[what]]
        if differing:
            return f"reads back with {differing[0]} in {place}"
    return None


def _compared(turn: Turn, form: FormName, *, in_tags: bool) -> dict[str, Any]:
    """What must be the same when it is read back, by the words for a difference."""
    # ShareGPT has calls without ids; where arguments are objects, their white space is lost.
    calls = [
        (None if form == "sharegpt" else call.id, call.name, parsed_arguments(call.arguments))
        for call in turn.calls
    ]
    return {
        "another text": _text(turn.content, in_tags=in_tags),
        "other reasoning": _text(turn.reasoning, in_tags=in_tags),
        "other tool calls": calls,
        "another tool call id": turn.call_id if form in _WITH_IDS else None,
    }


def _text(text: str | None, *, in_tags: bool) -> str:
    return (text or "").strip() if in_tags else text or ""


def _flat(example: dict[str, Any]) -> dict[str, Any]:
    """An example for verl as columns."""
    extra = example["extra_info"]
    return {
        "id": extra["index"],
        "prompt": example["prompt"],
        "reasoning": extra["reasoning"],
        "answer": extra["answer"],
    }
