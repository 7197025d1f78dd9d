"""Steps on a data set of Hugging Face `datasets`: `on_datasets.mapped(load_dataset(...), split("text"), loops())`."""

from __future__ import annotations

from functools import partial
from typing import Any

from innervoice.bulk.schema import Step
from innervoice.bulk.tables import mapped_table

__all__ = ["mapped"]


def mapped(dataset: Any, *steps: Step, **options: Any) -> Any:
    """The data set with the columns that the steps add; `options` are those of `map`. Streamed data sets work as well."""
    # In Arrow tables, columns that no step reads are not converted to Python objects.
    return (
        dataset.with_format("arrow")
        .map(partial(mapped_table, steps=steps), batched=True, **options)
        .with_format(None)
    )
