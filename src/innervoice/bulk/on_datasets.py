"""Steps on a data set of Hugging Face `datasets`: `on_datasets.mapped(load_dataset(...), split("text"), loops())`."""

from __future__ import annotations

from functools import partial
from typing import Any

from innervoice.bulk.layouts import SAMPLE_ROWS
from innervoice.bulk.schema import Step, prepared
from innervoice.bulk.tables import mapped_table

__all__ = ["mapped"]


def mapped(dataset: Any, *steps: Step, **options: Any) -> Any:
    """The data set with the columns that the steps add; `options` are those of `map`. Streamed data sets work as well."""
    steps = prepared(steps, partial(_sample, dataset))
    # In Arrow tables, columns that no step reads are not converted to Python objects.
    return (
        dataset.with_format("arrow")
        .map(partial(mapped_table, steps=steps), batched=True, **options)
        .with_format(None)
    )


def _sample(dataset: Any, name: str) -> list[Any]:
    """Values from all over a column; of a streamed data set, which has no length, the first."""
    if not hasattr(dataset, "__len__"):
        return [row[name] for row in dataset.take(SAMPLE_ROWS)]
    most = min(SAMPLE_ROWS, len(dataset))
    rows = [index * (len(dataset) - 1) // max(most - 1, 1) for index in range(most)]
    return list(dataset.select(rows)[name])
