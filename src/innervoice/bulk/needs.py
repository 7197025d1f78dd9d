"""The columns that a step reads: taken from a batch, with an error that names the missing one."""

from __future__ import annotations

from typing import Any

from innervoice.bulk.schema import Batch
from innervoice.errors import UsageError

__all__ = ["column", "rows_in"]


def column(batch: Batch, name: str, step: str) -> list[Any]:
    """The column of this name; raises UsageError if the batch has none."""
    try:
        return batch[name]
    except KeyError:
        present = ", ".join(batch) or "no columns"
        raise UsageError(
            f"the step {step!r} needs the column {name!r}, but the batch has: {present}"
        ) from None


def rows_in(batch: Batch) -> int:
    """How many rows a batch has."""
    return len(next(iter(batch.values()), ()))
