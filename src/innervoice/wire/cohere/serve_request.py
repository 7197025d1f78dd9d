"""The server's side of Cohere's chat API: requests are read here, answers written in `serve_response.py`."""

from __future__ import annotations

from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, Text
from innervoice.canon.reasoning import Reasoning
from innervoice.canon.request import Request
from innervoice.wire.cohere.media import read_media
from innervoice.wire.cohere.read import CohereReader
from innervoice.wire.cohere.serve_response import (
    write_error,
    write_stream_error,
)
from innervoice.wire.json_access import as_dict
from innervoice.wire.protocol import Context
from innervoice.wire.serve_request import (
    UserContent,
    assistant_turn,
    checked_messages,
    request_of,
    schema_format,
)

__all__ = [
    "read_request",
    "write_error",
    "write_stream_error",
]


def _read_block(block: dict[str, Any]) -> Part | None:
    """An image, or a document, which is possible in tool results."""
    match block:
        case {"type": "document", "document": {"data": data}}:
            text = data if isinstance(data, str) else dump_json(data).decode()
            return Text(text, origin=Origin(dialect="cohere", block=block))
        case _:
            return read_media(block)


_CONTENT = UserContent("cohere", _read_block)
_OPTIONS = ("max_tokens", "temperature", "tools", "stream", "response_format")


def read_request(body: dict[str, Any]) -> Request:
    """Reads a body."""
    messages = [_message(message) for message in checked_messages(body.get("messages"), "messages")]
    known = {name: body.get(name) for name in _OPTIONS}
    form = as_dict(body.get("response_format"))
    if "schema" in form:
        known["response_format"] = schema_format(form["schema"])
    known["top_p"], known["stop"] = body.get("p"), body.get("stop_sequences")
    read = {"model", "messages", "p", "stop_sequences", *_OPTIONS}
    choice = body.get("tool_choice")
    if choice in ("REQUIRED", "NONE"):
        known["tool_choice"] = choice.lower()
        read.add("tool_choice")
    elsewhere: dict[str, Any] = {}
    match body.get("thinking"):
        case {"type": "disabled", **rest} if not rest:
            known["reasoning"] = False
            read.add("thinking")
        case {"type": "enabled", "token_budget": int(budget), **rest} if not rest:
            known["reasoning"] = budget
            read.add("thinking")
        case {"type": "enabled"}:
            elsewhere["reasoning"] = (None, Reasoning("medium"))
        case _:
            pass
    return request_of(body, "cohere", messages, known, read, elsewhere=elsewhere)


def _message(message: dict[str, Any]) -> Message:
    role = message.get("role")
    if role == "assistant":
        return assistant_turn(
            CohereReader(Context()), {"message": message, "finish_reason": "COMPLETE"}
        )
    if role == "tool":
        result = _CONTENT.result(message.get("tool_call_id"), message.get("content"))
        return Message("tool", (result,))
    parts = _CONTENT.parts(message.get("content"))
    return Message("system" if role == "system" else "user", parts)
