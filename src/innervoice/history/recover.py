"""A request that was refused for its reasoning -> the same request with less of it, or None (rule H8).

One try: the smallest removal that satisfies the rule which the refusal names. Never on "cannot be
modified", which a removal would make worse, and never in mode "strict".
"""

from __future__ import annotations

import re

from innervoice.canon.messages import Message
from innervoice.canon.parts import Thinking
from innervoice.canon.request import Request

__all__ = ["recover"]

_PLACE = re.compile(r"messages\.(\d+)\.content\.(\d+)")
_ONE_BLOCK = (
    "Invalid `signature` in `thinking` block",
    "Invalid signature in thinking block",
    "signature: Field required",
)
_ALL_LATER = "bound to a different conversation"
_ALL = (
    "invalid_encrypted_content",
    "could not be verified",
    "Could not decrypt the provided encrypted_content",
    "Could not decode the compaction blob",
    "missing recognized prefix",
    "Corrupted thought signature",
)
_NEVER = "cannot be modified"


def recover(request: Request, refusal: str) -> Request | None:
    """The reduced request, or None if the refusal is about something else or nothing would change."""
    if request.mode == "strict" or _NEVER in refusal:
        return None
    named = _named_turn(request, refusal)
    if _ALL_LATER in refusal:
        turns = _turns(request)[named or 0 :]
    elif any(text in refusal for text in _ONE_BLOCK):
        turns = _turns(request) if named is None else _turns(request)[named : named + 1]
    elif any(text in refusal for text in _ALL):
        turns = _turns(request)
    else:
        return None
    reduced = tuple(
        _without_thinking(message) if number in turns else message
        for number, message in enumerate(request.messages)
    )
    return None if reduced == request.messages else request.but(messages=reduced)


def _turns(request: Request) -> list[int]:
    return [
        number for number, message in enumerate(request.messages) if message.role == "assistant"
    ]


def _named_turn(request: Request, refusal: str) -> int | None:
    """Which turn of the model the refusal names: on the wire turns alternate, and the user's is the first."""
    place = _PLACE.search(refusal)
    if not place:
        return None
    index = int(place[1]) // 2
    return index if index < len(_turns(request)) else None


def _without_thinking(message: Message) -> Message:
    return message.but(
        parts=tuple(part for part in message.parts if not isinstance(part, Thinking))
    )
