"""A request -> the body of Bedrock's Converse."""

from __future__ import annotations

from typing import Any

from innervoice.canon.parts import Media, Opaque, Part, Text, ToolCall, ToolResult
from innervoice.canon.request import Request, Tool
from innervoice.wire.converse.media import write_media
from innervoice.wire.write import block_of, input_of, split_system, turns_of

__all__ = ["write", "write_part"]


def write(request: Request, model: str, limit: str) -> dict[str, Any]:
    """The body; the model is in the path."""
    system, messages = split_system(request, write_part)
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
        body["toolConfig"] = {"tools": [_tool(tool) for tool in request.tools]}
        if request.tool_choice is not None and request.tool_choice != "none":
            body["toolConfig"]["toolChoice"] = _choice(request.tool_choice)
    return body


def write_part(part: Part) -> Any:
    """The block of a part, or None for what is not sent."""
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
            return write_media(part)
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


def _tool(tool: Tool) -> Any:
    if tool.own is not None:
        return tool.own
    made = {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": {"json": tool.parameters or {"type": "object"}},
    }
    return {"toolSpec": {key: value for key, value in made.items() if value is not None}}


def _choice(choice: Any) -> Any:
    if not isinstance(choice, str):
        return choice
    return {"auto": {"auto": {}}, "required": {"any": {}}, "any": {"any": {}}}.get(
        choice, {"tool": {"name": choice}}
    )
