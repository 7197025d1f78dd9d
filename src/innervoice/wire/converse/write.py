"""A request -> the body of Bedrock's Converse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from innervoice.canon.messages import Message
from innervoice.canon.parts import Media, Opaque, Part, Text, ToolCall, ToolResult
from innervoice.canon.request import Request, Tool
from innervoice.wire.json_access import as_dict, as_text
from innervoice.wire.media import PICTURES, Accepts, Types, kind_of, media_of, type_of
from innervoice.wire.write import (
    block_of,
    input_of,
    merged,
    nested_tool,
    split_system,
    turns_of,
)

__all__ = ["ACCEPTS", "IN_RESULTS", "TYPES", "read_media", "write", "write_media", "write_part"]


def write(request: Request, model: str, limit: str) -> dict[str, Any]:
    """The body; the model is in the path."""
    marked = request.replace(messages=tuple(map(_with_points, request.messages)))
    system, messages = split_system(marked, write_part)
    body: dict[str, Any] = {"messages": turns_of(messages, write_part)}
    if system is not None:
        body["system"] = system if isinstance(system, list) else [{"text": system}]
    config: dict[str, Any] = {
        limit: request.max_tokens,
        "temperature": request.temperature,
        "topP": request.top_p,
    }
    if request.stop is not None:
        config["stopSequences"] = list(request.stop)
    config = {name: value for name, value in config.items() if value is not None}
    if config:
        body["inferenceConfig"] = config
    if request.tools:
        body["toolConfig"] = {"tools": list(_tools(request.tools))}
        if request.tool_choice is not None and request.tool_choice != "none":
            body["toolConfig"]["toolChoice"] = _choice(request.tool_choice)
    return body


def _with_points(message: Message) -> Message:
    """A message with a block after every part that has a cache mark."""
    if not any(part.origin and part.origin.cache_mark for part in message.parts):
        return message
    parts: list[Part] = []
    for part in message.parts:
        parts.append(part)
        if part.origin and part.origin.cache_mark:
            parts.append(Opaque(_point(part.origin.cache_mark)))
    return message.replace(parts=tuple(parts))


def _point(mark: Any) -> dict[str, Any]:
    lasting = as_dict(mark).get("ttl")
    return {"cachePoint": {"type": "default", **({"ttl": lasting} if lasting else {})}}


def write_part(part: Part) -> Any:
    """The block of a part, or None for a part that is not sent."""
    block = block_of(part)
    match part:
        case Opaque():
            return part.value
        case _ if isinstance(block, dict):
            return block
        case Text():
            return {"text": part.text} if part.text else None
        case ToolCall():
            return {"toolUse": {"toolUseId": part.id, "name": part.name, "input": input_of(part)}}
        case ToolResult():
            return {"toolResult": _result(part)}
        case Media():
            return merged(write_media(part), part.origin.members if part.origin else None)
        case _:
            return None


def _result(part: ToolResult) -> dict[str, Any]:
    content = (
        [{"text": part.content}]
        if isinstance(part.content, str)
        else [write_part(inner) for inner in part.content]
    )
    result = {"toolUseId": part.call_id, "content": content}
    return {**result, "status": "error"} if part.error else result


def _tools(tools: tuple[Tool, ...]) -> Iterator[Any]:
    for tool in tools:
        yield _tool(tool)
        if mark := tool.members.get("cache_control"):
            yield _point(mark)


def _tool(tool: Tool) -> Any:
    if tool.own is not None:
        return tool.own
    block = {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": {"json": tool.parameters or {"type": "object"}},
    }
    members = {name: value for name, value in tool.members.items() if name != "cache_control"}
    return nested_tool(tool.replace(members=members), "toolSpec", block)


def _choice(choice: Any) -> Any:
    if not isinstance(choice, str):
        return choice
    return {"auto": {"auto": {}}, "required": {"any": {}}, "any": {"any": {}}}.get(
        choice, {"tool": {"name": choice}}
    )


# ---- Files in Bedrock's Converse: images, documents and videos, as data or by their S3 location.


ACCEPTS: Accepts = {
    "image": ("data", "s3"),
    "pdf": ("data", "s3"),
    "text": ("data", "s3"),
    "document": ("data", "s3"),
    "video": ("data", "s3"),
}
IN_RESULTS = True
# The API's word for a format -> the type; for all others the suffix of the type is the word.
_WORDS = {
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
    "mkv": "video/x-matroska",
    "flv": "video/x-flv",
    "wmv": "video/x-ms-wmv",
}
_FORMATS = {mime: word for word, mime in _WORDS.items()}
TYPES: Types = {
    "image": PICTURES,
    "text": tuple(_WORDS[word] for word in ("txt", "md", "csv", "html")),
    "document": tuple(_WORDS[word] for word in ("doc", "docx", "xls", "xlsx")),
    "video": (
        *(_WORDS[word] for word in ("mkv", "mov", "flv", "wmv", "three_gp")),
        "video/mp4",
        "video/webm",
        "video/mpeg",
    ),
}
# Names of documents may have letters, digits, spaces, hyphens and brackets.
_UNNAMED = re.compile(r"[^A-Za-z0-9 \-()\[\]]+")


def write_media(part: Media) -> dict[str, Any]:
    """The block of a file."""
    mime = type_of(part) or "image/png"
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
        file = block.get(kind)
        if not isinstance(file, dict):
            continue
        form = as_text(file.get("format")) or ""
        usual = f"{'application' if kind == 'document' else kind}/{form}"
        source = as_dict(file.get("source"))
        url = as_dict(source.get("s3Location")).get("uri")
        mime, name = _WORDS.get(form, usual), file.get("name")
        return media_of(mime, source.get("bytes"), url, block, "bedrock-converse", name=name)
    return None
