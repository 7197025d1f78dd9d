"""Files in Bedrock's Converse: images, documents and videos, as data or by their S3 location."""

from __future__ import annotations

import re
from typing import Any

from innervoice.canon.parts import Media
from innervoice.wire.json_access import as_dict, as_text
from innervoice.wire.media import Accepts, kind_of, media_of

__all__ = ["ACCEPTS", "IN_RESULTS", "read_media", "write_media"]

ACCEPTS: Accepts = {
    "image": ("data", "s3"),
    "pdf": ("data", "s3"),
    "text": ("data", "s3"),
    "document": ("data", "s3"),
    "video": ("data", "s3"),
}
IN_RESULTS = True
# The API's word for a format -> the type; for all others the suffix of the type is used.
_TYPES = {
    "txt": "text/plain",
    "md": "text/markdown",
    "pdf": "application/pdf",
    "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "csv": "text/csv",
    "html": "text/html",
    "three_gp": "video/3gpp",
    "mov": "video/quicktime",
}
_FORMATS = {mime: word for word, mime in _TYPES.items()}
# Names of documents may have letters, digits, spaces, hyphens and brackets.
_UNNAMED = re.compile(r"[^A-Za-z0-9 \-()\[\]]+")


def write_media(part: Media) -> dict[str, Any]:
    """The block of a file."""
    mime = part.mime or "image/png"
    form = _FORMATS.get(mime, mime.rsplit("/", 1)[-1])
    source = {"s3Location": {"uri": part.url}} if part.url else {"bytes": part.data}
    kind = kind_of(part)
    if kind in ("image", "video"):
        return {kind: {"format": form, "source": source}}
    name = _UNNAMED.sub(" ", (part.name or "document").rsplit(".", 1)[0]).strip() or "document"
    return {"document": {"format": form, "name": name, "source": source}}


def read_media(block: dict[str, Any]) -> Media | None:
    """The file in a block."""
    for kind in ("image", "document", "video"):
        held = block.get(kind)
        if not isinstance(held, dict):
            continue
        form = as_text(held.get("format")) or ""
        usual = f"{'application' if kind == 'document' else kind}/{form}"
        source = as_dict(held.get("source"))
        url = as_dict(source.get("s3Location")).get("uri")
        mime, name = _TYPES.get(form, usual), held.get("name")
        return media_of(mime, source.get("bytes"), url, block, "bedrock-converse", name=name)
    return None
