"""The content of user and tool messages of LangChain -> parts.

A content is a text or a list of blocks: LangChain's standard blocks (version 1, and those with `source_type` of version 0), or blocks of a
provider, which its integration passes on. A block of any other form is passed on as it is.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from innervoice.canon.origin import Origin
from innervoice.canon.parts import Media, Opaque, Part, Text
from innervoice.wire.anthropic import DIALECT as ANTHROPIC
from innervoice.wire.dialects import DEFAULT, DIALECTS, dialect_named
from innervoice.wire.json_access import as_text
from innervoice.wire.serve import UserContent

__all__ = ["CONTENT"]

_FILES = ("image", "audio", "video", "file", "text-plain", "media")
_USUAL = {"image": "image/png", "audio": "audio/wav", "video": "video/mp4", "text-plain": "text/plain"}  # fmt: skip


class _Content(UserContent):
    """Reads a LangChain content."""

    def part(self, block: Any) -> Part:
        match block:
            case {"type": "text", "text": str(text), "cache_control": _}:
                return Text(text, origin=Origin(dialect=ANTHROPIC.name, block=block))
            case {"type": "text", "text": str(text)}:
                return Text(
                    text
                )  # further members, such as ids and annotations, are LangChain's own
            case _:
                part = super().part(block)
        return Opaque(block) if isinstance(part, Opaque) else part


def _read_block(block: dict[str, Any]) -> Part | None:
    kind = block.get("type")
    if kind in _FILES and (file := _standard_file(block, str(kind))):
        return file
    files = (dialect_named(name).files.read_media(block) for name in DIALECTS)
    return next((file for file in files if file), None)


def _standard_file(block: dict[str, Any], kind: str) -> Media | None:
    """The file in a standard block, or None for another provider's block of that type."""
    data, url = (
        as_text(block.get("base64")) or as_text(block.get("data")),
        as_text(block.get("url")),
    )
    text = as_text(block.get("text"))
    if data is None and url is None and text is not None:
        data = b64encode(text.encode("utf-8", "surrogatepass")).decode("ascii")
    if data is None and url is None:
        return None
    mime = as_text(block.get("mime_type")) or _USUAL.get(kind, "application/pdf")
    name = as_text(block.get("filename")) or as_text(block.get("name"))
    return Media(mime, data, None if data else url, name=name)


CONTENT = _Content(DEFAULT, _read_block)
