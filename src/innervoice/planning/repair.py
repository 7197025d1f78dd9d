"""Makes a history acceptable for a target, with the smallest change.

The input is never changed. A call without a result gets one that reports the interruption, because removing the call
would change a turn that its model may have signed; a result without a call is removed; and parts that the plan
would not send are left out. A history with a compaction that the target cannot read is cut back to the last readable point, which is before
it: what follows it makes no sense without it. A history without problems is returned equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from innervoice.canon.messages import Message
from innervoice.canon.request import Request
from innervoice.planning.compactions import cut_back
from innervoice.planning.pairs import pairs_of
from innervoice.planning.plan import planned

__all__ = ["repair"]


def repair(
    messages: Sequence[Message], target: str, dialect: str | None = None, **settings: Any
) -> list[Message]:
    """The history, acceptable for a target, `provider/model`; `settings` are other fields of a `Request`."""
    whole = _without_strays(messages)
    request = Request(target, tuple(whole), dialect=dialect, **settings)
    plan = planned(request).plan
    readable = cut_back(whole, plan.decisions)
    if readable != whole:
        return repair(readable, target, dialect, **settings)
    return [message for message in plan.messages if message.parts]


def _without_strays(messages: Sequence[Message]) -> list[Message]:
    strays = set(pairs_of(messages).strays)
    remaining: list[Message] = []
    for number, message in enumerate(messages):
        parts = tuple(
            part for position, part in enumerate(message.parts) if (number, position) not in strays
        )
        if len(parts) == len(message.parts):
            remaining.append(message)
        elif parts:
            remaining.append(message.replace(parts=parts))
    return remaining
