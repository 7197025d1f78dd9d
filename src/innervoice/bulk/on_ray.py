"""Steps on a Ray Data data set: `on_ray.mapped(ray.data.read_parquet(...), split("text"), loops())`."""

from __future__ import annotations

from functools import partial
from typing import Any

from innervoice.bulk.schema import Step
from innervoice.bulk.tables import mapped_table

__all__ = ["mapped"]


def mapped(dataset: Any, *steps: Step, **options: Any) -> Any:
    """The data set with the columns that the steps add; `options` are those of `map_batches`."""
    return dataset.map_batches(
        partial(mapped_table, steps=steps), batch_format="pyarrow", **options
    )
