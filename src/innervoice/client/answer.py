"""What a client asks about an HTTP answer and its events."""

from __future__ import annotations

from typing import Any

from innervoice.canon.events import Event, Heartbeat, UsageUpdate

__all__ = ["comes_plain", "is_output"]


def comes_plain(answer: Any) -> bool:
    """Whether the bytes of an HTTP answer can be read as they come: not packed, nor read before, as a caller's hook may do."""
    return not answer.is_stream_consumed and "content-encoding" not in answer.headers


def is_output(event: Event) -> bool:
    """Whether an event tells of the answer itself, so that after it the request is not sent again."""
    return not isinstance(event, (Heartbeat, UsageUpdate))
