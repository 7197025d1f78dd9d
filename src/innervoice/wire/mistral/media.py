"""Files in Mistral's chat API: images, audio, and documents by a URL that may contain their data."""

from __future__ import annotations

from typing import Any

from innervoice.canon.parts import Media
from innervoice.wire.chat import media as chat
from innervoice.wire.media import Accepts, data_url, kind_of, media_of, media_of_url

__all__ = ["ACCEPTS", "IN_RESULTS", "read_media", "write_media"]

ACCEPTS: Accepts = {"image": ("data", "url"), "pdf": ("data", "url"), "audio": ("data", "url")}
IN_RESULTS = False


def write_media(part: Media) -> dict[str, Any]:
    """The chunk of a file."""
    match kind_of(part):
        case "audio":
            return {"type": "input_audio", "input_audio": part.data or part.url}
        case "pdf":
            chunk = {"type": "document_url", "document_url": data_url(part)}
            return {**chunk, "document_name": part.name} if part.name else chunk
        case _:
            return chat.write_media(part)


def read_media(block: dict[str, Any]) -> Media | None:
    """The file in a chunk."""
    match block:
        case {"type": "document_url", "document_url": url}:
            name = block.get("document_name")
            return media_of_url(url, block, "mistral", mime="application/pdf", name=name)
        case {"type": "input_audio", "input_audio": str(data)}:
            is_url = "://" in data[:16]
            return media_of(
                "audio/mpeg", None if is_url else data, data if is_url else None, block, "mistral"
            )
        case _:
            return chat.read_media(block, "mistral")
