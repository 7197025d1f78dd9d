"""What a prompt cache keeps when a conversation is sent again: all before the first thing that differs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from innervoice.canon.messages import Message
from innervoice.canon.parts import Thinking
from innervoice.canon.value import Value
from innervoice.history.decisions import Decision

if TYPE_CHECKING:
    from innervoice.history.plan import Plan

__all__ = ["CacheEffect", "cache_effect"]


class CacheEffect(Value, frozen=True, kw_only=True):
    """Where a request first differs from the one before it, and why."""

    message: int | None
    """The first message of the request that differs; None if the cache holds for all that was sent last time."""
    why: str

    def __str__(self) -> str:
        where = "whole" if self.message is None else f"until message {self.message}"
        return f"holds {where}: {self.why}"


def cache_effect(last: Plan, now: Plan) -> CacheEffect:
    """Compares two plans for the same conversation."""
    if last.target != now.target:
        return CacheEffect(message=0, why=f"another model: {now.target} after {last.target}")
    for what, one, other in zip(
        ("the system prompt", "the tools"),
        last.prefix.split("."),
        now.prefix.split("."),
        strict=False,
    ):
        if one != other:
            return CacheEffect(message=0, why=f"{what} changed")
    for number, (before, after) in enumerate(zip(last.messages, now.messages, strict=False)):
        if before != after:
            return CacheEffect(message=number, why=_reason(number, before, after, now.decisions))
    if len(now.messages) < len(last.messages):
        return CacheEffect(message=len(now.messages), why="messages were removed")
    return CacheEffect(
        message=None, why=f"{len(now.messages) - len(last.messages)} messages are new"
    )


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
