"""Files in Ollama's chat API: images, as data, in a list next to the text."""

from __future__ import annotations

from typing import Any

from innervoice.canon.parts import Media
from innervoice.wire.media import Accepts

__all__ = ["ACCEPTS", "IN_RESULTS", "read_media", "write_media"]

ACCEPTS: Accepts = {"image": ("data",)}
IN_RESULTS = False


def write_media(part: Media) -> Any:
    """The entry of the list `images`."""
    return part.data


def read_media(block: Any) -> Media | None:
    """The image of an entry of the list `images`."""
    return Media("image/png", block) if isinstance(block, str) and block else None
