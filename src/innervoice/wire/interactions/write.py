"""A request -> the body of Gemini's Interactions API.

Steps that came go back as they came, in their order.
"""

from __future__ import annotations

from typing import Any

from innervoice.canon.messages import Message
from innervoice.canon.parts import Media, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from innervoice.canon.request import Request, Tool
from innervoice.wire.gemini.write import ACCEPTS, TYPES
from innervoice.wire.media import kind_of, media_of
from innervoice.wire.write import (
    block_of,
    call_names,
    input_of,
    json_schema,
    message_members,
    split_system,
    wholes,
)

__all__ = [
    "ACCEPTS",
    "IN_RESULTS",
    "KINDS",
    "TYPES",
    "read_media",
    "write",
    "write_content",
    "write_media",
]

_CHOICES = {"auto": "auto", "none": "none", "required": "any", "any": "any"}


def write(request: Request, model: str, limit: str) -> dict[str, Any]:
    """The body."""
    system, messages = split_system(request, write_content)
    names = call_names(messages)
    steps = [step for message in messages for step in _steps(message, names)]
    body: dict[str, Any] = {"model": model, "input": steps}
    if system is not None:
        # There is no place for blocks.
        texts = [block["text"] for block in system if isinstance(block, dict) and "text" in block]
        body["system_instruction"] = system if isinstance(system, str) else "\n\n".join(texts)
    config = {
        limit: request.max_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "stop_sequences": None if request.stop is None else list(request.stop),
        "tool_choice": None if request.tool_choice is None else _choice(request.tool_choice),
    }
    config = {name: value for name, value in config.items() if value is not None}
    if config:
        body["generation_config"] = config
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if request.response_format is not None:
        schema = json_schema(request.response_format)
        form: dict[str, Any] = {"type": "text", "mime_type": "application/json"}
        body["response_format"] = {**form, "schema": schema[1]} if schema else form
    body["store"] = request.store
    if request.stream:
        body["stream"] = True
    return body


def _steps(message: Message, names: dict[str, str]) -> list[dict[str, Any]]:
    """The steps of a message. Contents that came in one step, or from one user, are one step again."""
    is_model = message.role == "assistant"
    kind = "model_output" if is_model else "user_input"
    rest = message_members(message)
    steps: list[dict[str, Any]] = []
    item: str | None = None
    for part in wholes(message.parts):
        step = _step(part, names, is_model=is_model)
        if step is not None:
            steps.append(step)
            item = None
            continue
        content = write_content(part)
        if content is None:
            continue
        came_in = (part.origin.item if part.origin else None) or "" if is_model else "user"
        if item is None or item != came_in:
            steps.append({"type": kind, "content": [], **rest})
            item = came_in
        steps[-1]["content"].append(content)
    return steps


def _step(part: Part, names: dict[str, str], *, is_model: bool) -> dict[str, Any] | None:
    """The step that a part is on its own; None for a content."""
    block = block_of(part)
    match part:
        case Thinking():
            return block if isinstance(block, dict) else _summary(part)
        case ToolCall() if isinstance(block, dict):
            # A stream starts a call with an empty signature, which says nothing.
            return {key: value for key, value in block.items() if key != "signature" or value}
        case ToolCall():
            head = {"type": "function_call", "id": part.id, "name": part.name}
            return {**head, "arguments": input_of(part)}
        case ToolResult():
            return block if isinstance(block, dict) else _result(part, names)
        case Opaque() if is_model and not (part.origin and part.origin.item):
            return part.value if isinstance(part.value, dict) else None
        case _:
            return None


def _summary(part: Thinking) -> dict[str, Any]:
    entries = [{"type": "text", "text": part.text}] if part.text else []
    return {"type": "thought", "summary": entries}


def _result(part: ToolResult, names: dict[str, str]) -> dict[str, Any]:
    content: Any = part.content
    if not isinstance(content, str):
        content = [block for inner in content if (block := write_content(inner)) is not None]
    name = {"name": names[part.call_id]} if part.call_id in names else {}
    step = {"type": "function_result", **name, "call_id": part.call_id, "result": content}
    return {**step, "is_error": True} if part.error else step


def write_content(part: Part) -> dict[str, Any] | None:
    """The content that a part is; None if it is none."""
    block = block_of(part)
    match part:
        case Opaque():
            return part.value if isinstance(part.value, dict) else None
        case Text() | Media() if isinstance(block, dict):
            return block
        case Text():
            return {"type": "text", "text": part.text}
        case Media():
            return write_media(part)
        case _:
            return None


def _tool(tool: Tool) -> Any:
    if tool.own is not None:
        return tool.own
    block = {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        **tool.members,
    }
    return {key: value for key, value in block.items() if value is not None}


def _choice(choice: Any) -> Any:
    if not isinstance(choice, str):
        return choice
    if choice in _CHOICES:
        return _CHOICES[choice]
    return {"allowed_tools": {"mode": "any", "tools": [choice]}}


# ---- Files in the Interactions API: contents of four kinds, by data or by a URI.


IN_RESULTS = True
KINDS = ("image", "audio", "video", "document")
"""The types of contents that are files."""


def write_media(part: Media) -> dict[str, Any]:
    """The content of a file."""
    kind = kind_of(part)
    block: dict[str, Any] = {"type": kind if kind in KINDS else "document"}
    if part.mime:
        block["mime_type"] = part.mime
    return {**block, "uri": part.url} if part.url else {**block, "data": part.data or ""}


def read_media(block: dict[str, Any]) -> Media | None:
    """The file in a content."""
    if block.get("type") not in KINDS:
        return None
    mime, data, uri = (block.get(name) for name in ("mime_type", "data", "uri"))
    return media_of(mime, data, uri, block, "gemini-interactions", name=block.get("name"))
