"""The steps of a stream.

Several parts may be open at once, each under its index. `Recast` replaces all parts from its index
on: something shown turned out to be something else. Parts that are open at that moment stay open,
in their order, under the numbers of the last incomplete parts of the recast.
"""

from __future__ import annotations

from typing import TypeAlias

from innervoice.canon.parts import Part
from innervoice.canon.response import Response
from innervoice.canon.usage import Usage
from innervoice.canon.value import Value

__all__ = [
    "Event",
    "Finish",
    "Heartbeat",
    "PartEnd",
    "PartStart",
    "Recast",
    "TextDelta",
    "ThinkingDelta",
    "ToolCallDelta",
    "UsageUpdate",
]


class PartStart(Value, frozen=True, tag="part_start", tag_field="event"):
    """A part begins; `part` has what is already known, such as a tool call's id and name."""

    index: int
    """The number of the part."""
    type: str
    """What begins: "text", "thinking", "tool_call", ..."""
    part: Part | None = None
    """What is known of the part at its beginning."""


class TextDelta(Value, frozen=True, tag="text_delta", tag_field="event"):
    """More of the answer."""

    index: int
    """The number of the part."""
    text: str
    """The next piece of the text."""


class ThinkingDelta(Value, frozen=True, tag="thinking_delta", tag_field="event"):
    """More of the reasoning."""

    index: int
    """The number of the part."""
    text: str
    """The next piece of the reasoning."""


class ToolCallDelta(Value, frozen=True, tag="tool_call_delta", tag_field="event"):
    """More of a call's arguments."""

    index: int
    """The number of the part."""
    arguments: str
    """The next piece of the arguments."""


class PartEnd(Value, frozen=True, tag="part_end", tag_field="event"):
    """A part has ended; this is all of it."""

    index: int
    """The number of the part."""
    part: Part
    """The part, complete."""


class Recast(Value, frozen=True, tag="recast", tag_field="event"):
    """All parts from `index` on are these instead."""

    index: int
    """The number of the first part that is replaced."""
    parts: tuple[Part, ...] = ()
    """The parts that replace everything from there on."""


class Heartbeat(Value, frozen=True, tag="heartbeat", tag_field="event"):
    """The connection is alive, but there is no output yet."""


class UsageUpdate(Value, frozen=True, tag="usage_update", tag_field="event"):
    """The tokens used so far."""

    usage: Usage
    """The counts until now."""


class Finish(Value, frozen=True, tag="finish", tag_field="event"):
    """The end, with the whole response."""

    response: Response
    """The whole answer."""


Event: TypeAlias = (
    PartStart
    | TextDelta
    | ThinkingDelta
    | ToolCallDelta
    | PartEnd
    | Recast
    | Heartbeat
    | UsageUpdate
    | Finish
)
