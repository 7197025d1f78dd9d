"""The server's side of the Responses API: requests are read here, answers written in `serve_response.py`."""

from __future__ import annotations

from typing import Any

from innervoice.canon.messages import Message, user
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Opaque
from innervoice.canon.request import Request
from innervoice.wire.json_access import as_dict, as_text
from innervoice.wire.protocol import Context
from innervoice.wire.responses.media import read_media
from innervoice.wire.responses.read import ResponsesReader
from innervoice.wire.responses.serve_response import (
    write_error,
    write_stream_error,
)
from innervoice.wire.serve_request import (
    UserContent,
    assistant_turn,
    checked_messages,
    request_of,
    setting_of,
    with_role,
    without,
)

__all__ = [
    "read_request",
    "write_error",
    "write_stream_error",
]

_CONTENT = UserContent("openai-responses", read_media)
_OPTIONS = ("temperature", "top_p", "tools", "parallel_tool_calls", "stream")
_CHOICES = ("auto", "none", "required", "any")
_SUMMARIES = ("auto", "concise", "detailed")
_RESULTS = ("function_call_output", "custom_tool_call_output")


def read_request(body: dict[str, Any]) -> Request:
    """Reads a body. The API stores by default."""
    read = {"model", "input", "store", "tool_choice", *_OPTIONS}
    known = {name: body.get(name) for name in _OPTIONS}
    known["store"] = body.get("store") is not False
    if isinstance(body.get("instructions"), str):
        known["system"] = body["instructions"]
        read.add("instructions")
    if isinstance(body.get("max_output_tokens"), int):
        known["max_tokens"] = body["max_output_tokens"]
        read.add("max_output_tokens")
    elsewhere: dict[str, Any] = {}
    known["tool_choice"] = _choice(body.get("tool_choice"), elsewhere)
    text, reasoning = as_dict(body.get("text")), as_dict(body.get("reasoning"))
    if as_dict(text.get("format")):
        known["response_format"] = text["format"]
        text = without(text, "format")
    asked = {"effort": as_text(reasoning.get("effort"))}
    summary = reasoning.get("summary")
    if summary in _SUMMARIES:
        asked["show"] = "summary"
    setting = setting_of({name: value for name, value in asked.items() if value})
    if setting is not None:
        known["reasoning"] = setting
        # "auto" is written for a summary; any other word is kept next to it.
        reasoning = without(reasoning, "effort", *(["summary"] if summary == "auto" else []))
    changed = {"text": text, "reasoning": reasoning}
    read |= {name for name, left in changed.items() if not left}
    changed = {name: left for name, left in changed.items() if left}
    messages = _messages(body.get("input"))
    return request_of(
        {**body, **changed}, "openai-responses", messages, known, read, elsewhere=elsewhere
    )


def _choice(choice: Any, elsewhere: dict[str, Any]) -> Any:
    match choice:
        case {"type": "function", "name": str(name), **rest} if not rest and name not in _CHOICES:
            return name
        case {"type": "custom", "name": str(name)}:
            elsewhere["tool_choice"] = (choice, name)
        case {"type": "allowed_tools", "mode": "auto" | "required" as mode}:
            elsewhere["tool_choice"] = (choice, mode)
        case _:
            pass
    return choice


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

    for item in checked_messages(value, "input"):
        kind, role = item.get("type") or "message", item.get("role")
        if kind == "message" and role != "assistant":
            close()
            messages.append(_said(item))
        elif kind in _RESULTS:
            close()
            more = item if item.keys() - {"type", "call_id", "output", "id", "status"} else None
            rest = {"type": kind} if kind != "function_call_output" else {}
            result = _CONTENT.result(item.get("call_id"), item.get("output"), block=more)
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
    """An item of the model; a message may be shortened to one text."""
    content = item.get("content")
    if isinstance(content, str):
        return {**item, "type": "message", "content": [{"type": "output_text", "text": content}]}
    return {**item, "type": item.get("type", "message")}
