"""A request -> the body of OpenAI's Responses API.

Received items are sent back unchanged, in their order. Without `store` the server knows no ids, so they
are left out and the encrypted content is sufficient; a reasoning item without it has no content then.
"""

from __future__ import annotations

from typing import Any

from innervoice.canon.messages import Message
from innervoice.canon.parts import Media, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from innervoice.canon.request import Request, Tool
from innervoice.canon.rows import ModelRow
from innervoice.wire.json_access import as_dict, as_list
from innervoice.wire.media import PICTURES, Accepts, Types, data_url, kind_of, media_of_url
from innervoice.wire.write import block_of, schema_members, wholes, with_members

__all__ = ["ACCEPTS", "IN_RESULTS", "TYPES", "read_media", "without_seals", "write", "write_media"]

_ENCRYPTED = "reasoning.encrypted_content"


def write(request: Request, model: str, limit: str) -> dict[str, Any]:
    """The body."""
    items = [item for message in request.messages for item in _items(message, store=request.store)]
    body: dict[str, Any] = {"model": model, "input": items}
    if request.system is not None:
        body["instructions"] = request.system
    options = {
        limit: request.max_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
    }
    body.update({name: value for name, value in options.items() if value is not None})
    body["store"] = request.store
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if request.tool_choice is not None:
        body["tool_choice"] = _choice(request.tool_choice)
    if request.parallel_tool_calls is not None and request.tools:
        body["parallel_tool_calls"] = request.parallel_tool_calls
    if request.response_format is not None:
        form = request.response_format
        if "json_schema" in as_dict(form) and (members := schema_members(form)):
            form = {"type": "json_schema", **members}
        body["text"] = {"format": form}
    if request.stream:
        body["stream"] = True
    return body


def without_seals(members: dict[str, Any], row: ModelRow) -> dict[str, Any]:
    """Received members without the request for encrypted reasoning, which a model that never reasons refuses."""
    wanted = as_list(members.get("include"))
    if not row.control == row.default == "none" or _ENCRYPTED not in wanted:
        return members
    includes = [item for item in wanted if item != _ENCRYPTED]
    others = {name: item for name, item in members.items() if name != "include"}
    return {**others, "include": includes} if includes else others


def _items(message: Message, *, store: bool) -> list[dict[str, Any]]:
    if message.role != "assistant":
        return _input(message)
    items: list[dict[str, Any]] = []
    names: set[str] = set()
    for part in wholes(message.parts):
        name = part.origin.item if part.origin else None
        block = part.value if isinstance(part, Opaque) else block_of(part)
        if isinstance(block, dict) and "type" in block:
            items.append(_returned(block, store=store))
            if name:
                names.add(name)
        elif name not in names or name is None:
            items += _made(part)
    return items


def _returned(block: dict[str, Any], *, store: bool) -> dict[str, Any]:
    item = {key: value for key, value in block.items() if value is not None}
    if not store:
        item.pop("id", None)
    if item.get("type") == "reasoning":
        item.pop("status", None)
        item.setdefault("summary", [])
    return item


def _made(part: Part) -> list[dict[str, Any]]:
    match part:
        case Text() if part.text:
            return [
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": part.text}],
                }
            ]
        case ToolCall():
            return [
                {
                    "type": "function_call",
                    "call_id": part.id,
                    "name": part.name,
                    "arguments": part.arguments or "{}",
                }
            ]
        case _:
            return []


def _input(message: Message) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    content: list[Any] = []
    rest = message.origin.block if message.origin and isinstance(message.origin.block, dict) else {}
    if message.effort is not None and not message.parts:
        return [rest] if rest else []  # an item of its own
    for part in message.parts:
        match part:
            case Text(origin=None):
                content.append({"type": "input_text", "text": part.text})
            case Text():
                plain = {"type": "input_text", "text": part.text}
                content.append(block_of(part) or with_members(plain, part))
            case ToolResult() if isinstance(block_of(part), dict):
                items.append(block_of(part))
            case ToolResult():
                kind = rest.get("type", "function_call_output")
                items.append({"type": kind, "call_id": part.call_id, "output": _output(part)})
            case Opaque() if part.origin and part.origin.item == "input":
                items.append(part.value)
            case Media():
                content.append(block_of(part) or with_members(write_media(part), part))
            case Opaque():
                content.append(part.value)
            case Thinking() | ToolCall():
                pass
    if content:
        role = "user" if message.role == "tool" else message.role
        items.append({"role": role, "content": content, **rest})
    return items


def _output(part: ToolResult) -> Any:
    if isinstance(part.content, str):
        return part.content
    return [_input(Message("user", (inner,)))[0]["content"][0] for inner in part.content]


def _tool(tool: Tool) -> Any:
    if tool.own is not None:
        return tool.own
    members = {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return {key: value for key, value in {**members, **tool.members}.items() if value is not None}


def _choice(choice: Any) -> Any:
    if not isinstance(choice, str) or choice in ("auto", "none", "required"):
        return choice
    return "required" if choice == "any" else {"type": "function", "name": choice}


# ---- Files in OpenAI's Responses API: images and files, by data or URL.


ACCEPTS: Accepts = {
    "image": ("data", "url"),
    "pdf": ("data", "url"),
    "text": ("data", "url"),
    "document": ("data", "url"),
}
TYPES: Types = {"image": PICTURES}
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
