"""Histories of other programs -> messages, with the form they were stored in.

Supported are lists of OpenAI-style and Anthropic messages, Gemini contents, Responses items and LangChain messages, each
on its own or in the body of a request; what `to_json` wrote; and the session files of Claude Code and Codex.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.messages import Message
from innervoice.canon.response import Response
from innervoice.canon.storage import from_json
from innervoice.errors import DecodeError
from innervoice.sessions.langchain import from_object, is_langchain, read_langchain
from innervoice.sessions.transcripts import SessionFile, read_session
from innervoice.wire.dialects import request_reader_of
from innervoice.wire.json_access import as_text
from innervoice.wire.objects import json_of

__all__ = ["MEMBERS", "History", "history_from"]

MEMBERS = {
    "anthropic": "messages",
    "openai-chat": "messages",
    "gemini": "contents",
    "openai-responses": "input",
}
"""The member of a request body that contains the history, by dialect."""
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
    """Messages, and the form they were stored in."""

    messages: list[Message]
    kind: str
    """A dialect, "langchain", "innervoice", "claude-code" or "codex"."""
    body: dict[str, Any] | None = None
    """The request body that contained the list; None for a list on its own."""
    items: list[Any] | None = None
    """The list as it was stored."""
    session: SessionFile | None = None
    """The session file; the messages are its main conversation."""


def history_from(data: bytes | str | dict[str, Any] | Sequence[Any]) -> History:
    """Reads a history of another program; raises `DecodeError` for other data.

    `data` is the content of a file, parsed JSON, or a list of LangChain messages or of objects of an SDK.
    """
    if isinstance(data, (str, bytes)):
        raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
        try:
            value = load_json(raw)
        except ValueError:
            value = None
        if value is None or _is_session_line(value):
            session = read_session(raw)
            return History(session.messages, session.kind, session=session)
        return _from_value(value)
    if isinstance(data, dict):
        return _from_value(json_of(data))
    items: list[Any] = [item.message if isinstance(item, Response) else item for item in data]
    if items and all(isinstance(item, Message) for item in items):
        return History(items, "innervoice")
    return _from_value([json_of(from_object(item)) for item in items])


def _from_value(value: Any) -> History:
    if _is_ours(value):
        stored = from_json(dump_json(value))
        return History([stored.message if isinstance(stored, Response) else stored], "innervoice")
    if isinstance(value, list) and value and all(_is_ours(item) for item in value):
        stored = from_json(dump_json(value))
        messages = [item.message if isinstance(item, Response) else item for item in stored]
        return History(messages, "innervoice")
    items = value if isinstance(value, list) else _member_of(value)
    if not items:
        raise DecodeError(
            "expected a list of messages, contents or items, or a body or session file that holds one"
        )
    body = None if items is value else dict(value)
    if is_langchain(items):
        return History(read_langchain(items), "langchain", body, items)
    dialect = _dialect(items)
    read = request_reader_of(dialect)(body or {MEMBERS[dialect]: items})
    return History(list(read.messages), dialect, body, items)


def _is_ours(value: Any) -> bool:
    """Whether `to_json` wrote the value."""
    kinds = ("message", "response")
    return isinstance(value, dict) and value.get("type") in kinds and "parts" in value


def _is_session_line(value: Any) -> bool:
    """Whether the only line of a file is a line of a session."""
    match value:
        case {"type": "response_item", "payload": dict()}:
            return True
        case {"type": "user" | "assistant", "message": dict()}:
            return True
        case _:
            return False


def _member_of(value: Any) -> list[Any] | None:
    names = ("messages", "contents", "input") if isinstance(value, dict) else ()
    return next((value[name] for name in names if isinstance(value.get(name), list)), None)


def _dialect(items: list[Any]) -> str:
    dicts = [item for item in items if isinstance(item, dict)]
    if any("parts" in item for item in dicts):
        return "gemini"
    contents = [
        block
        for item in dicts
        if isinstance(item.get("content"), list)
        for block in item["content"]
    ]
    # Checked before the items: responses of Claude have the type "message", too.
    if any(isinstance(block, dict) and as_text(block.get("type")) in _BLOCKS for block in contents):
        return "anthropic"
    if any(as_text(item.get("type")) in _ITEMS for item in dicts):
        return "openai-responses"
    if not any("role" in item for item in dicts):
        raise DecodeError(
            "expected messages with a role, contents with parts, or items with a type"
        )
    return "openai-chat"
