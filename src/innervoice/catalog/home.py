"""Which target can read the sealed reasoning of a model.

A target can read it at the same host, in the same dialect, with the same account (scope), and if its model can read the reasoning of the
model that wrote it. Models read their own family, unless `reads` in the reader's row or `readable_by` in the writer's row
says otherwise.
"""

from __future__ import annotations

from innervoice.canon.origin import Origin
from innervoice.canon.rows import ModelRow
from innervoice.canon.target import Target
from innervoice.catalog.lookup import family_of, fits, model_row_of

__all__ = ["is_home", "reads", "row_reads"]


def reads(row: ModelRow, model: str, writer: str, host: str | None, dialect: str) -> bool:
    """Whether a model can read the reasoning that another model sealed at the same host."""
    return row_reads(row, model, writer, model_row_of(writer, host, dialect))


def row_reads(row: ModelRow, model: str, writer: str, written_by: ModelRow | None) -> bool:
    """The same by the rows of both."""
    if family_of(model) != family_of(writer):
        return False
    if model == writer or written_by is None or written_by == row:
        return True
    return fits(row.reads, writer) and fits(written_by.readable_by, model)


def is_home(origin: Origin | None, target: Target) -> bool:
    """Whether a block of this origin can be sent to this target unchanged."""
    host = target.host
    if origin is None or origin.dialect != target.dialect:
        return False
    if host and origin.provider not in (None, host.id):
        return False
    if None not in (target.scope, origin.scope) and target.scope != origin.scope:
        return False
    writer = origin.model
    return writer is None or reads(
        target.row, target.model, writer, host.id if host else None, target.dialect
    )
