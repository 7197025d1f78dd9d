"""A request -> the body of Mistral's chat API."""

from __future__ import annotations

from typing import Any

from innervoice.canon.request import Request
from innervoice.wire.chat import write as chat
from innervoice.wire.json_access import as_dict
from innervoice.wire.mistral.media import write_media

__all__ = ["write"]


def write(request: Request, model: str, limit: str) -> dict[str, Any]:
    """The body: as for chat hosts, without members that Mistral refuses."""
    body = chat.write(request, model, limit, write_media)
    body.pop("stream_options", None)
    body["messages"] = [_known(message) for message in body["messages"]]
    return body


def _known(message: dict[str, Any]) -> dict[str, Any]:
    """A message without members of other chat hosts: the developer role, names of users, cache marks."""
    role, content = message["role"], message.get("content")
    made = {**message, "role": "system"} if role == "developer" else dict(message)
    if role != "tool":
        made.pop("name", None)
    if isinstance(content, list) and any("cache_control" in as_dict(chunk) for chunk in content):
        made["content"] = [_unmarked(chunk) for chunk in content]
    return made


def _unmarked(chunk: Any) -> Any:
    if not isinstance(chunk, dict):
        return chunk
    return {name: value for name, value in chunk.items() if name != "cache_control"}
