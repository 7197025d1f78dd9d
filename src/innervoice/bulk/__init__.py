"""Reasoning in data sets: reads rows of any layout, splits, checks and filters them, and writes the formats of trainers.

A batch is columns of equal length (`bulk/schema.py`); every step is a function of a batch. Arrow is one input and output format, JSON lines another.

    from innervoice import bulk

    for batch in bulk.read("data/*.jsonl.gz"):           # layout and markup are found in a sample
        print(batch["answer"][0], batch["reasoning"][0], batch["status"][0])

    bulk.run("data/*.parquet", "out/", bulk.ReadOptions(text=("response",)), processes=4)
    bulk.split_arrow(table["response"])                  # a column of Arrow, polars, duckdb, ...
"""

from __future__ import annotations

from innervoice.bulk.arrow import batch_of, mapped, record_batch_of, schema_of, split_arrow
from innervoice.bulk.detection import Detected, detect
from innervoice.bulk.finding import Finding, find
from innervoice.bulk.layouts import ReadOptions
from innervoice.bulk.running import Form, Result, read, run, split_batch
from innervoice.bulk.schema import COLUMNS, Batch, Column, Step

__all__ = [
    "COLUMNS",
    "Batch",
    "Column",
    "Detected",
    "Finding",
    "Form",
    "ReadOptions",
    "Result",
    "Step",
    "batch_of",
    "detect",
    "find",
    "mapped",
    "read",
    "record_batch_of",
    "run",
    "schema_of",
    "split_arrow",
    "split_batch",
]
