"""Files in Cohere's chat API: images, by URL or data."""

from __future__ import annotations

from typing import Any

from innervoice.canon.parts import Media
from innervoice.wire.json_access import as_dict
from innervoice.wire.media import Accepts, data_url, media_of_url

__all__ = ["ACCEPTS", "IN_RESULTS", "read_media", "write_media"]

ACCEPTS: Accepts = {"image": ("data", "url")}
IN_RESULTS = False


def write_media(part: Media) -> dict[str, Any]:
    """The chunk of an image."""
    return {"type": "image_url", "image_url": {"url": data_url(part)}}


def read_media(block: dict[str, Any]) -> Media | None:
    """The image in a chunk."""
    if block.get("type") != "image_url":
        return None
    return media_of_url(as_dict(block.get("image_url")).get("url"), block, "cohere")
