"""An effort that is set inside a conversation, and counts from there on.

OpenAI has an item for it, Anthropic a system message without content, and OpenRouter a member of a system message: each keeps the prompt
cache, which a changed setting at the top of the request would lose. A target that cannot read the client's form gets the last effort at the
top: the effort in force is the one that was asked for, and the cache begins anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from innervoice.canon.messages import Message
from innervoice.canon.parts import Opaque
from innervoice.canon.reasoning import Effort
from innervoice.canon.target import Target
from innervoice.wire.json_access import as_dict

__all__ = ["ITEM", "effort_in_force", "is_carried"]

ITEM = "configuration_update"
_EFFORTS = frozenset(get_args(Effort))


def effort_in_force(messages: Sequence[Message], target: Target) -> Effort | None:
    """The last effort that a history sets, if the target cannot read where it does so; None if there is none, or it can."""
    effort: Effort | None = None
    for message in [one for one in messages if one.role != "assistant" and _may_change(one)]:
        if changed := _changed_effort(message):
            effort = None if is_carried(message, target) else changed
    return effort


def _may_change(message: Message) -> bool:
    return message.origin is not None or Opaque in map(type, message.parts)


def is_carried(message: Message, target: Target) -> bool:
    """Whether a target reads the change of a message where it stands."""
    origin = next((part.origin for part in message.parts if part.origin), message.origin)
    if origin is None or origin.dialect != target.dialect:
        return False
    # Where it is an item, only the newest models have it.
    may_read = target.row.effort_updates or target.row.guess
    return may_read or not any(map(_is_item, message.parts))


def _changed_effort(message: Message) -> Effort | None:
    """The effort that a message sets for what follows."""
    for part in message.parts:
        if isinstance(part, Opaque) and _is_item(part):
            return _effort_of(as_dict(part.value))
    block = as_dict(message.origin.block if message.origin else None)
    return _word(as_dict(block.get("output_config")).get("effort")) or _effort_of(
        as_dict(block.get(ITEM))
    )


def _is_item(part: Any) -> bool:
    return isinstance(part, Opaque) and as_dict(part.value).get("type") == ITEM


def _effort_of(value: dict[str, Any]) -> Effort | None:
    return _word(as_dict(value.get("reasoning")).get("effort"))


def _word(value: Any) -> Effort | None:
    return value if value in _EFFORTS else None
