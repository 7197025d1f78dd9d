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
from innervoice.wire.dialects import dialect_named, replay_of

__all__ = ["with_system_in_place"]

_MARKING = "<system-message>\n{}\n</system-message>"


def with_system_in_place(
    messages: Sequence[Message], target: Target, notebook: Notebook
) -> tuple[Message, ...]:
    """The messages, with later system messages in the form and at the place that the target accepts."""
    leading = next((at for at, one in enumerate(messages) if one.role != "system"), len(messages))
    later = {id(one) for one in messages[leading:] if one.role == "system" and one.origin is None}
    if not later:
        return tuple(messages)
    placed = list(messages)
    if not replay_of(target.dialect).results_anywhere(target.host):
        placed = _behind_results(messages, later)
        if any(map(_is_other, placed, messages)):
            notebook.add("system_behind_results")
    if not dialect_named(target.dialect).system_apart:
        return tuple(placed)
    if spoken := sum(bool(one.parts) for one in placed if id(one) in later):
        notebook.add("system_in_turn", count=spoken)
    return tuple(_as_user(one) if id(one) in later else one for one in placed)


def _is_other(one: Message, other: Message) -> bool:
    return one is not other


def _behind_results(messages: Sequence[Message], later: set[int]) -> list[Message]:
    """The messages, with those between calls and their results behind the results."""
    placed: list[Message] = []
    waiting: list[Message] = []
    is_open = False
    for message in messages:
        if is_open and id(message) in later:
            waiting.append(message)
            continue
        has_results = any(isinstance(part, ToolResult) for part in message.parts)
        if not has_results:
            placed += waiting
            waiting = []
        placed.append(message)
        is_open = bool(message.tool_calls) or (is_open and has_results)
    return [*placed, *waiting]


def _as_user(message: Message) -> Message:
    texts = [part for part in message.parts if isinstance(part, Text)]
    others = tuple(part for part in message.parts if not isinstance(part, Text))
    said = "\n\n".join(part.text for part in texts if part.text.strip())
    marks = [part.origin.cache_mark for part in texts if part.origin and part.origin.cache_mark]
    origin = Origin(cache_mark=marks[-1]) if marks else None
    parts: tuple[Part, ...] = (Text(_MARKING.format(said), origin=origin),) if said else ()
    return Message("user", (*parts, *others))
