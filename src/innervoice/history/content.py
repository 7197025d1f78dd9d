"""Fits the content of user, system and tool messages to a target: rule H2 for parts that the model did not write.

A part that was read from a request of another dialect is sent without its wire block, in the form of the target's dialect. A block that
only its own dialect understands is left out. A cache mark is kept for targets that have such marks. The caller's own parts, which have no
origin, are sent as they are.
"""

from __future__ import annotations

from functools import cached_property
from operator import attrgetter

from innervoice.canon.messages import Message
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Media, Opaque, Part, Text, ToolResult
from innervoice.canon.target import Target
from innervoice.fitting.cache_marks import cache_mark_of, is_cache_point, takes_cache_marks
from innervoice.history.decisions import Ledger, Place
from innervoice.wire.shapes import is_strict

__all__ = ["ContentRules", "is_own"]

_ORIGIN = attrgetter("origin")
_NO_MARKS = "the target has no cache marks"


def is_own(message: Message) -> bool:
    """Whether the caller wrote the whole message, as for nearly all messages: no part of it was read from a request."""
    parts = message.parts
    return not (message.origin or any(map(_ORIGIN, parts)) or ToolResult in map(type, parts))


class ContentRules:
    """Fits the content of messages that the model did not write."""

    def __init__(self, target: Target, ledger: Ledger) -> None:
        self._target = target
        self._ledger = ledger

    @cached_property
    def _takes_marks(self) -> bool:
        return takes_cache_marks(self._target)

    def fitted(self, number: int, message: Message) -> Message:
        """The message as the target's dialect can send it; the same object if nothing changes."""
        origin = message.origin
        if origin and self._is_foreign(message):
            self._note_members(number, message)
            message = message.replace(origin=None)
        parts: list[Part | None] = []
        for position, part in enumerate(message.parts):
            if isinstance(part, Opaque) and is_cache_point(part.value) and self._is_foreign(part):
                self._mark_last(parts, (number, position))
                parts.append(None)
            else:
                parts.append(self._part((number, position), part))
        if all(new is old for new, old in zip(parts, message.parts, strict=True)):
            return message
        return message.replace(parts=tuple(part for part in parts if part is not None))

    def _note_members(self, number: int, message: Message) -> None:
        """Notes members of a message that are lost with its origin; those of a result only name its call."""
        block = message.origin.block if message.origin else None
        lost = sorted(block.keys() - {"role", "type"}) if isinstance(block, dict) else []
        if lost and message.role != "tool":
            why = f"{', '.join(lost)}: only the dialect it was read in has such members"
            self._ledger.converted((number, None), "message", "H2", why, "extra_dropped")

    def _part(self, place: Place, part: Part) -> Part | None:
        if isinstance(part, ToolResult) and not isinstance(part.content, str):
            part = self._result(place, part)
        if part.origin is None:
            return part
        if not self._is_foreign(part):
            return self._unmarked(place, part)
        if isinstance(part, Opaque):
            why = f"it is a block of the dialect {part.origin.dialect}"
            self._ledger.omitted(place, "opaque", "H2", why, "opaque_dropped")
            return None
        return self.abroad(place, part)

    def abroad(self, place: Place, part: Part) -> Part:
        """A part without the block of another dialect, and with its cache mark if the target has such marks."""
        mark = cache_mark_of(part)
        if mark and not self._takes_marks:
            self._note_mark(place, part)
            mark = None
        return part.replace(origin=Origin(cache_mark=mark) if mark else None)

    def _mark_last(self, parts: list[Part | None], place: Place) -> None:
        """Marks the part before a cache point."""
        last = next((at for at in reversed(range(len(parts))) if parts[at] is not None), None)
        part = parts[last] if last is not None else None
        if last is None or part is None or not self._takes_marks:
            self._ledger.omitted(place, "opaque", "H2", _NO_MARKS, "cache_mark_dropped")
        else:
            parts[last] = part.replace(origin=Origin(cache_mark={"type": "ephemeral"}))

    def _unmarked(self, place: Place, part: Part) -> Part:
        """A part of this dialect, without a cache mark that its host would refuse."""
        origin = part.origin
        if origin is None or self._takes_marks or not is_strict(self._target):
            return part
        if not (cache_mark_of(part) and isinstance(origin.block, dict)):
            return part
        self._note_mark(place, part)
        block = {key: item for key, item in origin.block.items() if key != "cache_control"}
        plain = block.keys() == {"type", "text"}
        return part.replace(origin=None if plain else origin.replace(block=block))

    def _note_mark(self, place: Place, part: Part) -> None:
        self._ledger.converted(place, part.type, "H2", _NO_MARKS, "cache_mark_dropped")

    def _result(self, place: Place, result: ToolResult) -> ToolResult:
        assert not isinstance(result.content, str)
        content = [self._part(place, inner) for inner in result.content]
        if all(new is old for new, old in zip(content, result.content, strict=True)):
            return result
        kept = tuple(part for part in content if isinstance(part, (Text, Media, Opaque)))
        return result.replace(content=kept or "")

    def _is_foreign(self, holder: Part | Message) -> bool:
        """Whether a part or a message was read from a request of another dialect."""
        dialect = holder.origin.dialect if holder.origin else None
        return dialect is not None and dialect != self._target.dialect
