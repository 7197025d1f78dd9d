"""A request -> the body of Ollama's /api/chat."""

from __future__ import annotations

from typing import Any

from innervoice.canon.messages import Message
from innervoice.canon.parts import Media, Opaque, Text, Thinking, ToolCall, ToolResult, is_inline
from innervoice.canon.request import Request, Tool
from innervoice.errors import UsageError
from innervoice.wire.media import Accepts, Types
from innervoice.wire.write import (
    block_of,
    input_of,
    json_schema,
    message_members,
    nested_tool,
    result_text,
    wholes,
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


def write(request: Request, model: str, limit: str) -> dict[str, Any]:
    """The body; `stream` is always sent, because the API streams by default."""
    messages: list[dict[str, Any]] = []
    if request.system is not None:
        messages.append({"role": "system", "content": request.system})
    messages += [written for message in request.messages for written in _message(message)]
    body: dict[str, Any] = {"model": model, "messages": messages, "stream": request.stream}
    options: dict[str, Any] = {
        limit: request.max_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
    }
    if request.stop is not None:
        options["stop"] = list(request.stop)
    options = {name: value for name, value in options.items() if value is not None}
    if options:
        body["options"] = options
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if request.response_format is not None:
        schema = json_schema(request.response_format)
        body["format"] = schema[1] if schema else "json"
    return body


def write_assistant(message: Message) -> dict[str, Any]:
    """A turn of the model."""
    return _message(message)[-1]


def _message(message: Message) -> list[dict[str, Any]]:
    written: list[dict[str, Any]] = []
    members = message_members(message)
    rest = {name: value for name, value in members.items() if name not in _NAMES}
    turn: dict[str, Any] = {
        "role": "user" if message.role == "tool" else message.role,
        "content": "",
    }
    for part in wholes(message.parts):
        match part:
            case ToolResult():
                names = _names(message, part)
                written.append({"role": "tool", **names, **_result(part), **rest})
            case Text():
                turn["content"] += part.text
            case Thinking() if block_of(part) is not None and not is_inline(part):
                # The field is one text; two parts are separated as in the views.
                thinking = turn.get("thinking")
                turn["thinking"] = f"{thinking}\n\n{part.text}" if thinking else part.text
            case ToolCall():
                call = {"function": {"name": part.name, "arguments": input_of(part)}}
                turn.setdefault("tool_calls", []).append(block_of(part) or {"id": part.id, **call})
            case Media() if part.data:
                turn.setdefault("images", []).append(part.data)
            case Media() | Opaque() if message.role != "assistant":
                raise UsageError("Ollama accepts only text and images as data in a user message")
            case _:
                pass
    if turn["content"] or len(turn) > 2 or not written:
        written.append({**turn, **rest})
    return written


def _result(part: ToolResult) -> dict[str, Any]:
    """The content of a result, and its images next to it."""
    if isinstance(part.content, str):
        return {"content": part.content}
    images = [item.data for item in part.content if isinstance(item, Media) and item.data]
    texts = tuple(item for item in part.content if not isinstance(item, Media))
    content = {"content": result_text(part.replace(content=texts))}
    return {**content, "images": images} if images else content


_NAMES = ("tool_name", "tool_call_id")
"""Members that name the call of a result."""


def _names(message: Message, result: ToolResult) -> dict[str, Any]:
    """The member that names the call of a result: its id, or the function if the result came so."""
    received = (
        message.origin.block if message.origin and isinstance(message.origin.block, dict) else {}
    )
    names = {"tool_name": received["tool_name"]} if "tool_name" in received else {}
    return (
        names
        if names and "tool_call_id" not in received
        else {**names, "tool_call_id": result.call_id}
    )


def _tool(tool: Tool) -> Any:
    if tool.own is not None:
        return tool.own
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", **nested_tool(tool, "function", function)}


# ---- Files in Ollama's chat API: images, as data, in a list next to the text.


ACCEPTS: Accepts = {"image": ("data",)}
TYPES: Types = {}
IN_RESULTS = True


def write_media(part: Media) -> Any:
    """The entry of the list `images`."""
    return part.data


def read_media(block: Any) -> Media | None:
    """The image of an entry of the list `images`."""
    return Media("image/png", block) if isinstance(block, str) and block else None
