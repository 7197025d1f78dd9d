"""The body of a generateContent request -> a request, and an answer -> what the API sends."""

from __future__ import annotations

from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Media, Opaque, Part, Text, ToolCall, ToolResult
from innervoice.canon.request import Request
from innervoice.wire.gemini.media import read_media
from innervoice.wire.gemini.read import GeminiReader
from innervoice.wire.gemini.serve_response import (
    write_answer,
    write_error,
    write_stream,
    write_stream_error,
)
from innervoice.wire.json_access import as_dict, as_list, as_text
from innervoice.wire.protocol import Context
from innervoice.wire.serve_request import UserContent, assistant_turn, request_of

__all__ = ["read_request", "write_answer", "write_error", "write_stream", "write_stream_error"]


_CONTENT = UserContent("gemini", read_media)
_WRAPPERS = {"result", "output", "content", "error"}


def read_request(body: dict[str, Any]) -> Request:
    """Reads a body; the model's name is in the path, not here."""
    messages: list[Message] = []
    for content in as_list(body.get("contents")):
        messages.append(_content(as_dict(content), _open_calls(messages)))
    config = dict(as_dict(body.get("generationConfig")))
    known: dict[str, Any] = {
        "max_tokens": config.pop("maxOutputTokens", None),
        "temperature": config.pop("temperature", None),
        "top_p": config.pop("topP", None),
        "stop": config.pop("stopSequences", None),
    }
    if config.get("responseMimeType") == "application/json":
        del config["responseMimeType"]
        schema = config.pop("responseJsonSchema", None)
        named = {"name": "answer", "schema": schema}
        form = {"type": "json_schema", "json_schema": named} if schema else {"type": "json_object"}
        known["response_format"] = form
    read = {"contents", "generationConfig", "model"}
    system = as_dict(body.get("systemInstruction"))
    texts = [as_dict(part).get("text") for part in as_list(system.get("parts"))]
    if len(texts) == 1 and isinstance(texts[0], str) and system.keys() == {"parts"}:
        known["system"] = texts[0]
        read.add("systemInstruction")
    rest = {**body, "generationConfig": config} if config else body
    if config:
        read.discard("generationConfig")
    return request_of(rest, "gemini", messages, known, read)


def _open_calls(messages: list[Message]) -> list[ToolCall]:
    """The calls of the last turn of the model, for results that name their function only."""
    turns = [message for message in messages if message.role == "assistant"]
    return list(turns[-1].tool_calls) if turns else []


def _content(content: dict[str, Any], calls: list[ToolCall]) -> Message:
    if content.get("role") == "model":
        answer = {"candidates": [{"content": content, "finishReason": "STOP"}]}
        return assistant_turn(GeminiReader(Context()), answer)
    parts: list[Part] = []
    for part in as_list(content.get("parts")):
        response = as_dict(as_dict(part).get("functionResponse"))
        if response:
            name = as_text(response.get("name"))
            call = next((call for call in calls if call.name == name), None)
            if call:
                calls.remove(call)
            call_id = as_text(response.get("id")) or (call.id if call else name) or "unknown"
            parts.append(_result(call_id, response, part))
        else:
            parts.append(_CONTENT.part(part))
    return Message("user", tuple(parts))


def _result(call_id: str, response: dict[str, Any], part: Any) -> ToolResult:
    """A result: what programs put under one of the usual names is its content, any other object is so as a whole.

    Files in a result stand beside it, in parts of its own.
    """
    value = response.get("response")
    failed = isinstance(value, dict) and set(value) == {"error"}
    if isinstance(value, dict) and len(value) == 1 and value.keys() <= _WRAPPERS:
        (value,) = value.values()
    text = value if isinstance(value, str) else dump_json(value).decode()
    files = [_CONTENT.part(held) for held in as_list(response.get("parts"))]
    origin = Origin(dialect="gemini", block=part)
    if not files:
        return ToolResult(call_id, text, failed, origin)
    held = (item for item in files if isinstance(item, (Text, Media, Opaque)))
    return ToolResult(call_id, (Text(text), *held), failed, origin)
