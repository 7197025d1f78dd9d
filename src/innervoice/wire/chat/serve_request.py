"""The server's side of Chat Completions: requests are read here, answers written in `serve_response.py`."""

from __future__ import annotations

from typing import Any

from innervoice.canon.messages import Message, Role
from innervoice.canon.request import Request
from innervoice.wire.chat.media import read_media
from innervoice.wire.chat.read import ChatReader
from innervoice.wire.chat.serve_response import (
    write_error,
    write_stream_error,
)
from innervoice.wire.chat.settings import chat_setting
from innervoice.wire.json_access import as_dict
from innervoice.wire.protocol import Context
from innervoice.wire.serve_request import (
    UserContent,
    assistant_turn,
    check_message,
    checked_messages,
    request_of,
    with_role,
)

__all__ = [
    "read_message",
    "read_request",
    "write_error",
    "write_stream_error",
]

_ROLES: dict[Any, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "tool": "tool",
}
CONTENT = UserContent("openai-chat", read_media)
_CHOICES = ("auto", "none", "required", "any")
_OPTIONS = ("temperature", "top_p", "tools", "parallel_tool_calls", "response_format")


def read_request(
    body: dict[str, Any],
    reader: type[ChatReader] = ChatReader,
    content: UserContent = CONTENT,
) -> Request:
    """Reads a body."""
    messages = [
        _message(message, reader, content)
        for message in checked_messages(body.get("messages"), "messages")
    ]
    read = {"model", "messages", "stop", "stream", "stream_options", "tool_choice", *_OPTIONS}
    known = {name: body.get(name) for name in _OPTIONS}
    elsewhere: dict[str, Any] = {}
    known["tool_choice"] = _choice(body.get("tool_choice"), elsewhere)
    known["stop"] = body.get("stop")
    known["stream"] = body.get("stream")
    for name in ("max_completion_tokens", "max_tokens"):
        if isinstance(body.get(name), int):
            known["max_tokens"] = body[name]
            read.add(name)
    spelling, left = chat_setting(body)
    if spelling is not None:
        known["reasoning"] = spelling.setting
        read |= spelling.members.keys() - left.keys()
    if body.get("stream_options") not in (None, {"include_usage": True}):
        read.discard("stream_options")
    return request_of(
        {**body, **left},
        reader.dialect,
        messages,
        known,
        read,
        spelling=spelling,
        elsewhere=elsewhere,
    )


def read_message(message: dict[str, Any]) -> Message:
    """Reads one message of a body; raises `DecodeError` for a member of a wrong type."""
    check_message(message, "")
    return _message(message, ChatReader, CONTENT)


def _choice(choice: Any, elsewhere: dict[str, Any]) -> Any:
    match choice:
        case {"type": "function", "function": {"name": str(name), **rest}} if not rest:
            return name if len(choice) == 2 and name not in _CHOICES else choice
        case {"type": "custom", "custom": {"name": str(name)}}:
            elsewhere["tool_choice"] = (choice, name)
        case {"type": "allowed_tools", "allowed_tools": {"mode": "auto" | "required" as mode}}:
            elsewhere["tool_choice"] = (choice, mode)
        case _:
            pass
    return choice


def _message(message: dict[str, Any], reader: type[ChatReader], content: UserContent) -> Message:
    role = message.get("role")
    if role == "assistant":
        answer = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        turn = assistant_turn(reader(Context()), answer)
        if "content" in message and not message["content"] and turn.origin:
            # Null and "" differ, and neither is a part.
            kept = {**as_dict(turn.origin.block), "content": message["content"]}
            return turn.replace(origin=turn.origin.replace(block=kept))
        return turn
    rest = {
        key: value
        for key, value in message.items()
        if value is not None and key not in ("role", "content", "tool_call_id")
    }
    if role == "tool":
        result = content.result(message.get("tool_call_id"), message.get("content"))
        return with_role("tool", (result,), reader.dialect, rest)
    if role not in ("system", "user"):
        rest["role"] = role
    parts = content.parts(message.get("content"))
    return with_role(_ROLES.get(role, "user"), parts, reader.dialect, rest)
