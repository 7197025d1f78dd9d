"""The settings of a viewer."""

from __future__ import annotations

from innervoice.canon.value import Value
from innervoice.show.policy import Policy

__all__ = ["Settings"]


class Settings(Value, frozen=True, kw_only=True):
    """The choices of the user who starts a viewer, and who may access it."""

    policy: Policy = "summary"
    """How much of a thought is open at first."""
    target: str | None = None
    """The model whose plan is suggested, as provider/model."""
    token: str | None = None
    """The token that the first URL must contain; None where access was already checked."""
    hosts: tuple[str, ...] | None = None
    """The accepted host names, in addition to IP addresses; None where host names are checked elsewhere."""
    only_loopback: bool = True
    """Whether an IP address must be one of this machine."""
    is_live: bool = True
