"""The one schema of all output rows, whatever they were read from.

A batch is a dict of columns, each a list; all lists have the same length. `bulk/arrow.py` converts it into a record batch and back. A step gets a batch and
returns one with further columns; it drops no row and changes no row unless it was asked to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol, TypeAlias

from innervoice.errors import UsageError

__all__ = [
    "COLUMNS",
    "REJECTED",
    "Batch",
    "Column",
    "Judge",
    "Step",
    "Survey",
    "column",
    "prepared",
    "rows_in",
]

Batch: TypeAlias = dict[str, list[Any]]
REJECTED = "rejected"
"""The name of the usual second output, and of its additional column."""


class Column(NamedTuple):
    """A column: its type in Arrow's notation, and its meaning."""

    type: str
    meaning: str


COLUMNS: dict[str, Column] = {
    "id": Column("string", "The row's own id, or file and line: `a.jsonl:17`."),
    "source": Column("string", "The file it came from."),
    "model": Column("string", "The model that wrote the answer, if the row says."),
    "turn": Column("int32", "Which answer of its conversation or list it is, from 0."),
    "last": Column("bool", "Whether no later answer of the same conversation follows; true for every answer in a list."),
    "prompt": Column("list<struct<role: string, content: string, reasoning: string, calls: string, call_id: string>>", "The messages before the answer; earlier answers with their reasoning and their tool calls, as in `calls`."),
    "answer": Column("string", "The model's answer, without its reasoning."),
    "calls": Column("string", "The tool calls that the model made, as the JSON of a list of id, name and arguments; null if there are none."),
    "reasoning": Column("string", "The model's reasoning; null if there is none."),
    "parts": Column("list<struct<type: string, text: string, state: string, origin: string>>", "All parts in order, as `to_json` writes their origin."),
    "status": Column("string", "The status of a response, or `unreadable`."),
    "finish": Column("string", "The finish reason, if the row says."),
    "usage": Column("struct<input: int64, output: int64, reasoning: int64>", "Tokens, by the provider's convention."),
    "notes": Column("list<string>", "Codes of the notes."),
    "markup": Column("string", "Which markup the reasoning was in: a tag, a token, `field`, `column`, or null."),
    "raw": Column("string", "The row as it was, on request."),
}  # fmt: skip


class Judge(Protocol):
    """Makes the columns of a survey."""

    def add(self, number: int, noticed: list[Any]) -> None:
        """Takes what was noticed about the rows of a piece; the pieces come in order."""

    def columns(self) -> dict[int, Batch]:
        """The columns that are added to each piece, when all have come."""


class Survey(NamedTuple):
    """How a step looks at all rows before the first one is written: what a row is worth may depend on any other one."""

    look: Callable[[Batch], list[Any]]
    """What is noticed about each row of a batch: little, because it may be kept for all rows."""
    judge: Callable[[], Judge]

    def run(self, batch: Batch) -> Batch:
        """The batch with the columns that it gets if there are no other rows."""
        judge = self.judge()
        judge.add(0, self.look(batch))
        return {**batch, **judge.columns()[0]}


class Step(NamedTuple):
    """A step of a pipeline."""

    name: str
    run: Callable[[Batch], Batch]
    adds: dict[str, Column] = {}  # noqa: RUF012 - never changed
    """The columns that it adds."""
    detects: Callable[[Callable[[str], list[Any]]], Step] | None = None
    """For a step that depends on what the whole data has in common: the step for this data. Called with a function that returns a sample of a column."""
    survey: Survey | None = None
    """For a step that looks at all rows first, which only runs over files can do; its columns are there before other steps run."""


def prepared(steps: Iterable[Step], sample: Callable[[str], list[Any]]) -> tuple[Step, ...]:
    """The steps for this data; `sample` returns values of a column, from all over it."""
    steps = tuple(steps)
    for step in steps:
        if step.survey:
            raise UsageError(
                f"the step {step.name!r} looks at all rows before it writes one: run it over files, with `innervoice bulk map` or `bulk.run`"
            )
    return tuple(step.detects(sample) if step.detects else step for step in steps)


# ---- The columns that a step reads: taken from a batch, with an error that names the missing one.


def column(batch: Batch, name: str, step: str) -> list[Any]:
    """The column of this name; raises UsageError if the batch has none."""
    try:
        return batch[name]
    except KeyError:
        present = ", ".join(batch) or "no columns"
        raise UsageError(
            f"the step {step!r} needs the column {name!r}, but the batch has: {present}"
        ) from None


def rows_in(batch: Batch) -> int:
    """How many rows a batch has."""
    return len(next(iter(batch.values()), ()))
