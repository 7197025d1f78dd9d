"""Files in Gemini's API: any type, by data or by the URI of a file."""

from __future__ import annotations

from typing import Any

from innervoice.canon.parts import Media
from innervoice.wire.json_access import as_dict
from innervoice.wire.media import Accepts, media_of

__all__ = ["ACCEPTS", "IN_RESULTS", "read_media", "write_media"]

ACCEPTS: Accepts = {
    "image": ("data", "url", "gs"),
    "audio": ("data", "url", "gs"),
    "video": ("data", "url", "gs"),
    "pdf": ("data", "url", "gs"),
    "text": ("data", "url", "gs"),
    "document": ("data", "url", "gs"),
}
IN_RESULTS = False


def write_media(part: Media) -> dict[str, Any]:
    """The part of a file."""
    if part.url:
        return {"fileData": {"mimeType": part.mime, "fileUri": part.url}}
    return {"inlineData": {"mimeType": part.mime, "data": part.data}}


def read_media(block: dict[str, Any]) -> Media | None:
    """The file in a part; SDKs also write the names with underscores."""
    inline = as_dict(block.get("inlineData", block.get("inline_data")))
    at = as_dict(block.get("fileData", block.get("file_data")))
    held = inline or at
    mime = held.get("mimeType", held.get("mime_type"))
    url = at.get("fileUri", at.get("file_uri"))
    name = held.get("displayName", held.get("display_name"))
    return media_of(mime, inline.get("data"), url, block, "gemini", name=name)
