"""System messages inside a conversation: each stays where it is, so that what was sent before it stays the same.

    at the beginning    the system prompt, as every API has it
    later               APIs that have system messages among the others get them there; for the rest (Gemini, Converse, Claude for messages of other
                        APIs) it is text of the user's turn, in the marking below

Results must follow their calls, so a message between the two stands behind the results. The marking lets a model tell who speaks; it is no boundary: a
user can write the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from innervoice.canon.messages import Message
from innervoice.canon.notes import Notebook
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, Text, ToolResult
from innervoice.canon.target import Target
from innervoice.wire.dialects import dialect_named

__all__ = ["behind_results", "with_later_system"]

_MARKING = "<system-message>\n{}\n</system-message>"


def with_later_system(
    messages: Sequence[Message], target: Target, notebook: Notebook
) -> tuple[Message, ...]:
    """The messages, with later system messages in the form that the target accepts."""
    later = _later(messages)
    if not later or not dialect_named(target.dialect).system_apart:
        return tuple(messages)
    if spoken := sum(bool(messages[number].parts) for number in later):
        notebook.add("system_in_turn", count=spoken)
    return tuple(_as_user(one) if number in later else one for number, one in enumerate(messages))


def behind_results(messages: Sequence[Message]) -> list[int]:
    """The numbers of the messages in the order in which they are sent: a system message between a call and its results is behind these."""
    later = _later(messages)
    placed: list[int] = []
    waiting: list[int] = []
    is_open = False
    for number, message in enumerate(messages):
        if is_open and number in later:
            waiting.append(number)
            continue
        has_results = any(isinstance(part, ToolResult) for part in message.parts)
        if message.parts and not has_results:
            placed += waiting
            waiting = []
        placed.append(number)
        if message.parts:
            is_open = bool(message.tool_calls) or (is_open and has_results)
    return [*placed, *waiting]


def _later(messages: Sequence[Message]) -> set[int]:
    """The numbers of the system messages behind those at the beginning; one of the target's own API stays what it is."""
    leading = next((at for at, one in enumerate(messages) if one.role != "system"), len(messages))
    return {
        number
        for number, one in enumerate(messages)
        if number >= leading and one.role == "system" and one.origin is None
    }


def _as_user(message: Message) -> Message:
    texts = [part for part in message.parts if isinstance(part, Text)]
    others = tuple(part for part in message.parts if not isinstance(part, Text))
    said = "\n\n".join(part.text for part in texts if part.text.strip())
    marks = [part.origin.cache_mark for part in texts if part.origin and part.origin.cache_mark]
    origin = Origin(cache_mark=marks[-1]) if marks else None
    parts: tuple[Part, ...] = (Text(_MARKING.format(said), origin=origin),) if said else ()
    return Message("user", (*parts, *others))
