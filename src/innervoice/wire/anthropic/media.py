"""Files in Anthropic's Messages API: images and documents, by data, by URL, or as plain text."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

from innervoice.canon.parts import Media
from innervoice.wire.json_access import as_dict
from innervoice.wire.media import Accepts, kind_of, media_of

__all__ = ["ACCEPTS", "IN_RESULTS", "read_media", "write_media"]

ACCEPTS: Accepts = {"image": ("data", "url"), "pdf": ("data", "url"), "text": ("data",)}
IN_RESULTS = True


def write_media(part: Media) -> dict[str, Any]:
    """The block of a file."""
    kind = kind_of(part)
    if part.url:
        source = {"type": "url", "url": part.url}
    elif kind == "text":
        text = b64decode(part.data or "").decode("utf-8", "replace")
        source = {"type": "text", "media_type": "text/plain", "data": text}
    else:
        source = {"type": "base64", "media_type": part.mime or "", "data": part.data or ""}
    block: dict[str, Any] = {"type": "image" if kind == "image" else "document", "source": source}
    return {**block, "title": part.name} if part.name and kind != "image" else block


def read_media(block: dict[str, Any]) -> Media | None:
    """The file in a block."""
    if block.get("type") not in ("image", "document"):
        return None
    source = as_dict(block.get("source"))
    data, mime = source.get("data"), source.get("media_type")
    if source.get("type") == "text" and isinstance(data, str):
        data = b64encode(data.encode("utf-8", "surrogatepass")).decode("ascii")
    if source.get("type") == "url" and block["type"] == "document":
        mime = mime or "application/pdf"
    name = block.get("title")
    return media_of(mime, data, source.get("url"), block, "anthropic", name=name)
