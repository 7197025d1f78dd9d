"""What is known about data before it is read: its files, its layout, its markup, and the columns that are passed on."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from innervoice.bulk.answers import answers_in
from innervoice.bulk.detection import Detected, FoundMarkup, find_markup, markup_of_answers
from innervoice.bulk.fast_split import TextSplitter
from innervoice.bulk.files import STANDARD_INPUT, InputFile, input_files, open_file
from innervoice.bulk.kinds import find_layout, layout_text
from innervoice.bulk.layouts import SAMPLE_ROWS, Layout, ReadOptions
from innervoice.bulk.processes import begin_processes
from innervoice.bulk.reading import as_sessions, pieces_of, tables_of
from innervoice.bulk.rows import kept_names
from innervoice.bulk.table import Piece, Table
from innervoice.errors import UsageError

__all__ = ["Finding", "find", "sample_of"]


class Finding(NamedTuple):
    """What was found in a sample."""

    files: list[InputFile]
    layout: Layout
    markup: FoundMarkup
    rows: int
    """How many rows were examined."""
    columns: list[str]
    passed_on: dict[str, str]
    """The columns of the rows that are passed on, and their names in the result."""
    fields: int
    """How many answers of the sample have reasoning in a separate field or column."""
    begins_inside: bool = False
    """Whether texts that only end a thought began inside one, however short it is."""

    @property
    def detected(self) -> Detected:
        """What the texts have in common."""
        return Detected(tuple(self.markup.rows), self.begins_inside)

    @property
    def size(self) -> int | None:
        """The bytes of all files, if known."""
        sizes = [file.size for file in self.files]
        return None if None in sizes else sum(size or 0 for size in sizes)

    def __str__(self) -> str:
        """In words, for people."""
        lines = [
            f"layout: {layout_text(self.layout)} (found in {self.rows:,} rows)",
            f"markup: {self.markup}",
        ]
        if self.begins_inside:
            lines.append(
                f"the texts begin inside a thought: {self.markup.orphans:,} of {self.markup.texts:,} only end one; --no-prefix-open refuses this"
            )
        if self.fields:
            lines.append(f"reasoning in a separate field: {self.fields:,} answers")
        if self.passed_on:
            lines.append(f"passed on: {', '.join(_renamed(self.passed_on))}")
        return "\n".join(lines)


def _renamed(columns: dict[str, str]) -> Iterable[str]:
    return (old if old == new else f"{old} as {new}" for old, new in columns.items())


_SMALL = 16_000_000
"""Bytes of files that one process reads as fast."""


def find(
    paths: Iterable[str | os.PathLike[str]] | str | os.PathLike[str],
    options: ReadOptions,
    processes: int = 1,
) -> Finding:
    """Examines a sample of the files; raises `UsageError` if there are none, or their layout is unknown.

    Meanwhile, the processes that will read large files begin to start.
    """
    files = input_files([paths] if isinstance(paths, (str, os.PathLike)) else paths)
    if sum(file.size or 0 for file in files) > _SMALL:
        begin_processes(processes)
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
    # A line of a session log may look like an API's answer, and one of its members like a text.
    is_guess = finding.layout.kind == "answers" or (
        finding.layout.kind == "text" and not (options.text or options.answer)
    )
    sessions = as_sessions(files) if is_guess else None
    return _of_sessions(sessions) if sessions else finding


def _of_sessions(files: list[InputFile]) -> Finding:
    return Finding(files, Layout(kind="sessions", id="id"), FoundMarkup(0, {}, {}, 0), 0, [], {}, 0)


def find_in(
    files: list[InputFile], sample: Sequence[dict[str, Any]], options: ReadOptions
) -> Finding:
    """What is found in this sample."""
    TextSplitter(
        options.model, options.prefix_open, options.markup or ()
    )  # wrong hints are reported before anything is done
    if not sample:
        trouble = trouble_in(files)
        raise UsageError(
            f"no row could be read; {trouble}" if trouble else "the files have no rows"
        )
    layout = find_layout(sample, options)
    table = Table.of_rows(files[0].path if files else STANDARD_INPUT, list(sample))
    everything = list(answers_in(table, layout))
    answers = [answer for answer in everything if answer.response is None]
    texts = [answer.text for answer in answers if answer.text]
    columns = list(table.columns)
    passed_on = kept_names(columns, layout, options)
    markup = find_markup(texts)
    responses = [answer.response for answer in everything if answer.response is not None]
    if responses:
        markup = markup_of_answers(markup, responses)
    if options.markup is not None:
        markup = markup._replace(rows=dict.fromkeys(options.markup, 0))
    fields = sum(bool(answer.reasoning) for answer in answers)
    begins_inside = options.prefix_open is None and markup.begins_inside
    return Finding(files, layout, markup, len(sample), columns, passed_on, fields, begins_inside)


# ---- samples ---------------------------------------------------------------------------------------------

_SAMPLE_TABLES = 8
"""How many tables are read for a sample, if there are not more places: those of Parquet must be decompressed whole."""


def sample_of(files: Sequence[InputFile], rows: int) -> list[dict[str, Any]]:
    """Rows from all over the files, as objects, together at most `rows`: a later part may differ from the beginning."""
    some = _evenly(files, _PLACES)
    places = [place for file in some for place in _places(file, max(1, _PLACES // len(some)))]
    sample: list[dict[str, Any]] = []
    room = 0
    tables = max(1, _SAMPLE_TABLES // max(len(places), 1))
    for number, piece in enumerate(places, 1):
        wanted = rows * number // len(places) - len(sample)
        objects = [
            (table, index)
            for table in islice(tables_of(piece, is_sample=True), tables)
            for index in range(len(table.numbers))
            if index not in table.unreadable
        ]
        room += _SAMPLE_BYTES // len(places)
        for table, index in _evenly(objects, wanted):
            row = table.row(index)
            room -= _weight(row)
            sample.append(row)
            if room <= 0:
                break
    return sample


_SAMPLE_BYTES = 32_000_000
"""About how many characters a sample has at most: rows may be large."""


def _weight(value: Any) -> int:
    """About how many characters a value has."""
    if isinstance(value, (str, bytes)):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_weight, value.values()))
    return sum(map(_weight, value)) if isinstance(value, (list, tuple)) else 8


_PLACES = 16
"""At how many places of the files a sample is taken."""
_PLACE_BYTES = 1_000_000
_Item = TypeVar("_Item")


def _evenly(items: Sequence[_Item], most: int) -> list[_Item]:
    """At most so many of the items, the first and the last among them."""
    if len(items) <= most:
        return list(items)
    steps = max(most - 1, 1)
    return [items[index * (len(items) - 1) // steps] for index in range(most)]


def _places(file: InputFile, most: int) -> list[Piece]:
    """Pieces for a sample: row groups, record batches, or ranges of lines. A file that can be read only from its beginning is one piece."""
    if file.format in ("parquet", "arrow"):
        return _evenly(list(pieces_of([file], 1)), most)
    is_ranged = file.format == "jsonl" and file.compression is None and file.path != STANDARD_INPUT
    if not is_ranged or (file.size or 0) <= 4 * _PLACE_BYTES:
        return list(islice(pieces_of([file]), 1))
    pieces = []
    size = file.size or 0
    with open_file(file) as stream:
        for number in range(most):
            stream.seek(number * (size - _PLACE_BYTES) // max(most - 1, 1))
            if number:
                stream.readline()
            start = stream.tell()
            if start < size:
                pieces.append(Piece(file, start, min(size, start + _PLACE_BYTES)))
    return pieces


def trouble_in(files: Iterable[InputFile]) -> str | None:
    """Where and why the first row that cannot be read cannot; None if there is none at the beginning of the files."""
    for file in files:
        for piece in islice(pieces_of([file]), 1):
            for table in islice(tables_of(piece, is_sample=True), 1):
                for index, why in table.unreadable.items():
                    return f"{table.place(index)}: {why}"
    return None
