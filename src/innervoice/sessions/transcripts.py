"""Session files of Claude Code and Codex -> conversations, with the line of each part.

Both are JSONL, and neither format is documented; this follows public session files (2026-11-20).

  Claude Code  A line of type user or assistant has a message, often only one block of it: lines with the same
               `message.id` are one message, even if results of its first calls are between them. Lines are
               chained by `uuid` and `parentUuid`; a sidechain is the conversation of a subagent. Error
               messages of the API are lines with `isApiErrorMessage`, which are never sent.
  Codex        A line of type response_item has an item of the Responses API; `turn_context` names the model
               of the following turns, `session_meta` the provider.

All branches of a session are read, including those that the user abandoned.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from innervoice.canon.jsontext import load_json
from innervoice.canon.messages import Message
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Opaque, Part, ToolCall, ToolResult
from innervoice.catalog.lookup import family_of, host_of
from innervoice.errors import DecodeError
from innervoice.wire.anthropic import DIALECT as MESSAGES
from innervoice.wire.json_access import as_dict, as_list, as_text
from innervoice.wire.responses import DIALECT as RESPONSES

__all__ = [
    "OUTPUTS",
    "Line",
    "LinePosition",
    "SessionFile",
    "SessionThread",
    "SessionTurn",
    "item_messages",
    "read_session",
    "thread_of",
]

OUTPUTS = ("function_call_output", "custom_tool_call_output")
"""Codex items that contain a result: of a function, and of a tool that takes text."""
_UNSENT = {"ghost_snapshot"}
"""Items that Codex does not send."""


class LinePosition(NamedTuple):
    """The position of a part: the index of its line, and of its block there; None for the whole line."""

    line: int
    block: int | None


class Line(NamedTuple):
    """A line of a file; `entry` is its parsed JSON, None if it is not valid JSON."""

    text: bytes
    ending: bytes
    entry: Any


class SessionTurn:
    """A message, assembled from the lines that contain it."""

    def __init__(self, message: Message, name: str | None = None) -> None:
        self.message = message.replace(parts=())
        self.name = name
        self.spots: list[LinePosition] = []
        self.lines: list[int] = []

    def add(self, line: int, block: int | None, parts: list[Part]) -> None:
        """Adds parts from a line."""
        self.message = self.message.replace(parts=(*self.message.parts, *parts))
        self.spots += [LinePosition(line, block)] * len(parts)
        if line not in self.lines:
            self.lines.append(line)


class SessionThread(NamedTuple):
    """The turns of one conversation; a session may have several."""

    turns: list[SessionTurn]
    name: str = ""
    """The id of the subagent, or of the line that it began with; "" for the main conversation."""

    @property
    def messages(self) -> list[Message]:
        """The messages of the conversation."""
        return [turn.message for turn in self.turns]

    def line_of(self, message: int, part: int | None) -> int:
        """The line number of a part, starting at 1."""
        turn = self.turns[message]
        has_spot = part is not None and part < len(turn.spots)
        return (turn.spots[part].line if has_spot and part is not None else turn.lines[0]) + 1


class SessionFile(NamedTuple):
    """A session file; its first thread is the main conversation."""

    kind: str
    """Either "claude-code" or "codex"."""
    lines: list[Line]
    threads: list[SessionThread]

    @property
    def messages(self) -> list[Message]:
        """The main conversation."""
        return self.threads[0].messages


def read_session(data: bytes) -> SessionFile:
    """Reads a session file; raises `DecodeError` for other data. A truncated line is ignored."""
    lines = [_line(line) for line in data.splitlines(keepends=True)]
    entries = [as_dict(line.entry) for line in lines]
    for kind, threads in (("codex", _codex(entries)), ("claude-code", _claude_code(entries))):
        if threads:
            threads_by_name = [SessionThread(turns, name) for name, turns in threads.items()]
            return SessionFile(kind, lines, threads_by_name)
    for number, line in enumerate(lines, 1):
        if line.entry is None and line.text.strip():
            raise DecodeError(f"expected JSON, or JSON on every line; line {number} is not JSON")
    raise DecodeError(
        "expected a session file of Claude Code or Codex: no line of it is a message or an item"
    )


def _line(raw: bytes) -> Line:
    text = raw.rstrip(b"\r\n")
    try:
        entry = load_json(text)
    except ValueError:
        entry = None
    return Line(text, raw[len(text) :], entry)


def _claude_code(entries: list[dict[str, Any]]) -> dict[str, list[SessionTurn]]:
    threads: dict[str, list[SessionTurn]] = {"": []}
    chains: dict[Any, str] = {}
    for number, entry in enumerate(entries):
        thread = thread_of(entry, chains)
        message, role = entry.get("message"), entry.get("type")
        if role not in ("user", "assistant") or not isinstance(message, dict):
            continue
        if entry.get("isApiErrorMessage"):
            continue
        turns = threads.setdefault(thread, [])
        name = as_text(message.get("id")) if role == "assistant" else None
        turn = _same(turns, name)
        if turn is None:
            turn = SessionTurn(Message(role), name)
            turns.append(turn)
        turn.add(number, None, [])
        content = message.get("content")
        if isinstance(content, str):
            turn.add(number, None, _blocks(message, role, content))
        for position, block in enumerate(as_list(content)):
            turn.add(number, position, _blocks(message, role, block))
    return {name: turns for name, turns in threads.items() if turns}


def thread_of(entry: dict[str, Any], chains: dict[Any, str]) -> str:
    """The conversation of a Claude Code line: the main one, or a subagent's, by its name or the line it began with.

    `chains` keeps the earlier lines.
    """
    if not entry.get("isSidechain"):
        return ""
    entry_id, parent = entry.get("uuid"), entry.get("parentUuid")
    thread = (
        as_text(entry.get("agentId")) or chains.get(as_text(parent)) or as_text(entry_id) or "?"
    )
    chains[as_text(entry_id)] = thread
    return thread


def _same(turns: list[SessionTurn], name: str | None) -> SessionTurn | None:
    """The message that a line continues, even if results of its first calls are between them."""
    for turn in reversed(turns) if name is not None else ():
        if turn.name == name:
            return turn
        if not all(isinstance(part, ToolResult) for part in turn.message.parts):
            return None
    return None


def _blocks(message: dict[str, Any], role: str, block: Any) -> list[Part]:
    content = block if isinstance(block, str) else [block]
    try:
        read = MESSAGES.request_reader({"messages": [{"role": role, "content": content}]})
    except DecodeError:  # a file of many lines is not refused for one of them
        return [Opaque(block, origin=Origin(dialect=MESSAGES.name))]
    model = as_text(message.get("model"))
    provider = MESSAGES.home if model and family_of(model) == "claude" else None
    (made,) = read.messages
    return [_owned(_paired(part), provider, model) for part in made.parts]


def _codex(entries: list[dict[str, Any]]) -> dict[str, list[SessionTurn]]:
    turns: list[SessionTurn] = []
    provider = model = None
    for number, entry in enumerate(entries):
        kind, payload = entry.get("type"), as_dict(entry.get("payload"))
        if kind == "session_meta":
            host = host_of(as_text(payload.get("model_provider")) or "")
            provider = host.id if host else None
        elif kind == "turn_context":
            model = as_text(payload.get("model"))
        elif kind == "response_item" and payload and as_text(payload.get("type")) not in _UNSENT:
            for message in item_messages(payload):
                goes_on = turns and turns[-1].message.role == message.role == "assistant"
                turn = turns[-1] if goes_on else SessionTurn(message)
                if not goes_on:
                    turns.append(turn)
                parts = [_owned(_paired(part), provider, model) for part in message.parts]
                turn.add(number, None, parts)
    return {"": turns} if turns else {}


def item_messages(item: dict[str, Any]) -> tuple[Message, ...]:
    """The messages of an item; an item of a wrong form is passed on as it is."""
    try:
        return RESPONSES.request_reader({"input": [item]}).messages
    except DecodeError:
        origin = Origin(dialect=RESPONSES.name, item="input")
        return (Message("user", (Opaque(item, origin=origin),)),)


def _paired(part: Part) -> Part:
    """Calls and results in blocks that our readers carry without interpreting them."""
    match part:
        case Opaque(value={"type": "tool_result", "tool_use_id": str(name)}):
            return ToolResult(name)
        case Opaque(value={"type": kind, "call_id": str(name)}) if kind in OUTPUTS:
            return ToolResult(name)
        case Opaque(value={"type": "local_shell_call", "call_id": str(name)}):
            origin = Origin(dialect=RESPONSES.name, block=part.value)
            return ToolCall(name, "local_shell", "{}", origin=origin)
        case _:
            return part


def _owned(part: Part, provider: str | None, model: str | None) -> Part:
    """The part with the provider and model that wrote it."""
    if part.origin is None or model is None:
        return part
    return part.replace(origin=part.origin.replace(provider=provider, model=model))
