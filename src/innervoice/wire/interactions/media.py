"""Files in the Interactions API: contents of four kinds, by data or by a URI."""

from __future__ import annotations

from typing import Any

from innervoice.canon.parts import Media
from innervoice.wire.gemini.media import ACCEPTS
from innervoice.wire.media import kind_of, media_of

__all__ = ["ACCEPTS", "IN_RESULTS", "KINDS", "read_media", "write_media"]

IN_RESULTS = True
KINDS = ("image", "audio", "video", "document")
"""The types of contents that are files."""


def write_media(part: Media) -> dict[str, Any]:
    """The content of a file."""
    kind = kind_of(part)
    made: dict[str, Any] = {"type": kind if kind in KINDS else "document"}
    if part.mime:
        made["mime_type"] = part.mime
    return {**made, "uri": part.url} if part.url else {**made, "data": part.data or ""}


def read_media(block: dict[str, Any]) -> Media | None:
    """The file in a content."""
    if block.get("type") not in KINDS:
        return None
    mime, data, uri = (block.get(name) for name in ("mime_type", "data", "uri"))
    return media_of(mime, data, uri, block, "gemini-interactions", name=block.get("name"))
