"""A request -> the body of Cohere's chat API, version 2."""

from __future__ import annotations

from typing import Any

from innervoice.canon.messages import Message
from innervoice.canon.parts import Media, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from innervoice.canon.request import Request, Tool
from innervoice.wire.json_access import as_dict
from innervoice.wire.media import PICTURES, Accepts, Types, data_url, media_of_url
from innervoice.wire.write import (
    block_of,
    json_schema,
    message_members,
    nested_tool,
    wholes,
    with_members,
)

__all__ = [
    "ACCEPTS",
    "IN_RESULTS",
    "TYPES",
    "read_media",
    "write",
    "write_assistant",
    "write_media",
]

_CHOICES = {"required": "REQUIRED", "any": "REQUIRED", "none": "NONE"}


def write(request: Request, model: str, limit: str) -> dict[str, Any]:
    """The body. Newer models refuse `tool_plan`, so it is not sent back."""
    messages: list[dict[str, Any]] = []
    if request.system is not None:
        messages.append({"role": "system", "content": request.system})
    messages += [written for message in request.messages for written in _message(message)]
    body: dict[str, Any] = {"model": model, "messages": messages}
    options = {limit: request.max_tokens, "temperature": request.temperature, "p": request.top_p}
    body.update({name: value for name, value in options.items() if value is not None})
    if request.stop is not None:
        body["stop_sequences"] = list(request.stop)
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    choice = request.tool_choice
    if choice is not None and choice != "auto":
        body["tool_choice"] = (
            _CHOICES.get(choice, "REQUIRED") if isinstance(choice, str) else choice
        )
    if request.response_format is not None:
        schema = json_schema(request.response_format)
        is_own = as_dict(request.response_format).get("type") == "json_object"
        body["response_format"] = (
            {"type": "json_object", "schema": schema[1]}
            if schema and not is_own
            else request.response_format
        )
    if request.stream:
        body["stream"] = True
    return body


def _message(message: Message) -> list[dict[str, Any]]:
    rest = message_members(message)
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    written: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": part.call_id, "content": _result(part), **rest}
        for part in results
    ]
    others = [part for part in message.parts if not isinstance(part, ToolResult)]
    if message.role == "assistant":
        return [*written, {**write_assistant(message), **rest}]
    if others:
        role = "user" if message.role == "tool" else message.role
        plain = len(others) == 1 and isinstance(others[0], Text) and block_of(others[0]) is None
        text: Any = others[0].text if isinstance(others[0], Text) else ""
        written.append(
            {
                "role": role,
                "content": text if plain else [chunk for part in others if (chunk := _chunk(part))],
                **rest,
            }
        )
    return written


def write_assistant(message: Message) -> dict[str, Any]:
    """A turn of the model."""
    turn: dict[str, Any] = {"role": "assistant"}
    content = [chunk for part in wholes(message.parts) if (chunk := _chunk(part)) is not None]
    calls = [_call(part) for part in message.parts if isinstance(part, ToolCall)]
    if content:
        turn["content"] = content
    if calls:
        turn["tool_calls"] = calls
    return turn


def _result(part: ToolResult) -> Any:
    return (
        part.content if isinstance(part.content, str) else [_chunk(inner) for inner in part.content]
    )


def _chunk(part: Part) -> Any:
    block = block_of(part)
    match part:
        case Opaque(value={"content": block, **rest}) if not rest:
            return block  # content that the reader did not know, under the name of its place
        case Opaque():
            return part.value
        case Thinking() if isinstance(block, dict) and "tool_plan" not in block:
            return block
        case Text():
            return block or ({"type": "text", "text": part.text} if part.text else None)
        case Media():
            return block or with_members(write_media(part), part)
        case _:
            return None


def _call(part: ToolCall) -> dict[str, Any]:
    block = block_of(part)
    if isinstance(block, dict) and "function" in block:
        return {**block, "id": part.id}
    return {
        "id": part.id,
        "type": "function",
        "function": {"name": part.name, "arguments": part.arguments or "{}"},
    }


def _tool(tool: Tool) -> Any:
    if tool.own is not None:
        return tool.own
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", **nested_tool(tool, "function", function)}


# ---- Files in Cohere's chat API: images, by URL or data.


ACCEPTS: Accepts = {"image": ("data", "url")}
TYPES: Types = {"image": PICTURES}
IN_RESULTS = False


def write_media(part: Media) -> dict[str, Any]:
    """The chunk of an image."""
    return {"type": "image_url", "image_url": {"url": data_url(part)}}


def read_media(block: dict[str, Any]) -> Media | None:
    """The image in a chunk."""
    if block.get("type") != "image_url":
        return None
    return media_of_url(as_dict(block.get("image_url")).get("url"), block, "cohere")
