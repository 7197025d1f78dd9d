"""What people pass as a history: our messages, or the list that another library keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from innervoice.canon.messages import Message
from innervoice.canon.response import Response
from innervoice.sessions.foreign import history_from

__all__ = ["messages_of"]


def messages_of(given: Sequence[Any]) -> tuple[Message, ...]:
    """The messages of a history, whoever keeps it: dicts of any dialect, LangChain's messages, an SDK's objects."""
    ours = [item.message if isinstance(item, Response) else item for item in given]
    if all(isinstance(item, Message) for item in ours):
        return tuple(ours)
    return tuple(history_from(given).messages)
