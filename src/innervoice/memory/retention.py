"""How much of a turn is kept: all of it, or only what its provider needs back."""

from __future__ import annotations

from operator import is_

from innervoice.canon.messages import Message
from innervoice.canon.parts import Opaque, Part, Thinking
from innervoice.wire.dialects import replay_of

__all__ = ["kept_part", "says_more", "without_summaries"]


def says_more(part: Part) -> bool:
    """Whether a part has more than the text or the call that every program keeps."""
    return isinstance(part, (Thinking, Opaque)) or bool(part.origin and part.origin.seals)


def without_summaries(message: Message) -> Message | None:
    """A turn without readable reasoning that its own host does not need: summaries of sealed reasoning. None if nothing else is left.

    Text that a seal signs stays, and so does reasoning that a host needs back as text.
    """
    parts = tuple(needed for part in message.parts if (needed := kept_part(part)) is not None)
    if len(parts) == len(message.parts) and all(map(is_, parts, message.parts)):
        return message
    return message.replace(parts=parts) if any(map(says_more, parts)) else None


def kept_part(part: Part) -> Part | None:
    """A part without readable reasoning that its own host does not need; None if nothing else is left."""
    if not isinstance(part, Thinking) or part.origin is None or part.origin.dialect is None:
        return part
    return replay_of(part.origin.dialect).kept(part)
