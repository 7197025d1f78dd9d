"""Steps on an Arrow table, for engines that pass tables: `bulk/on_ray.py` and similar ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from innervoice.bulk.arrow import mapped
from innervoice.bulk.files import with_arrow
from innervoice.bulk.layouts import SAMPLE_ROWS
from innervoice.bulk.schema import Step, prepared

__all__ = ["mapped_schema", "mapped_table", "sampled"]


def mapped_table(table: Any, steps: Sequence[Step]) -> Any:
    """The table with the columns that the steps add."""
    arrow = with_arrow("a table of Arrow")
    steps = prepared(steps, lambda name: sampled(table.column(name)))
    batches = table.to_batches() or [arrow.RecordBatch.from_pylist([], table.schema)]
    return arrow.Table.from_batches([mapped(batch, steps) for batch in batches])


def sampled(column: Any) -> list[Any]:
    """Values from all over an Arrow column, as many as `innervoice bulk` samples."""
    if not len(column):
        return []
    most = min(SAMPLE_ROWS, len(column))
    steps = max(most - 1, 1)
    rows = [index * (len(column) - 1) // steps for index in range(most)]
    values: list[Any] = column.take(rows).to_pylist()
    return values


def mapped_schema(schema: Any, steps: Iterable[Step]) -> Any:
    """The schema of a table after the steps."""
    arrow = with_arrow("a schema of Arrow")
    return mapped(arrow.RecordBatch.from_pylist([], schema), tuple(steps)).schema
