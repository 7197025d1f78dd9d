"""What is known about data before it is read: its files, its layout, its markup, and the columns that are passed on."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from innervoice.bulk.answers import answers_in
from innervoice.bulk.fast_split import TextSplitter
from innervoice.bulk.files import STANDARD_INPUT, InputFile, input_files
from innervoice.bulk.layouts import Layout, find_layout
from innervoice.bulk.markup import FoundMarkup, find_markup
from innervoice.bulk.options import SAMPLE_ROWS, ReadOptions
from innervoice.bulk.reading import sample_of
from innervoice.bulk.rows import kept_names
from innervoice.bulk.sessions import as_sessions
from innervoice.bulk.table import Table
from innervoice.errors import UsageError

__all__ = ["Finding", "find"]


class Finding(NamedTuple):
    """What was found in a sample."""

    files: list[InputFile]
    layout: Layout
    markup: FoundMarkup
    rows: int
    """How many rows were examined."""
    columns: list[str]
    kept: dict[str, str]
    """The columns of the rows that are passed on, and their names in the result."""
    fields: int
    """How many answers of the sample have reasoning in a separate field or column."""

    @property
    def size(self) -> int | None:
        """The bytes of all files, if known."""
        sizes = [file.size for file in self.files]
        return None if None in sizes else sum(size or 0 for size in sizes)

    def __str__(self) -> str:
        """In words, for people."""
        lines = [f"layout: {self.layout} (found in {self.rows:,} rows)", f"markup: {self.markup}"]
        if self.fields:
            lines.append(f"reasoning in a separate field: {self.fields:,} answers")
        if self.kept:
            lines.append(f"passed on: {', '.join(_renamed(self.kept))}")
        return "\n".join(lines)


def _renamed(kept: dict[str, str]) -> Iterable[str]:
    return (old if old == new else f"{old} as {new}" for old, new in kept.items())


def find(
    paths: Iterable[str | os.PathLike[str]] | str | os.PathLike[str], options: ReadOptions
) -> Finding:
    """Examines a sample of the files; raises `UsageError` if there are none, or their layout is unknown."""
    files = input_files([paths] if isinstance(paths, (str, os.PathLike)) else paths)
    sample = sample_of(files, SAMPLE_ROWS)
    try:
        finding = find_in(files, sample, options)
    except UsageError:
        is_said = (
            options.messages
            or options.generations
            or options.text
            or options.answer
            or options.reasoning
        )
        sessions = None if is_said else as_sessions(files, any_source=True)
        if not sessions:
            raise
        return _of_sessions(sessions)
    # A line of a session log may look like an API's answer.
    sessions = as_sessions(files) if finding.layout.kind == "answers" else None
    return _of_sessions(sessions) if sessions else finding


def _of_sessions(files: list[InputFile]) -> Finding:
    return Finding(files, Layout(kind="sessions", id="id"), FoundMarkup(0, {}, {}), 0, [], {}, 0)


def find_in(
    files: list[InputFile], sample: Sequence[dict[str, Any]], options: ReadOptions
) -> Finding:
    """What is found in this sample."""
    TextSplitter(
        options.model, options.prefix_open, options.markup or ()
    )  # wrong hints are reported before anything is done
    layout = find_layout(sample, options)
    table = Table.of_rows(files[0].path if files else STANDARD_INPUT, list(sample))
    answers = [answer for answer in answers_in(table, layout) if answer.response is None]
    texts = [answer.text for answer in answers if answer.text]
    columns = list(table.columns)
    kept = kept_names(columns, layout, options)
    found = find_markup(texts)
    if options.markup is not None:
        found = found._replace(rows=dict.fromkeys(options.markup, 0))
    fields = sum(bool(answer.reasoning) for answer in answers)
    return Finding(files, layout, found, len(sample), columns, kept, fields)
