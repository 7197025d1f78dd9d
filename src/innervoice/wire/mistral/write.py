"""A request -> the body of Mistral's chat API."""

from __future__ import annotations

from typing import Any

from innervoice.canon.parts import Media
from innervoice.canon.request import Request
from innervoice.wire.chat import write as chat
from innervoice.wire.json_access import as_dict
from innervoice.wire.media import (
    PICTURES,
    Accepts,
    Types,
    data_url,
    kind_of,
    media_of,
    media_of_url,
)

__all__ = ["ACCEPTS", "IN_RESULTS", "TYPES", "read_media", "write", "write_media"]


def write(request: Request, model: str, limit: str) -> dict[str, Any]:
    """The body: as for chat hosts, without members that Mistral refuses."""
    body = chat.write(request, model, limit, write_media)
    body.pop("stream_options", None)
    body["messages"] = [_without_unknown(message) for message in body["messages"]]
    return body


def _without_unknown(message: dict[str, Any]) -> dict[str, Any]:
    """A message without what only other chat hosts have: the developer role, cache marks."""
    role, content = message["role"], message.get("content")
    plain = {**message, "role": "system"} if role == "developer" else dict(message)
    if isinstance(content, list) and any("cache_control" in as_dict(chunk) for chunk in content):
        plain["content"] = [_unmarked(chunk) for chunk in content]
    return plain


def _unmarked(chunk: Any) -> Any:
    if not isinstance(chunk, dict):
        return chunk
    return {name: value for name, value in chunk.items() if name != "cache_control"}


# ---- Files in Mistral's chat API: images, audio, and documents by a URL that may contain their data.


ACCEPTS: Accepts = {"image": ("data", "url"), "pdf": ("data", "url"), "audio": ("data", "url")}
TYPES: Types = {"image": PICTURES}
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
