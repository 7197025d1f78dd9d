"""Files in OpenAI's Responses API: images and files, by data or URL."""

from __future__ import annotations

from typing import Any

from innervoice.canon.parts import Media
from innervoice.wire.media import Accepts, data_url, kind_of, media_of_url

__all__ = ["ACCEPTS", "IN_RESULTS", "read_media", "write_media"]

ACCEPTS: Accepts = {
    "image": ("data", "url"),
    "pdf": ("data", "url"),
    "text": ("data", "url"),
    "document": ("data", "url"),
}
IN_RESULTS = True


def write_media(part: Media) -> dict[str, Any]:
    """The content of a file."""
    if kind_of(part) == "image":
        return {"type": "input_image", "image_url": data_url(part)}
    if part.url:
        return {"type": "input_file", "file_url": part.url}
    name = part.name or "document.pdf"
    return {"type": "input_file", "filename": name, "file_data": data_url(part)}


def read_media(block: dict[str, Any]) -> Media | None:
    """The file in a content."""
    match block:
        case {"type": "input_image", "image_url": url}:
            return media_of_url(url, block, "openai-responses")
        case {"type": "input_file"}:
            url = block.get("file_data") or block.get("file_url")
            name = block.get("filename")
            return media_of_url(url, block, "openai-responses", mime="application/pdf", name=name)
        case _:
            return None
