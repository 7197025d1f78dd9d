"""The server's side of Ollama's /api/chat: requests are read here, answers written in `serve_response.py`."""

from __future__ import annotations

from typing import Any

from innervoice.canon.messages import Message
from innervoice.canon.request import Request
from innervoice.wire.json_access import as_dict, as_list
from innervoice.wire.ollama.media import read_media
from innervoice.wire.ollama.read import OllamaReader
from innervoice.wire.ollama.serve_response import (
    write_error,
    write_stream_error,
)
from innervoice.wire.protocol import Context
from innervoice.wire.serve_request import (
    OpenCalls,
    UserContent,
    assistant_turn,
    checked_messages,
    request_of,
    schema_format,
    with_role,
)

__all__ = [
    "read_request",
    "write_error",
    "write_stream_error",
]


_CONTENT = UserContent("ollama", lambda _: None)


def read_request(body: dict[str, Any]) -> Request:
    """Reads a body; it streams unless it says otherwise."""
    messages: list[Message] = []
    calls = OpenCalls()
    for message in checked_messages(body.get("messages"), "messages"):
        messages.append(_message(message, calls))
        if messages[-1].role == "assistant":
            calls = OpenCalls(messages[-1].tool_calls)
    options = dict(as_dict(body.get("options")))
    known: dict[str, Any] = {
        "max_tokens": options.pop("num_predict", None),
        "temperature": options.pop("temperature", None),
        "top_p": options.pop("top_p", None),
        "stop": options.pop("stop", None),
        "stream": body.get("stream") is not False,
        "tools": body.get("tools"),
    }
    read = {"model", "messages", "options", "stream", "tools"}
    if body.get("format") == "json":
        known["response_format"] = {"type": "json_object"}
        read.add("format")
    elif isinstance(body.get("format"), dict):
        known["response_format"] = schema_format(body["format"])
        read.add("format")
    think = body.get("think")
    if isinstance(think, bool) or think in ("low", "medium", "high", "max"):
        known["reasoning"] = think
        read.add("think")
    rest = {**body, "options": options} if options else body
    if options:
        read.discard("options")
    return request_of(rest, "ollama", messages, known, read)


def _message(message: dict[str, Any], calls: OpenCalls) -> Message:
    role = message.get("role")
    if role == "assistant":
        return assistant_turn(OllamaReader(Context()), {"message": message, "done": True})
    if role == "tool":
        name = message.get("tool_name")
        call_id = message.get("tool_call_id") or calls.take(name) or name
        names = ("tool_name", "tool_call_id")
        rest = {key: message[key] for key in names if name and key in message}
        result = _CONTENT.result(call_id, message.get("content"))
        return with_role("tool", (result,), "ollama", rest)
    images = [held for image in as_list(message.get("images")) if (held := read_media(image))]
    parts = (*_CONTENT.parts(message.get("content")), *images)
    return Message("system" if role == "system" else "user", parts)
