"""Histories as callers pass them: our messages, or the list of another library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from innervoice.canon.messages import Message
from innervoice.canon.response import Response
from innervoice.sessions.foreign import history_from

__all__ = ["messages_of"]


def messages_of(given: Sequence[Any]) -> tuple[Message, ...]:
    """The messages of a history: ours, dicts of any dialect, LangChain messages or SDK objects."""
    ours = [item.message if isinstance(item, Response) else item for item in given]
    if all(isinstance(item, Message) for item in ours):
        return tuple(ours)
    return tuple(history_from(given).messages)
