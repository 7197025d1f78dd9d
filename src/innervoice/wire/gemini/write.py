"""A request -> the body of Gemini's generateContent."""

from __future__ import annotations

from typing import Any

from innervoice.canon.messages import Message
from innervoice.canon.parts import Media, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from innervoice.canon.request import Request, Tool
from innervoice.wire.gemini import DIALECT
from innervoice.wire.gemini.media import write_media
from innervoice.wire.json_access import parsed
from innervoice.wire.write import (
    block_of,
    call_names,
    function_members,
    input_of,
    json_schema,
    result_text,
    split_system,
    turns_of,
)

__all__ = ["write", "write_part"]

_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY", "any": "ANY"}


def write(request: Request, model: str, limit: str) -> dict[str, Any]:
    """The body; the model is in the path."""
    system, messages = split_system(request)
    body: dict[str, Any] = {"contents": _contents(messages)}
    if system is not None:
        body["systemInstruction"] = {"parts": [{"text": system}]}
    config = {limit: request.max_tokens, "temperature": request.temperature, "topP": request.top_p}
    if request.stop is not None:
        config["stopSequences"] = list(request.stop)  # type: ignore[assignment]
    if request.response_format is not None:
        schema = json_schema(request.response_format)
        config["responseMimeType"] = "application/json"  # type: ignore[assignment]
        config["responseJsonSchema"] = schema[1] if schema else None
    config = {name: value for name, value in config.items() if value is not None}
    if config:
        body["generationConfig"] = config
    if request.tools:
        body["tools"] = _tools(request.tools)
    if request.tool_choice is not None:
        body["toolConfig"] = _choice(request.tool_choice)
    return body


def _contents(messages: list[Message]) -> list[dict[str, Any]]:
    names = call_names(messages)
    invented = {call.id for message in messages for call in message.tool_calls if _invented(call)}
    return turns_of(
        messages, lambda part: write_part(part, names, invented), model="model", member="parts"
    )


def write_part(part: Part, names: dict[str, str], invented: set[str]) -> Any:
    """The wire's part; results need the names of all calls, and whose ids were invented."""
    block = block_of(part)
    match part:
        case Opaque():
            return part.value
        case _ if isinstance(block, dict):
            return block
        case Text():
            return {"text": part.text}
        case Thinking():
            return {"text": part.text, "thought": True}
        case ToolCall():
            call = {"name": part.name, "args": input_of(part)}
            return {"functionCall": call if _invented(part) else {"id": part.id, **call}}
        case ToolResult():
            response = _response(part, names)
            return {
                "functionResponse": response
                if part.call_id in invented
                else {"id": part.call_id, **response}
            }
        case Media():
            return write_media(part)
        case _:
            return None


def _invented(part: ToolCall) -> bool:
    return part.origin is not None and "id" in part.origin.invented


def _response(part: ToolResult, names: dict[str, str]) -> dict[str, Any]:
    text = result_text(part)
    value = parsed(text)
    response = value if isinstance(value, dict) else {"error" if part.error else "result": value}
    return {"name": names.get(part.call_id, part.call_id), "response": response}


def _tools(tools: tuple[Tool, ...]) -> list[Any]:
    declared = [_declaration(tool) for tool in tools if tool.own is None]
    made: list[Any] = [{"functionDeclarations": declared}] if declared else []
    return made + [tool.own for tool in tools if tool.own is not None]


def _declaration(tool: Tool) -> dict[str, Any]:
    made = {
        "name": tool.name,
        "description": tool.description,
        "parametersJsonSchema": tool.parameters,
        **function_members(tool, DIALECT),
    }
    return {key: value for key, value in made.items() if value is not None}


def _choice(choice: Any) -> Any:
    if not isinstance(choice, str):
        return choice
    config = (
        {"mode": _MODES[choice]}
        if choice in _MODES
        else {"mode": "ANY", "allowedFunctionNames": [choice]}
    )
    return {"functionCallingConfig": config}
