"""What a viewer is started with."""

from __future__ import annotations

from innervoice.canon.value import Value
from innervoice.show.policy import Policy

__all__ = ["Settings"]


class Settings(Value, frozen=True, kw_only=True):
    """The choices of whoever starts a viewer, and who may look at it."""

    policy: Policy = "summary"
    """How much of a thought is open at first."""
    target: str | None = None
    """The model whose plan is suggested, as provider/model."""
    token: str | None = None
    """What the first address must hold; None where somebody else has asked already who it is."""
    hosts: tuple[str, ...] | None = None
    """The names under which it may be called beside addresses in numbers; None where somebody else looks at names."""
    only_loopback: bool = True
    """Whether an address in numbers must be one of this machine."""
    is_live: bool = True
