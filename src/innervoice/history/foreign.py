"""Histories that others keep -> messages, with what is needed to write them back.

Known are lists of OpenAI-style and Anthropic messages, Gemini contents and Responses items, each bare or in
the body of a request; what `to_json` wrote; and the session files of Claude Code (one message a line, its
blocks on lines of their own) and Codex (one item a line).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from innervoice.canon.jsontext import load_json
from innervoice.canon.messages import Message
from innervoice.canon.response import Response
from innervoice.canon.storage import from_json
from innervoice.errors import DecodeError
from innervoice.wire.dialects import request_reader_of

__all__ = ["History", "history_from"]

_MEMBERS = {
    "anthropic": "messages",
    "openai-chat": "messages",
    "gemini": "contents",
    "openai-responses": "input",
}
_BLOCKS = {"thinking", "redacted_thinking", "tool_use", "tool_result"}
_ITEMS = {
    "reasoning",
    "function_call",
    "function_call_output",
    "message",
    "item_reference",
    "custom_tool_call",
}


class History(NamedTuple):
    """Messages, and how they were kept."""

    messages: list[Message]
    kind: str
    """A dialect, "innervoice", "claude-code" or "codex"."""
    body: dict[str, Any] | None = None
    """The body of a request they stood in; None for a bare list."""


def history_from(data: bytes | str) -> History:
    """Reads a history that someone keeps; raises `DecodeError` for what is none."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    try:
        value = load_json(raw)
    except ValueError:
        return _from_lines(raw)
    if (
        isinstance(value, dict)
        and value.get("type") in ("response", "message")
        and "parts" in value
    ):
        stored = from_json(raw)
        return History([stored.message if isinstance(stored, Response) else stored], "innervoice")
    if isinstance(value, list) and value and all(_is_ours(item) for item in value):
        return History(from_json(raw), "innervoice")
    bare = isinstance(value, list)
    items = (
        value
        if bare
        else next(
            (
                value[name]
                for name in ("messages", "contents", "input")
                if isinstance(value.get(name), list)
            ),
            None,
        )
        if isinstance(value, dict)
        else None
    )
    if not isinstance(items, list) or not items:
        raise DecodeError(
            "expected a list of messages, contents or items, or a body or session file that holds one"
        )
    dialect = _dialect(items)
    body = {_MEMBERS[dialect]: items} if bare else dict(value)
    return History(list(request_reader_of(dialect)(body).messages), dialect, None if bare else body)


def _is_ours(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") == "message" and "parts" in item


def _dialect(items: list[Any]) -> str:
    dicts = [item for item in items if isinstance(item, dict)]
    if any("parts" in item for item in dicts):
        return "gemini"
    if any(item.get("type") in _ITEMS for item in dicts):
        return "openai-responses"
    contents = [
        block
        for item in dicts
        if isinstance(item.get("content"), list)
        for block in item["content"]
    ]
    if any(isinstance(block, dict) and block.get("type") in _BLOCKS for block in contents):
        return "anthropic"
    if not any("role" in item for item in dicts):
        raise DecodeError(
            "expected messages with a role, contents with parts, or items with a type"
        )
    return "openai-chat"


def _from_lines(raw: bytes) -> History:
    lines = []
    for number, line in enumerate(raw.splitlines(), 1):
        if not line.strip():
            continue
        try:
            lines.append(load_json(line))
        except ValueError as error:
            raise DecodeError(
                f"expected JSON, or JSON on every line; line {number} is none: {error}"
            ) from None
    entries = [line for line in lines if isinstance(line, dict)]
    items = [
        entry["payload"]
        for entry in entries
        if entry.get("type") == "response_item" and isinstance(entry.get("payload"), dict)
    ]
    if items:
        return History(
            list(request_reader_of("openai-responses")({"input": items}).messages), "codex"
        )
    turns = [
        entry["message"]
        for entry in entries
        if entry.get("type") in ("user", "assistant") and isinstance(entry.get("message"), dict)
    ]
    if turns:
        return History(
            list(request_reader_of("anthropic")({"messages": _joined(turns)}).messages),
            "claude-code",
        )
    raise DecodeError(
        "expected a session file of Claude Code or Codex: no line of it is a message or an item"
    )


def _joined(turns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Claude Code writes the blocks of one message on several lines, under one id."""
    joined: list[dict[str, Any]] = []
    for turn in turns:
        last = joined[-1] if joined else None
        same = last is not None and turn.get("id") is not None and last.get("id") == turn["id"]
        if (
            last is not None
            and same
            and isinstance(last.get("content"), list)
            and isinstance(turn.get("content"), list)
        ):
            last["content"] = [*last["content"], *turn["content"]]
        else:
            joined.append(dict(turn))
    return joined
