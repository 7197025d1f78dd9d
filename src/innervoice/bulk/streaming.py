"""Files -> batches of the schema, one after the other, in one process."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO

from innervoice.bulk.fast_split import TextSplitter
from innervoice.bulk.finding import Finding, find
from innervoice.bulk.manifest import Counts
from innervoice.bulk.options import ReadOptions
from innervoice.bulk.reading import pieces_of, tables_of
from innervoice.bulk.rows import RowReader
from innervoice.bulk.schema import Batch, Step
from innervoice.bulk.writing import json_lines

__all__ = ["read", "split_batch", "write_lines"]


def read(
    paths: Iterable[str | os.PathLike[str]] | str | os.PathLike[str],
    options: ReadOptions | None = None,
    *,
    finding: Finding | None = None,
) -> Iterator[Batch]:
    """The rows of files, split, in batches of the schema; `finding` is the result of `find`, if it was already called."""
    options = options or ReadOptions()
    finding = finding or find(paths, options)
    reader = RowReader(finding.layout, options, tuple(finding.markup.rows))
    for piece in pieces_of(finding.files):
        for table in tables_of(piece):
            yield reader.batch(table)


def write_lines(batches: Iterable[Batch], stream: BinaryIO, steps: Sequence[Step] = ()) -> Counts:
    """Writes batches as JSON lines to an open stream; returns the counts."""
    counts = Counts()
    for batch in batches:
        for step in steps:
            batch = step.run(batch)  # noqa: PLW2901 - one batch, step by step
        counts.add(batch, ())
        stream.write(json_lines(batch))
    stream.flush()
    return counts


def split_batch(
    batch: Batch,
    text: str = "text",
    model: str | None = None,
    prefix_open: bool | None = None,
    markup: Sequence[str] = (),
) -> Batch:
    """A batch of any columns with the column `text` split: adds answer, reasoning, status, notes and markup; null stays null."""
    splitter = TextSplitter(model, prefix_open, markup)
    split = [None if value is None else splitter.split(value) for value in batch[text]]
    return {
        **batch,
        "answer": [one and one.answer for one in split],
        "reasoning": [one and one.reasoning for one in split],
        "status": [one and one.status for one in split],
        "notes": [one and list(one.notes) for one in split],
        "markup": [one and one.markup for one in split],
    }
