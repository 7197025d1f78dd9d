"""Files in Chat Completions: images by URL or data, PDFs and audio as data, videos where a host supports them."""

from __future__ import annotations

from typing import Any

from innervoice.canon.parts import Media
from innervoice.wire.json_access import as_dict, as_text
from innervoice.wire.media import Accepts, data_url, kind_of, media_of, media_of_url

__all__ = ["ACCEPTS", "IN_RESULTS", "read_media", "write_media"]

ACCEPTS: Accepts = {
    "image": ("data", "url"),
    "pdf": ("data",),
    "audio": ("data",),
    "video": ("data", "url"),
}
IN_RESULTS = False
_FORMATS = {"mpeg": "mp3", "x-wav": "wav", "wave": "wav", "vnd.wave": "wav"}


def write_media(part: Media) -> dict[str, Any]:
    """The chunk of a file."""
    match kind_of(part):
        case "audio":
            subtype = (part.mime or "audio/wav").partition("/")[2]
            sound = {"data": part.data, "format": _FORMATS.get(subtype, subtype)}
            return {"type": "input_audio", "input_audio": sound}
        case "video":
            return {"type": "video_url", "video_url": {"url": data_url(part)}}
        case "image":
            return {"type": "image_url", "image_url": {"url": data_url(part)}}
        case _:
            file = {"filename": part.name or "document.pdf", "file_data": data_url(part)}
            return {"type": "file", "file": file}


def read_media(block: dict[str, Any], dialect: str = "openai-chat") -> Media | None:
    """The file in a chunk."""
    match block.get("type"):
        case "image_url" | "video_url" as kind:
            inner = block.get(kind)
            url = inner if isinstance(inner, str) else as_dict(inner).get("url")
            mime = "video/mp4" if kind == "video_url" else None
            return media_of_url(url, block, dialect, mime=mime)
        case "input_audio":
            sound = as_dict(block.get("input_audio"))
            form = as_text(sound.get("format")) or "wav"
            return media_of(f"audio/{form}", sound.get("data"), None, block, dialect)
        case "file":
            file = as_dict(block.get("file"))
            name = file.get("filename")
            return media_of_url(
                file.get("file_data"), block, dialect, mime="application/pdf", name=name
            )
        case _:
            return None
