"""What every framing gives: a name, if it has one, and the bytes of one message."""

from __future__ import annotations

from typing import Protocol

from innervoice.canon.value import Value
from innervoice.errors import DecodeError

__all__ = ["LIMIT", "Frame", "FrameError", "Framer"]

LIMIT = 64 * 1024 * 1024
"""A frame larger than this ends the stream: no provider sends one, and memory is finite."""


class Frame(Value, frozen=True):
    """One message of a stream. Without data it is a sign of life."""

    data: bytes | None
    name: str | None = None
    """The event's name, where the framing has names."""
    failed: bool = False
    """The framing itself says that this is an error."""


class FrameError(DecodeError):
    """The bytes are not valid frames of their framing."""


class Framer(Protocol):
    """Cuts bytes into frames, however the bytes come."""

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that are whole now."""
        ...

    def finish(self) -> list[Frame]:
        """What the end of the stream makes whole."""
        ...
