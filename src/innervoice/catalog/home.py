"""Where reasoning is at home: who can read what a model sealed.

Home is the same host, the same dialect, no other account, and a model that reads the origin's. Models read their
own family, unless the row of either says otherwise: `reads` of the reader, `readable_by` of the one who wrote.
"""

from __future__ import annotations

from innervoice.canon.origin import Origin
from innervoice.canon.rows import ModelRow
from innervoice.canon.target import Target
from innervoice.catalog.lookup import family_of, fits, model_row_of

__all__ = ["is_home", "reads"]


def reads(row: ModelRow, model: str, writer: str, host: str | None, dialect: str) -> bool:
    """Whether a model can read what another one sealed at the same host."""
    if family_of(model) != family_of(writer):
        return False
    written_by = model_row_of(writer, host, dialect)
    if model == writer or written_by is None or written_by == row:
        return True
    return fits(row.reads, writer) and fits(written_by.readable_by, model)


def is_home(origin: Origin | None, target: Target) -> bool:
    """Whether what came from this origin can go back to this target as it came."""
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
