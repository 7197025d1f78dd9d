"""Decoding one answer: a stream decoder that also knows whether it failed, and how far its text is settled."""

from __future__ import annotations

from typing import Any

from innervoice.canon.events import Event, Heartbeat, UsageUpdate
from innervoice.client.firm import Bound, bound_of
from innervoice.decoding import StreamDecoder

__all__ = ["AnswerDecoder", "is_output", "is_uncompressed"]


class AnswerDecoder(StreamDecoder):
    """Decodes one answer of a host."""

    @property
    def failed(self) -> bool:
        """Whether the answer ends in an error."""
        return self._failure is not None or bool(self._reader and self._reader.error)

    @property
    def bound(self) -> Bound:
        """The first position of the text that could still be recast."""
        return bound_of(self._stage) if self._stage else None


def is_uncompressed(answer: Any) -> bool:
    """Whether the bytes of an HTTP response can be read as they come: not compressed, and not read before by a caller's hook."""
    return not answer.is_stream_consumed and "content-encoding" not in answer.headers


def is_output(event: Event) -> bool:
    """Whether an event is part of the answer itself, so that the request is not sent again after it."""
    return not isinstance(event, (Heartbeat, UsageUpdate))
