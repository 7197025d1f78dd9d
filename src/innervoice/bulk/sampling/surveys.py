"""The look at all rows before the first one is written, for steps whose columns depend on any other row.

What each step notices is judged in the order of the rows, so that the result does not depend on the number of processes. The columns wait in
files until the pieces are read for good. A run that is continued looks again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from innervoice.bulk.schema import Batch, Column, Step, Survey, rows_in
from innervoice.canon.jsontext import dump_json, load_json

__all__ = ["FoundColumns", "Surveyed", "judge", "look_at"]


class Surveyed(NamedTuple):
    """The columns of a look at all rows."""

    folder: str
    """Where they are, a file for each piece."""
    adds: dict[str, Column]

    def of_piece(self, number: int) -> FoundColumns:
        """The columns of a piece."""
        return FoundColumns(load_json((Path(self.folder) / str(number)).read_bytes()))


class FoundColumns:
    """The columns of a piece, which is read batch by batch."""

    def __init__(self, columns: Batch) -> None:
        self._columns = columns
        self._rows = 0

    def added_to(self, batch: Batch) -> Batch:
        """The next batch of the piece, with its part of the columns."""
        first, self._rows = self._rows, self._rows + rows_in(batch)
        columns = {name: values[first : self._rows] for name, values in self._columns.items()}
        return {**batch, **columns}


def look_at(batches: Iterable[Batch], surveys: Sequence[Survey]) -> list[list[Any]]:
    """What each survey notices about the rows of a piece."""
    noticed: list[list[Any]] = [[] for _ in surveys]
    for batch in batches:
        for survey, rows in zip(surveys, noticed, strict=True):
            rows.extend(survey.look(batch))
    return noticed


def judge(
    steps: Sequence[Step], noticed: Iterable[tuple[int, list[list[Any]]]], folder: str
) -> Surveyed:
    """Judges what `look_at` returned for each piece, in whatever order they come, and keeps the columns in `folder`."""
    judges = [step.survey.judge() for step in steps if step.survey]
    for number, looks in _in_order(noticed):
        for one, rows in zip(judges, looks, strict=True):
            one.add(number, rows)
    columns: dict[int, Batch] = {}
    for one in judges:
        for number, values in one.columns().items():
            columns.setdefault(number, {}).update(values)
    for number, values in columns.items():
        (Path(folder) / str(number)).write_bytes(dump_json(values))
    return Surveyed(folder, {name: kind for step in steps for name, kind in step.adds.items()})


def _in_order(
    pieces: Iterable[tuple[int, list[list[Any]]]],
) -> Iterator[tuple[int, list[list[Any]]]]:
    """The pieces by their numbers, which begin with 0; those that come too early wait."""
    waiting: dict[int, list[list[Any]]] = {}
    following = 0
    for number, looks in pieces:
        waiting[number] = looks
        while following in waiting:
            yield following, waiting.pop(following)
            following += 1
