"""A request -> the body of Gemini's generateContent."""

from __future__ import annotations

from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message
from innervoice.canon.parts import Media, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from innervoice.canon.request import Request, Tool
from innervoice.wire.json_access import as_dict, parsed
from innervoice.wire.media import Accepts, Types, media_of
from innervoice.wire.write import (
    block_of,
    call_names,
    input_of,
    json_schema,
    result_text,
    split_system,
    turns_of,
)

__all__ = [
    "ACCEPTS",
    "IN_RESULTS",
    "TYPES",
    "WRAPPERS",
    "read_media",
    "write",
    "write_media",
    "write_part",
]

WRAPPERS = {"result", "output", "content", "error"}
"""The names under which programs put the only value of a result."""
_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY", "any": "ANY"}


def write(request: Request, model: str, limit: str) -> dict[str, Any]:
    """The body; the model is in the path."""
    system, messages = split_system(request, lambda part: write_part(part, {}, set()))
    body: dict[str, Any] = {"contents": _contents(messages)}
    if system is not None:
        parts = system if isinstance(system, list) else [{"text": system}]
        body["systemInstruction"] = {"parts": parts}
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
    """The part in the wire format; results need the names of all calls, and the ids that were invented."""
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
    """A result; an object is sent as it is, unless it would be read as a wrapper around its only value."""
    text = result_text(part)
    value = parsed(text)
    if not isinstance(value, (dict, list)) and dump_json(value).decode() != text:
        value = text  # a number or a string that would be read back differently
    if part.error:
        response = {"error": value}
    elif isinstance(value, dict) and not (len(value) == 1 and value.keys() <= WRAPPERS):
        response = value
    else:
        response = {"result": value}
    return {"name": names.get(part.call_id, part.call_id), "response": response}


def _tools(tools: tuple[Tool, ...]) -> list[Any]:
    """The tools in their order; all functions are in one entry, where the first of them is."""
    made: list[Any] = []
    declared: list[dict[str, Any]] = []
    for tool in tools:
        if tool.own is not None:
            made.append(tool.own)
            continue
        if not declared:
            made.append({"functionDeclarations": declared})
        declared.append(_declaration(tool))
    return made


def _declaration(tool: Tool) -> dict[str, Any]:
    declaration = {
        "name": tool.name,
        "description": tool.description,
        "parametersJsonSchema": tool.parameters,
        **tool.members,
    }
    return {key: value for key, value in declaration.items() if value is not None}


def _choice(choice: Any) -> Any:
    if not isinstance(choice, str):
        return choice
    config = (
        {"mode": _MODES[choice]}
        if choice in _MODES
        else {"mode": "ANY", "allowedFunctionNames": [choice]}
    )
    return {"functionCallingConfig": config}


# ---- Files in Gemini's API: any type, by data or by the URI of a file.


ACCEPTS: Accepts = {
    "image": ("data", "url", "gs"),
    "audio": ("data", "url", "gs"),
    "video": ("data", "url", "gs"),
    "pdf": ("data", "url", "gs"),
    "text": ("data", "url", "gs"),
    "document": ("data", "url", "gs"),
}
TYPES: Types = {"image": ("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif")}
IN_RESULTS = False


def write_media(part: Media) -> dict[str, Any]:
    """The part of a file."""
    if part.url:
        return {"fileData": {"mimeType": part.mime, "fileUri": part.url}}
    return {"inlineData": {"mimeType": part.mime, "data": part.data}}


def read_media(block: dict[str, Any]) -> Media | None:
    """The file in a part; SDKs also write the names with underscores."""
    inline = as_dict(block.get("inlineData", block.get("inline_data")))
    at = as_dict(block.get("fileData", block.get("file_data")))
    file = inline or at
    mime = file.get("mimeType", file.get("mime_type"))
    url = at.get("fileUri", at.get("file_uri"))
    name = file.get("displayName", file.get("display_name"))
    return media_of(mime, inline.get("data"), url, block, "gemini", name=name)
