"""How much of a prompt cache can be reused when a conversation is sent again: everything before the first difference.

A cache covers tools, system prompt and messages in this order, up to the first byte that differs. A change of the reasoning setting
invalidates all messages of Claude's cache (prompt-caching, 2026-10), and OpenAI has an item that changes the effort without
that (`configuration_update`, SDK 3.49); undocumented caches are assumed to behave like Claude's.
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
from innervoice.planning.decisions import Decision
from innervoice.wire.dialects import dialect_named

if TYPE_CHECKING:
    from innervoice.planning.plan import Plan

__all__ = ["CacheEffect", "cache_effect"]


class CacheEffect(Value, frozen=True, kw_only=True):
    """Where a request first differs from the one before it, and why."""

    message: int | None
    """The first message that differs; None if everything that was sent last time can be reused."""
    byte: int | None = None
    """The first byte that differs in the messages as the target's dialect writes them."""
    why: str

    def __str__(self) -> str:
        if self.message is None:
            return f"fully reusable: {self.why}"
        byte = f", byte {self.byte}" if self.byte is not None else ""
        return f"reusable up to message {self.message}{byte}: {self.why}"


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
        why = f"the reasoning setting changed from {last.setting} to {now.setting}"
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
    return CacheEffect(message=None, why=f"{more} new message{'' if more == 1 else 's'}")


def _first_byte(last: Plan, now: Plan) -> int | None:
    """The first byte that differs; None if the messages cannot be written."""
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
        return f"the message of role {before.role} became one of role {after.role}"
    without = [
        tuple(part for part in message.parts if not isinstance(part, Thinking))
        for message in (before, after)
    ]
    if without[0] != without[1]:
        return "it was edited"
    changed = next(
        (item for item in decisions if item.message == number and item.action != "kept"), None
    )
    return f"its reasoning: {changed.why} ({changed.rule})" if changed else "its reasoning changed"
