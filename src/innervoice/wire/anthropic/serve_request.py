"""The body of a Messages request -> a request, and an answer -> what the API sends."""

from __future__ import annotations

from typing import Any

from innervoice.canon.messages import Message
from innervoice.canon.parts import Part
from innervoice.canon.request import Request
from innervoice.wire.anthropic.media import read_media
from innervoice.wire.anthropic.read import AnthropicReader
from innervoice.wire.anthropic.serve_response import (
    write_answer,
    write_error,
    write_stream,
    write_stream_error,
)
from innervoice.wire.json_access import as_dict, as_list
from innervoice.wire.protocol import Context
from innervoice.wire.serve_request import (
    UserContent,
    assistant_turn,
    request_of,
    setting_of,
)

__all__ = ["read_request", "write_answer", "write_error", "write_stream", "write_stream_error"]


_CONTENT = UserContent("anthropic", read_media)


def read_request(body: dict[str, Any]) -> Request:
    """Reads a body."""
    messages = [_message(as_dict(message)) for message in as_list(body.get("messages"))]
    read = {
        "model",
        "messages",
        "max_tokens",
        "temperature",
        "top_p",
        "stop_sequences",
        "tools",
        "tool_choice",
        "stream",
    }
    known = {
        name: body.get(name)
        for name in ("max_tokens", "temperature", "top_p", "tools", "tool_choice", "stream")
    }
    known["stop"] = body.get("stop_sequences")
    if isinstance(body.get("system"), str):
        known["system"] = body["system"]
        read.add("system")
    config = as_dict(body.get("output_config"))
    effort, form = config.get("effort"), as_dict(config.get("format"))
    if form.get("type") == "json_schema":
        known["response_format"] = {"type": "json_schema", "json_schema": _format(form)}
        if config.keys() == {"format"}:
            read.add("output_config")
    setting = setting_of(
        {**as_dict(body.get("thinking")), **({"effort": effort} if effort else {})}
    )
    if setting is not None and as_dict(body.get("thinking")).get("type") != "adaptive":
        known["reasoning"] = setting
        read.add("thinking")
        if config.keys() <= {"effort", "format"}:
            read.add("output_config")
    return request_of(body, "anthropic", messages, known, read)


def _format(form: dict[str, Any]) -> dict[str, Any]:
    schema = form.get("schema")
    return {"name": str(as_dict(schema).get("title") or "answer"), "schema": schema}


def _message(message: dict[str, Any]) -> Message:
    content = message.get("content")
    if message.get("role") == "assistant":
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        return assistant_turn(AnthropicReader(Context()), {"type": "message", "content": blocks})
    parts: list[Part] = []
    for block in [content] if isinstance(content, str) else as_list(content):
        match block:
            case {"type": "tool_result", "tool_use_id": call_id, **rest}:
                more = block if rest.keys() - {"content", "is_error"} else None
                failed = rest.get("is_error") is True
                parts.append(
                    _CONTENT.result(call_id, rest.get("content"), error=failed, block=more)
                )
            case _:
                parts.append(_CONTENT.part(block))
    return Message("user", tuple(parts))
