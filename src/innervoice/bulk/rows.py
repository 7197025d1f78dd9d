"""A table of any layout -> a batch of the one schema: a row for each answer of the model.

The rows of one conversation, or of one list of generations, are adjacent in one batch and have the same id; `turn` counts them. A row that
cannot be read, or has no answer where one was expected, becomes a row with the status `unreadable`: nothing is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from innervoice.bulk.answers import (
    RowAnswer,
    answers_in,
    with_earlier_turns,
    with_whole_prompts,
)
from innervoice.bulk.detection import Detected, FileSplitter
from innervoice.bulk.fast_split import SplitText, status_of
from innervoice.bulk.layouts import Layout, ReadOptions
from innervoice.bulk.manifest import Trouble
from innervoice.bulk.prompts import calls_text
from innervoice.bulk.schema import COLUMNS, Batch
from innervoice.bulk.table import Table, taken
from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.parts import Part, Text, Thinking
from innervoice.canon.response import Response
from innervoice.canon.storage import to_json
from innervoice.canon.views import is_blank, is_same
from innervoice.errors import UsageError

__all__ = ["UNREADABLE", "RowReader", "kept_names", "schema_columns"]

UNREADABLE = "unreadable"
"""The status of a row that could not be read; a code in `notes` says why."""
_MOST_TROUBLES = 100
_CONVERSATIONS = frozenset(("messages", "interactions", "rendered"))
"""Layouts whose rows are conversations, in which each answer follows the earlier ones."""
_NOTHING = SplitText(None, None, UNREADABLE, ("row_unreadable",))
_FAILED = SplitText(None, None, "interrupted", ("request_failed",))


def schema_columns(options: ReadOptions) -> list[str]:
    """The columns of the schema that are filled with these options."""
    left_out = {"parts": not options.parts, "raw": not options.raw}
    return [name for name in COLUMNS if not left_out.get(name)]


def kept_names(columns: Sequence[str], layout: Layout, options: ReadOptions) -> dict[str, str]:
    """Which columns of the rows are passed on, and under which name: a name of the schema gets the prefix `row_`."""
    if options.keep is None:
        chosen = [
            name
            for name in columns
            if name not in layout.read and layout.kind not in ("answers", "sessions")
        ]
    else:
        chosen = [name for name in columns if name in options.keep]
    names: dict[str, str] = {}
    for name in chosen:
        new = name
        while new in COLUMNS or (new != name and new in columns):
            new = f"row_{new}"
        names[name] = new
    return names


class RowReader:
    """Reads tables of one layout."""

    def __init__(
        self, layout: Layout, options: ReadOptions, detected: Detected, *, searches: bool = True
    ) -> None:
        self._layout = layout
        self._options = options
        self._splitter = FileSplitter(
            options.model,
            options.prefix_open,
            detected,
            searches=searches and options.markup is None,
        )
        self._columns = schema_columns(options)
        self._troubles: list[Trouble] = []

    def take_troubles(self) -> list[Trouble]:
        """The rows that could not be read since the last call, the first of them."""
        troubles, self._troubles = self._troubles, []
        return troubles

    def take_unsplit(self) -> dict[str, int]:
        """How many texts since the last call have markup that is switched off, by its name."""
        unsplit, self._splitter.unsplit = self._splitter.unsplit, Counter()
        return unsplit

    def batch(self, table: Table) -> Batch:
        """The rows of a table in the schema, with the columns that are passed on."""
        layout, options = self._layout, self._options
        if table.damage is not None and not options.skip_bad_files:
            raise UsageError(f"{table.place(0)}: {table.damage}; --skip-bad-files reads the rest")
        if layout.kind == "rows":
            return self._own_rows(table)
        answers = list(answers_in(table, layout))
        split = [self._split(answer) for answer in answers]
        for answer in answers:
            if answer.trouble and len(self._troubles) < _MOST_TROUBLES:
                self._troubles.append(Trouble(table.place(answer.row), answer.trouble))
        rows = [answer.row for answer in answers]
        places = [table.place(row) for row in rows] if not layout.id else None
        ids = table.column(layout.id) if layout.id else ()
        counted = layout.kind in _CONVERSATIONS
        # The answers of a session are a table of their own, in order.
        grown = layout.kind == "sessions" and options.whole_prompts
        if grown:
            answers = with_whole_prompts(answers)
        batch: Batch = {
            "id": places or [_id(ids[row], table, row) for row in rows],
            "source": [table.source] * len(rows),
            "model": [answer.model for answer in answers],
            "turn": [answer.turn for answer in answers],
            "last": _last([0] * len(rows) if grown else rows)
            if counted or grown
            else [True] * len(rows),
            "prompt": with_earlier_turns(
                [answer.prompt for answer in answers],
                rows,
                [answer.turn for answer in answers],
                split,
                self._splitter,
                counted=counted,
            ),
            "answer": [one.answer for one in split],
            "calls": [_calls(answer) for answer in answers],
            "reasoning": [one.reasoning for one in split],
            "status": [one.status for one in split],
            "finish": [answer.finish for answer in answers],
            "usage": [answer.response and _usage(answer.response) for answer in answers],
            "notes": [list(one.notes) for one in split],
            "markup": [one.markup for one in split],
        }
        if options.parts:
            parts = map(self._parts, answers, split)
            batch["parts"] = [[_part(part) for part in row_parts] for row_parts in parts]
        if options.raw:
            batch["raw"] = [table.raw(row) for row in rows]
        batch = {name: batch[name] for name in self._columns}
        for name, new in kept_names(list(table.columns), layout, options).items():
            batch[new] = taken(table.columns[name], rows)  # type: ignore[assignment] # a column of Arrow stays one
        return batch

    def _own_rows(self, table: Table) -> Batch:
        """The rows of a table that already has the schema."""
        for row, why in table.unreadable.items():
            self._troubles.append(Trouble(table.place(row), why))
        passed_on = kept_names(list(table.columns), self._layout, self._options)
        batch: Batch = {name: table.column(name) for name in (*self._columns, *passed_on)}  # type: ignore[misc] # a column of Arrow stays one
        if table.unreadable:
            batch["id"] = [
                table.place(row) if row in table.unreadable else row_id
                for row, row_id in enumerate(batch["id"])
            ]
            batch["status"] = [
                UNREADABLE if row in table.unreadable else row_id
                for row, row_id in enumerate(batch["status"])
            ]
        return batch

    def _split(self, answer: RowAnswer) -> SplitText:
        if answer.trouble:
            return _FAILED if answer.failed else _NOTHING
        if answer.response is not None:
            thinking = answer.response.thinking
            is_own = self._layout.kind == "messages" and thinking is not None
            if is_own and self._splitter.has_marker(answer.response.text):
                return self._with_field(answer.response.text, thinking or "", answer)
            return _columns_of(answer.response, answer)
        text, field = answer.text or "", answer.reasoning
        if field is None or is_blank(field):
            split = self._splitter.split(text, answer.finish_reason)
            return self._with_calls(split, answer) if answer.calls else split
        return self._with_field(text, field, answer)

    def _with_field(self, text: str, field: str, answer: RowAnswer) -> SplitText:
        """An answer whose reasoning is in a separate field; its text may repeat it."""
        notes: tuple[str, ...] = ("field_thinking",)
        place: str | None = answer.place
        answer_text = text
        if self._splitter.has_marker(text):
            response = self._splitter.response(text, answer.finish_reason, elsewhere=True)
            split = self._splitter.columns_of(response)
            answer_text, place = split.answer or "", split.markup or place
            inline = tuple(note for note in split.notes if note != "answer_in_reasoning")
            if split.reasoning and is_same(split.reasoning, field):
                notes = (*notes, *inline, "inline_repeated")
            else:
                notes = (*notes, *inline)
                field = "\n\n".join(filter(None, (field, split.reasoning)))
        answered = bool(answer_text.strip())
        status = status_of(answer.finish_reason, answered=answered, calls=bool(answer.calls))
        if status == "empty":
            notes = (*notes, "answer_in_reasoning")
        return SplitText(answer_text, field, status, notes, place)

    def _with_calls(self, split: SplitText, answer: RowAnswer) -> SplitText:
        status = status_of(
            answer.finish_reason, answered=bool((split.answer or "").strip()), calls=True
        )
        notes = tuple(note for note in split.notes if note != "answer_in_reasoning")
        return split._replace(status=status, notes=notes)

    def _parts(self, answer: RowAnswer, split: SplitText) -> tuple[Part, ...]:
        if answer.trouble:
            return ()
        if answer.response is not None:
            return answer.response.parts
        if answer.reasoning is None or is_blank(answer.reasoning):
            split_parts = self._splitter.response(answer.text or "", answer.finish_reason).parts
            return (*split_parts, *answer.calls)
        parts: tuple[Part, ...] = (Thinking(answer.reasoning),)
        if "inline_repeated" in split.notes:
            return (*parts, Text(split.answer or ""), *answer.calls)
        text_parts = self._splitter.response(answer.text or "", elsewhere=True).parts
        return (*parts, *text_parts, *answer.calls)


def _columns_of(response: Response, answer: RowAnswer) -> SplitText:
    """The columns of an answer in the form of an API."""
    notes = tuple(dict.fromkeys(note.code for note in response.notes))
    thinking = response.thinking
    inline = "inline_thinking" in notes
    place = ("text" if inline else answer.place) if thinking is not None else None
    return SplitText(response.text, thinking, response.status, notes, place)


def _id(value: Any, table: Table, row: int) -> str:
    if isinstance(value, dict):
        value = value.get("key")  # Gemini's metadata of an answer
    return table.place(row) if value is None else str(value)


def _calls(answer: RowAnswer) -> str | None:
    return calls_text(answer.response.tool_calls if answer.response else answer.calls)


def _last(rows: Sequence[int]) -> list[bool]:
    """Marks the last answer of each row."""
    return [row != following for row, following in zip(rows, [*rows[1:], None], strict=True)]


def _usage(response: Response) -> dict[str, int | None] | None:
    usage = response.usage
    if usage.input_tokens is None and usage.output_tokens is None:
        return None
    return {
        "input": usage.input_tokens,
        "output": usage.output_tokens,
        "reasoning": usage.reasoning_tokens,
    }


def _part(part: Part) -> dict[str, str | None]:
    """A part in the form of the schema; a part that is neither text nor reasoning is its JSON."""
    text = part.text if isinstance(part, (Text, Thinking)) else to_json(part).decode()
    complete = getattr(part, "complete", True)
    origin = load_json(to_json(part)).get("origin")
    return {
        "type": part.type,
        "text": text,
        "state": "complete" if complete else "incomplete",
        "origin": dump_json(origin).decode() if origin else None,
    }
