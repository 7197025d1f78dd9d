"""The target of a request: a model at a host, called in a dialect from an account."""

from __future__ import annotations

from innervoice.canon.rows import Host, ModelRow
from innervoice.canon.value import Value

__all__ = ["UNKNOWN_MODEL", "Target"]

UNKNOWN_MODEL = ModelRow(match=("*",), control="none", off="never", source="nothing is known")
"""The row of a model that no row matches."""


class Target(Value, frozen=True, kw_only=True):
    """Everything that decides what a request may contain. `catalog/targets.py` resolves one."""

    provider: str | None = None
    """The host's id; the caller's own name for a host that has no row; None if only the model was named."""
    model: str
    """The model's name as its host spells it."""
    host: Host | None = None
    dialect: str
    row: ModelRow = UNKNOWN_MODEL
    scope: str | None = None
    """The account that the request is sent from."""

    @property
    def is_known(self) -> bool:
        """Whether a row says what the model accepts."""
        return self.row is not UNKNOWN_MODEL
