"""Steps on a Daft data frame: `on_daft.mapped(daft.read_parquet(...), split("text"), loops())`; with its Ray runner, on a cluster."""

from __future__ import annotations

from typing import Any

import daft
import pyarrow as pa

from innervoice.bulk.schema import Step, prepared
from innervoice.bulk.tables import mapped_schema, mapped_table, sampled

__all__ = ["mapped"]

_ROW = "_row"
_MOST = 100_000
"""How many rows of a frame are looked at for a sample."""


def mapped(frame: Any, *steps: Step) -> Any:
    """The data frame with the columns that the steps add."""
    steps = prepared(
        steps, lambda name: sampled(frame.select(name).limit(_MOST).to_arrow().column(name))
    )
    before = frame.schema().to_pyarrow_schema()
    names = [name for step in steps for name in step.adds]
    after = mapped_schema(before, steps)
    added = pa.struct([after.field(name) for name in dict.fromkeys(names)])

    @daft.func.batch(return_dtype=daft.DataType.from_arrow_type(added))
    def run(row: daft.Series) -> Any:
        table = pa.Table.from_struct_array(row.to_arrow())
        return (
            mapped_table(table, steps)
            .select([field.name for field in added])
            .to_struct_array()
            .combine_chunks()
        )

    row = daft.functions.to_struct(*(daft.col(name) for name in before.names))
    frame = frame.with_column(_ROW, run(row))
    new = {field.name: daft.col(_ROW).get(field.name) for field in added}
    return frame.with_columns(new).exclude(_ROW)
