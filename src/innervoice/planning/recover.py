"""Reduces a request that was refused for its reasoning, so that it can be sent again (rule H8).

There is one attempt: the smallest removal that satisfies the rule in the refusal. Never on "cannot be
modified", which a removal would make worse, and never in mode "strict".
"""

from __future__ import annotations

import re

from innervoice.canon.messages import Message
from innervoice.canon.parts import Thinking
from innervoice.canon.request import Request
from innervoice.catalog.targets import target_of
from innervoice.planning.plan import planned
from innervoice.wire.dialects import dialect_named
from innervoice.wire.json_access import as_dict, as_list
from innervoice.wire.write import block_of

__all__ = ["is_about_reasoning", "recover"]

_PLACE = re.compile(r"messages\.([0-9]{1,9})\.content\.([0-9]{1,9})")
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
_UNSHOWN = "must be verified to generate reasoning summaries"
"""OpenAI does not show reasoning to organizations that are not verified; the model reasons anyway."""


def is_about_reasoning(refusal: str) -> bool:
    """Whether a refusal might be avoided by a request with less reasoning."""
    return (
        any(text in refusal for text in (*_ONE_BLOCK, _ALL_LATER, *_ALL)) and _NEVER not in refusal
    )


def recover(request: Request, refusal: str) -> Request | None:
    """The reduced request, or None if the refusal is about something else or nothing would change."""
    every = [n for n, message in enumerate(request.messages) if message.role == "assistant"]
    if request.mode == "strict" or _NEVER in refusal:
        return None
    setting = request.reasoning
    if _UNSHOWN in refusal and setting and setting.show:
        return request.replace(reasoning=setting.replace(show=None))
    place = _PLACE.search(refusal)
    turns_named = _turns_in(int(place[1]), request) if place else every
    if _ALL_LATER in refusal:
        turns = _from(turns_named, every)
    elif any(text in refusal for text in _ONE_BLOCK):
        # Blocks that are bound to the messages before them become invalid if one of those is removed.
        is_bound = target_of(request).row.bound == "refused"
        turns = _from(turns_named, every) if is_bound else turns_named
    elif any(text in refusal for text in _ALL):
        turns = every
    else:
        return None
    reduced = tuple(
        _without_thinking(message) if number in turns else message
        for number, message in enumerate(request.messages)
    )
    return None if reduced == request.messages else request.replace(messages=reduced)


def _from(named: list[int], every: list[int]) -> list[int]:
    return [number for number in every if number >= min(named, default=0)]


def _turns_in(index: int, request: Request) -> list[int]:
    """The turns whose thinking is in one message of the body; refusals name messages by their index there.

    Consecutive turns are one message in the body, and a turn that is left out completely is not in it.
    """
    fitted, plan, _ = planned(request)
    dialect = dialect_named(fitted.target.dialect)
    body = dialect.writer(fitted.with_messages(plan.messages), fitted.target.model, dialect.limit)
    sent = [as_list(as_dict(message).get("content")) for message in as_list(body.get("messages"))]
    numbers: list[int] = []
    start = last = 0
    for number, message in enumerate(request.messages):
        if message.role != "assistant":
            start = last + 1
            continue
        thoughts = [block_of(part) for part in message.parts if isinstance(part, Thinking)]
        places = (n for n in range(start, len(sent)) if any(item in sent[n] for item in thoughts))
        place = next(places, None)
        if place is not None:
            last = place
            numbers += [number] if place == index else []
    return numbers


def _without_thinking(message: Message) -> Message:
    return message.replace(
        parts=tuple(part for part in message.parts if not isinstance(part, Thinking))
    )
