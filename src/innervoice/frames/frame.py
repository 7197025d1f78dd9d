"""The output of every framing: a name, if it has one, and the bytes of one message."""

from __future__ import annotations

from typing import Protocol

from innervoice.canon.value import Value
from innervoice.errors import DecodeError

__all__ = ["LIMIT", "Frame", "FrameError", "Framer"]

LIMIT = 64 * 1024 * 1024
"""A larger frame ends the stream: no provider sends one, and memory is finite."""


class Frame(Value, frozen=True):
    """One message of a stream. Without data it is a keep-alive."""

    data: bytes | None
    name: str | None = None
    """The event's name, where the framing has names."""
    failed: bool = False
    """Whether the framing itself marks this as an error."""


class FrameError(DecodeError):
    """The bytes are not valid frames of their framing."""


class Framer(Protocol):
    """Cuts bytes into frames, whatever the boundaries of the input."""

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that are complete now."""
        ...

    def finish(self) -> list[Frame]:
        """The frames that the end of the stream completes."""
        ...
