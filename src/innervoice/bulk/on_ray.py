"""Steps on a Ray Data data set: `on_ray.mapped(ray.data.read_parquet(...), split("text"), loops())`."""

from __future__ import annotations

from functools import partial
from typing import Any

from innervoice.bulk.layouts import SAMPLE_ROWS
from innervoice.bulk.schema import Step, prepared
from innervoice.bulk.tables import mapped_table

__all__ = ["mapped"]


def mapped(dataset: Any, *steps: Step, **options: Any) -> Any:
    """The data set with the columns that the steps add; `options` are those of `map_batches`."""
    steps = prepared(
        steps, lambda name: [row[name] for row in dataset.select_columns([name]).take(SAMPLE_ROWS)]
    )
    return dataset.map_batches(
        partial(mapped_table, steps=steps), batch_format="pyarrow", **options
    )
