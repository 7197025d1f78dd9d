"""Histories of other programs -> messages, with the form they were stored in.

Supported are lists of OpenAI-style and Anthropic messages, Gemini contents, Responses items and LangChain messages, each
alone or in the body of a request; the output of `to_json`; and the session files of Claude Code and Codex.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.messages import Message
from innervoice.canon.request import Request
from innervoice.canon.response import Response
from innervoice.canon.storage import from_json
from innervoice.errors import DecodeError
from innervoice.sessions.langchain import from_object, is_langchain, read_langchain
from innervoice.sessions.transcripts import SessionFile, read_session
from innervoice.text_search import split_turn
from innervoice.wire.dialects import DIALECTS, HISTORY_MEMBERS, dialect_named, history_dialect_of
from innervoice.wire.json_access import as_text
from innervoice.wire.objects import json_of

__all__ = ["History", "history_from"]


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
    request: Request | None = None
    """The settings of the body; None for a list without a body, and for LangChain."""


def history_from(
    data: bytes | str | dict[str, Any] | Sequence[Any], *, inline: str | None = None
) -> History:
    """Reads a history of another program; raises `DecodeError` for other data.

    `data` is the content of a file, parsed JSON, or a list of LangChain messages or of objects of an SDK. Reasoning between tags in
    turns of a model is split out of their text, unless `inline` is "off" and except in session files, whose parts are blocks of lines.
    """
    history = _history_from(data)
    if inline == "off" or history.session or history.kind == "innervoice":
        return history
    model = as_text((history.body or {}).get("model"))
    return history._replace(messages=[split_turn(message, model) for message in history.messages])


def _history_from(data: bytes | str | dict[str, Any] | Sequence[Any]) -> History:
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
    if not isinstance(data, Iterable):
        raise DecodeError(f"expected a list of messages, or a body that holds one, not {data!r}")
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
    dialect = history_dialect_of(items)
    if dialect is None:
        raise DecodeError(
            "expected messages with a role, contents with parts, or items with a type"
        )
    row = dialect_named(dialect)
    if body is not None and body.get(row.history) is not items:
        # Messages with only a role and a text look alike; the member that contains them does not.
        row = next(
            other for other in map(dialect_named, DIALECTS) if body.get(other.history) is items
        )
    read = row.request_reader(body or {row.history: items})
    return History(
        list(read.messages), row.name, body, items, request=None if body is None else read
    )


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
    names = HISTORY_MEMBERS if isinstance(value, dict) else ()
    return next((value[name] for name in names if isinstance(value.get(name), list)), None)
