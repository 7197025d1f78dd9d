"""The server's side of the Responses API: requests are read here, answers written in `serve_response.py`."""

from __future__ import annotations

from typing import Any

from innervoice.canon.messages import Message, user
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Opaque
from innervoice.canon.request import Request
from innervoice.wire.json_access import as_dict, as_list
from innervoice.wire.protocol import Context
from innervoice.wire.responses.media import read_media
from innervoice.wire.responses.read import ResponsesReader
from innervoice.wire.responses.serve_response import (
    write_answer,
    write_error,
    write_stream,
    write_stream_error,
)
from innervoice.wire.serve_request import (
    UserContent,
    assistant_turn,
    request_of,
    setting_of,
    with_role,
)

__all__ = [
    "read_request",
    "write_answer",
    "write_error",
    "write_stream",
    "write_stream_error",
]

_CONTENT = UserContent("openai-responses", read_media)
_OPTIONS = ("temperature", "top_p", "tools", "tool_choice", "stream")
_RESULTS = ("function_call_output", "custom_tool_call_output")


def read_request(body: dict[str, Any]) -> Request:
    """Reads a body. The API stores by default."""
    read = {"model", "input", "store", *_OPTIONS}
    known = {name: body.get(name) for name in _OPTIONS}
    known["store"] = body.get("store") is not False
    if isinstance(body.get("instructions"), str):
        known["system"] = body["instructions"]
        read.add("instructions")
    if isinstance(body.get("max_output_tokens"), int):
        known["max_tokens"] = body["max_output_tokens"]
        read.add("max_output_tokens")
    form = as_dict(as_dict(body.get("text")).get("format"))
    if form and as_dict(body.get("text")).keys() == {"format"}:
        known["response_format"] = form
        read.add("text")
    reasoning = body.get("reasoning")
    if isinstance(reasoning, dict) and reasoning.keys() <= {"effort"}:
        setting = setting_of(reasoning)
        if setting is not None:
            known["reasoning"] = setting
            read.add("reasoning")
    return request_of(body, "openai-responses", _messages(body.get("input")), known, read)


def _messages(value: Any) -> list[Message]:
    if isinstance(value, str):
        return [user(value)]
    messages: list[Message] = []
    turn: list[dict[str, Any]] = []

    def close() -> None:
        if turn:
            answer = {"object": "response", "status": "completed", "output": list(turn)}
            messages.append(assistant_turn(ResponsesReader(Context()), answer))
            turn.clear()

    for item in map(as_dict, as_list(value)):
        kind, role = item.get("type", "message"), item.get("role")
        if kind == "message" and role != "assistant":
            close()
            messages.append(_said(item))
        elif kind in _RESULTS and item.keys() <= {"type", "call_id", "output", "id", "status"}:
            close()
            rest = {"type": kind} if kind != "function_call_output" else {}
            result = _CONTENT.result(item.get("call_id"), item.get("output"))
            messages.append(with_role("tool", (result,), "openai-responses", rest))
        elif str(kind).endswith("_output") or kind in (
            "item_reference",
            "configuration_update",
            "additional_tools",
        ):
            close()
            raw = Opaque(item, origin=Origin(dialect="openai-responses", item="input"))
            messages.append(Message("user", (raw,)))
        else:
            turn.append(_answered(item))
    close()
    return messages


def _said(item: dict[str, Any]) -> Message:
    role = item.get("role")
    rest = {} if role in ("system", "user") else {"role": role}
    name = "system" if role in ("system", "developer") else "user"
    return with_role(name, _CONTENT.parts(item.get("content")), "openai-responses", rest)  # type: ignore[arg-type]


def _answered(item: dict[str, Any]) -> dict[str, Any]:
    """An item of the model's; a message may be short for one text."""
    content = item.get("content")
    if isinstance(content, str):
        return {**item, "type": "message", "content": [{"type": "output_text", "text": content}]}
    return {**item, "type": item.get("type", "message")}
