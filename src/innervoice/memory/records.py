"""A stored turn."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from innervoice.canon.messages import Message
from innervoice.canon.value import Value

__all__ = ["TurnRecord", "TurnsByKey"]

TurnsByKey: TypeAlias = Mapping[bytes, "Sequence[TurnRecord]"]
"""Keys -> the turns that have them."""


_RUN = 16
"""The length of a run in an id."""


class TurnRecord(Value, frozen=True, kw_only=True):
    """One turn of the model, as received; never changed."""

    id: str
    """Begins with the run: what turns of one conversation share that were stored one after the other."""
    tenant: str
    message: Message
    """With the wire blocks of its parts, including seals."""
    created: float

    @property
    def run(self) -> str:
        """The run of the conversation that the turn belongs to."""
        return self.id[:_RUN]


def new_run() -> str:
    """The beginning of the ids of turns that are stored one after the other.

    It begins with the time: ids that grow share the last page of an index, those at random would each change another one.
    """
    sixty_fourths = int(time.time() * 64) & 0xFF_FFFF_FFFF
    return f"{sixty_fourths:010x}{os.urandom(3).hex()}"


def now() -> float:
    """The time for a new record, in seconds since 1970."""
    return time.time()
