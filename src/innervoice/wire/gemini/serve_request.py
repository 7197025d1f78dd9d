"""The body of a generateContent request -> a request, and an answer -> what the API sends."""

from __future__ import annotations

from typing import Any

from innervoice.canon.messages import Message
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, ToolCall, ToolResult
from innervoice.canon.request import Request
from innervoice.wire.gemini.read import GeminiReader
from innervoice.wire.gemini.serve_response import (
    write_answer,
    write_error,
    write_stream,
    write_stream_error,
)
from innervoice.wire.json_access import as_dict, as_list, as_text
from innervoice.wire.protocol import Context
from innervoice.wire.serve_request import assistant_turn, content_parts, request_of

__all__ = ["read_request", "write_answer", "write_error", "write_stream", "write_stream_error"]


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
            parts.append(ToolResult(call_id, origin=Origin(dialect="gemini", block=part)))
        else:
            parts += content_parts([part])
    return Message("user", tuple(parts))
