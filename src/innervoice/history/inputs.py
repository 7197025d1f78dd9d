"""Histories as callers pass them: our messages, or the list of another library."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from innervoice.canon.messages import Message
from innervoice.canon.response import Response

__all__ = ["messages_of"]


def messages_of(given: Sequence[Any]) -> tuple[Message, ...]:
    """The messages of a history: ours, dicts of any dialect, LangChain messages or SDK objects."""
    ours = [item.message if isinstance(item, Response) else item for item in given]
    if all(isinstance(item, Message) for item in ours):
        return tuple(ours)
    # In a higher layer, which imports the planner; so it is imported here, when it is needed.
    return tuple(import_module("innervoice.sessions.foreign").history_from(given).messages)
