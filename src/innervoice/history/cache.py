"""What a prompt cache keeps when a conversation is sent again: all before the first thing that differs.

A cache holds tools, system and messages in this order, up to the first byte that is another one. With another setting
for reasoning Claude's loses all messages (prompt-caching, 2026-10), and OpenAI has made an item of its own to change the
effort without that (`configuration_update`, SDK 3.49); where nothing is known, it is taken to be so, too.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message
from innervoice.canon.parts import Thinking
from innervoice.canon.request import Request
from innervoice.canon.value import Value
from innervoice.errors import InnervoiceError
from innervoice.history.decisions import Decision
from innervoice.wire.dialects import dialect_named

if TYPE_CHECKING:
    from innervoice.history.plan import Plan

__all__ = ["CacheEffect", "cache_effect"]


class CacheEffect(Value, frozen=True, kw_only=True):
    """Where a request first differs from the one before it, and why."""

    message: int | None
    """The first message of the request that differs; None if the cache holds for all that was sent last time."""
    byte: int | None = None
    """The first byte that differs of the messages as they are written for this target."""
    why: str

    def __str__(self) -> str:
        if self.message is None:
            return f"holds whole: {self.why}"
        byte = f", byte {self.byte}" if self.byte is not None else ""
        return f"holds until message {self.message}{byte}: {self.why}"


def cache_effect(last: Plan, now: Plan) -> CacheEffect:
    """Compares two plans for the same conversation."""
    if last.target != now.target:
        why = f"another model: {now.target} after {last.target}"
        return CacheEffect(message=0, byte=0, why=why)
    for what, one, other in zip(
        ("the system prompt", "the tools"),
        last.prefix.split("."),
        now.prefix.split("."),
        strict=False,
    ):
        if one != other:
            return CacheEffect(message=0, byte=0, why=f"{what} changed")
    effect = _of_messages(last, now)
    if last.setting != now.setting:
        why = f"the setting for reasoning changed: {last.setting} became {now.setting}"
        more = f"; message {effect.message}: {effect.why}" if effect.message is not None else ""
        return CacheEffect(message=0, byte=0, why=why + more)
    return effect


def _of_messages(last: Plan, now: Plan) -> CacheEffect:
    for number, (before, after) in enumerate(zip(last.messages, now.messages, strict=False)):
        if before != after:
            why = _reason(number, before, after, now.decisions)
            return CacheEffect(message=number, byte=_first_byte(last, now), why=why)
    more = len(now.messages) - len(last.messages)
    if more < 0:
        why = "messages were removed"
        return CacheEffect(message=len(now.messages), byte=_first_byte(last, now), why=why)
    return CacheEffect(message=None, why=f"{more} messages are new")


def _first_byte(last: Plan, now: Plan) -> int | None:
    """The first byte that differs; None where it cannot be written."""
    try:
        one, other = _written(last), _written(now)
    except InnervoiceError:
        return None
    pairs = zip(count(), one, other, strict=False)
    return next((at for at, a, b in pairs if a != b), min(len(one), len(other)))


def _written(plan: Plan) -> bytes:
    """The messages of a plan, as its dialect writes them."""
    dialect = dialect_named(plan.dialect)
    body = dialect.writer(Request(plan.target, plan.messages), plan.target, dialect.limit)
    return dump_json(body[dialect.history])


def _reason(number: int, before: Message, after: Message, decisions: tuple[Decision, ...]) -> str:
    if before.role != after.role:
        return f"a message of the {after.role} stands where one of the {before.role} stood"
    without = [
        tuple(part for part in message.parts if not isinstance(part, Thinking))
        for message in (before, after)
    ]
    if without[0] != without[1]:
        return "it was edited"
    told = next(
        (item for item in decisions if item.message == number and item.action != "kept"), None
    )
    return f"its reasoning: {told.why} ({told.rule})" if told else "its reasoning changed"
