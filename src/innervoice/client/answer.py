"""Checks of an HTTP response and its events, for both clients."""

from __future__ import annotations

from typing import Any

from innervoice.canon.events import Event, Heartbeat, UsageUpdate

__all__ = ["is_output", "is_uncompressed"]


def is_uncompressed(answer: Any) -> bool:
    """Whether the bytes of an HTTP response can be read as they arrive: not compressed, and not already read by a caller's hook."""
    return not answer.is_stream_consumed and "content-encoding" not in answer.headers


def is_output(event: Event) -> bool:
    """Whether an event is part of the answer itself, so that the request is not retried after it."""
    return not isinstance(event, (Heartbeat, UsageUpdate))
