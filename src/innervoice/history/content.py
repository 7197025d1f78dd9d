"""Fits the content of user, system and tool messages to a target: rule H2 for parts that the model did not write.

A part that was read from a request of another dialect is sent without its wire block, in the form of the target's dialect. A block that
only its own dialect understands is left out. The caller's own parts, which have no origin, are sent as they are.
"""

from __future__ import annotations

from operator import attrgetter

from innervoice.canon.messages import Message
from innervoice.canon.parts import Media, Opaque, Part, Text, ToolResult
from innervoice.history.decisions import Ledger, Place

__all__ = ["ContentRules", "is_own"]

_ORIGIN = attrgetter("origin")


def is_own(message: Message) -> bool:
    """Whether a message is the caller's own as a whole, as nearly all are: no part of it was read from a request."""
    parts = message.parts
    return not (message.origin or any(map(_ORIGIN, parts)) or ToolResult in map(type, parts))


class ContentRules:
    """Fits the content of messages that the model did not write."""

    def __init__(self, dialect: str, ledger: Ledger) -> None:
        self._dialect = dialect
        self._ledger = ledger

    def fitted(self, number: int, message: Message) -> Message:
        """The message as the target's dialect can send it; the same object if nothing changes."""
        origin = message.origin
        if origin and self._is_foreign(message):
            message = message.replace(origin=None)
        parts = [
            self._part((number, position), part) for position, part in enumerate(message.parts)
        ]
        if all(new is old for new, old in zip(parts, message.parts, strict=True)):
            return message
        return message.replace(parts=tuple(part for part in parts if part is not None))

    def _part(self, place: Place, part: Part) -> Part | None:
        if isinstance(part, ToolResult) and not isinstance(part.content, str):
            part = self._result(place, part)
        if part.origin is None or not self._is_foreign(part):
            return part
        if isinstance(part, Opaque):
            why = f"it is a block of the dialect {part.origin.dialect}"
            self._ledger.omitted(place, "opaque", "H2", why, "opaque_dropped")
            return None
        return part.replace(origin=None)

    def _result(self, place: Place, result: ToolResult) -> ToolResult:
        assert not isinstance(result.content, str)
        content = [self._part(place, inner) for inner in result.content]
        if all(new is old for new, old in zip(content, result.content, strict=True)):
            return result
        kept = tuple(part for part in content if isinstance(part, (Text, Media, Opaque)))
        return result.replace(content=kept)

    def _is_foreign(self, holder: Part | Message) -> bool:
        """Whether a part or a message was read from a request of another dialect."""
        dialect = holder.origin.dialect if holder.origin else None
        return dialect is not None and dialect != self._dialect
