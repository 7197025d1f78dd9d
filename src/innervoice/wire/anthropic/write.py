"""A request -> the body of Anthropic's Messages API."""

from __future__ import annotations

from typing import Any

from innervoice.canon.parts import Media, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from innervoice.canon.request import Request, Tool
from innervoice.wire.anthropic import DIALECT
from innervoice.wire.anthropic.media import write_media
from innervoice.wire.write import (
    block_of,
    function_members,
    input_of,
    json_schema,
    split_system,
    turns_of,
)

__all__ = ["write", "write_part"]

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
    if request.tool_choice is not None:
        body["tool_choice"] = _choice(request.tool_choice)
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


def write_part(part: Part) -> Any:
    """The block of a part, or None for what is not sent."""
    block = block_of(part)
    match part:
        case Opaque():
            return part.value
        case _ if isinstance(block, dict):
            return block
        case Text():
            return {"type": "text", "text": part.text} if part.text else None
        case ToolCall():
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": input_of(part)}
        case ToolResult():
            return _result(part)
        case Media():
            return write_media(part)
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
    made = {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.parameters or {"type": "object"},
    }
    return {
        key: value
        for key, value in {**made, **function_members(tool, DIALECT)}.items()
        if value is not None
    }


def _choice(choice: Any) -> Any:
    if not isinstance(choice, str):
        return choice
    return {"type": _CHOICES[choice]} if choice in _CHOICES else {"type": "tool", "name": choice}
