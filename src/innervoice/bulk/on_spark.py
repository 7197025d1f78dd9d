"""Steps on a Spark data frame: `on_spark.mapped(spark.read.parquet(...), split("text"), loops())`. innervoice has to be installed on the workers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

from innervoice.bulk.arrow import mapped as mapped_batch
from innervoice.bulk.layouts import SAMPLE_ROWS
from innervoice.bulk.schema import Step, prepared
from innervoice.bulk.tables import mapped_schema

__all__ = ["mapped"]


def mapped(frame: Any, *steps: Step) -> Any:
    """The data frame with the columns that the steps add."""
    steps = prepared(
        steps, lambda name: [row[0] for row in frame.select(name).limit(SAMPLE_ROWS).collect()]
    )
    types = import_module("pyspark.sql.pandas.types")
    schema = mapped_schema(types.to_arrow_schema(frame.schema), steps)
    return frame.mapInArrow(partial(_each, steps=steps), types.from_arrow_schema(schema))


def _each(batches: Iterable[Any], *, steps: tuple[Step, ...]) -> Iterator[Any]:
    return (mapped_batch(batch, steps) for batch in batches)
