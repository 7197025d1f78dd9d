"""A stored turn."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from innervoice.canon.messages import Message
from innervoice.canon.value import Value

__all__ = ["TurnRecord", "TurnsByKey"]

TurnsByKey: TypeAlias = Mapping[bytes, "Sequence[TurnRecord]"]
"""Keys -> the turns that have them."""


class TurnRecord(Value, frozen=True, kw_only=True):
    """One turn of the model, as received; never changed."""

    id: str
    tenant: str
    message: Message
    """With the wire blocks of its parts, including seals."""
    created: float


def now() -> float:
    """The time for a new record, in seconds since 1970."""
    return time.time()
