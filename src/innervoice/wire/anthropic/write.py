"""A request -> the body of Anthropic's Messages API."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

from innervoice.canon.parts import Media, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from innervoice.canon.request import Request, Tool
from innervoice.canon.rows import ModelRow
from innervoice.wire.json_access import as_dict, as_list
from innervoice.wire.media import PICTURES, Accepts, Types, kind_of, media_of
from innervoice.wire.write import (
    block_of,
    input_of,
    json_schema,
    split_system,
    turns_of,
    with_members,
)

__all__ = [
    "ACCEPTS",
    "IN_RESULTS",
    "TYPES",
    "read_media",
    "without_thinking_edits",
    "write",
    "write_media",
    "write_part",
]

_CHOICES = {"auto": "auto", "none": "none", "required": "any", "any": "any"}


def write(request: Request, model: str, limit: str) -> dict[str, Any]:
    """The body; content is always a list of blocks."""
    system, messages = split_system(request, write_part)
    body: dict[str, Any] = {
        "model": model,
        limit: request.max_tokens,
        "messages": turns_of(messages, write_part),
    }
    if system is not None:
        body["system"] = system
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if choice := _choice(request):
        body["tool_choice"] = choice
    if request.stop is not None:
        body["stop_sequences"] = list(request.stop)
    for name in ("temperature", "top_p"):
        if getattr(request, name) is not None:
            body[name] = getattr(request, name)
    if request.response_format is not None:
        schema = json_schema(request.response_format)
        form = {"type": "json_schema", "schema": schema[1]} if schema else request.response_format
        body["output_config"] = {"format": form}
    if request.stream:
        body["stream"] = True
    return {key: value for key, value in body.items() if value is not None}


def without_thinking_edits(members: dict[str, Any], row: ModelRow) -> dict[str, Any]:
    """Received members without context edits of thinking, which are refused unless the model thinks."""
    management = as_dict(members.get("context_management"))
    edits = as_list(management.get("edits"))
    kept = [edit for edit in edits if not _clears_thinking(edit)]
    if len(kept) == len(edits):
        return members
    others = {name: item for name, item in members.items() if name != "context_management"}
    return {**others, "context_management": {**management, "edits": kept}} if kept else others


def _clears_thinking(edit: Any) -> bool:
    return str(as_dict(edit).get("type")).startswith("clear_thinking")


def write_part(part: Part) -> Any:
    """The block of a part, or None for a part that is not sent."""
    block = block_of(part)
    match part:
        case Opaque():
            return part.value
        case _ if isinstance(block, dict):
            return block
        case Text():
            return with_members({"type": "text", "text": part.text}, part) if part.text else None
        case ToolCall():
            call = {"type": "tool_use", "id": part.id, "name": part.name, "input": input_of(part)}
            return with_members(call, part)
        case ToolResult():
            return with_members(_result(part), part)
        case Media():
            return with_members(write_media(part), part)
        case Thinking():
            return None


def _result(part: ToolResult) -> dict[str, Any]:
    content = (
        part.content
        if isinstance(part.content, str)
        else [write_part(inner) for inner in part.content]
    )
    result = {"type": "tool_result", "tool_use_id": part.call_id, "content": content}
    return {**result, "is_error": True} if part.error else result


def _tool(tool: Tool) -> Any:
    if tool.own is not None:
        return tool.own
    tool_block = {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.parameters or {"type": "object"},
    }
    return {
        key: value for key, value in {**tool_block, **tool.members}.items() if value is not None
    }


def _choice(request: Request) -> Any:
    choice = request.tool_choice
    if choice is None and request.tools and request.parallel_tool_calls is False:
        choice = "auto"  # the member that forbids parallel calls needs a choice
    if not isinstance(choice, str):
        return choice
    choice_block: dict[str, Any] = {"type": "tool", "name": choice}
    if choice in _CHOICES:
        choice_block = {"type": _CHOICES[choice]}
    if request.parallel_tool_calls is None or choice == "none":
        return choice_block
    return {**choice_block, "disable_parallel_tool_use": not request.parallel_tool_calls}


# ---- Files in Anthropic's Messages API: images and documents, by data, by URL, or as plain text.


ACCEPTS: Accepts = {"image": ("data", "url"), "pdf": ("data", "url"), "text": ("data",)}
TYPES: Types = {"image": PICTURES}
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
