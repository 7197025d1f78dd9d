"""Claude Code sessions -> conversations: the main one, and one for each subagent.

The format is not documented; this follows public session files (2026-11-20). A line of type user or assistant has a message, often only one block
of it: lines with the same `message.id` are one message, even if results of its first calls are between them. Lines are chained by `uuid` and
`parentUuid`; a sidechain is the conversation of a subagent. Error messages of the API are lines with `isApiErrorMessage`, which are never sent.
A line has a time, and a line of the model its tokens and its finish reason. Subagents are in the file itself (`isSidechain`), in `agent-ID.jsonl` next to it (before 2.1.2), or in `SESSION/subagents/` (since
then), with a description in `agent-ID.meta.json` (https://github.com/daaain/claude-code-log/issues/79, read 2026-11-16).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from innervoice.canon.jsontext import load_json
from innervoice.canon.messages import Message
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Opaque, Part, Text, ToolCall, ToolResult
from innervoice.canon.response import Failure, Response
from innervoice.catalog.lookup import family_of
from innervoice.decoding import read_answer
from innervoice.errors import DecodeError
from innervoice.planning.turns import UNANSWERED
from innervoice.sources.branches import abandoned_turns
from innervoice.sources.conversation import (
    Conversation,
    Mark,
    Turn,
    seconds_of,
    title_of,
    with_title,
)
from innervoice.sources.reader import (
    Data,
    Entry,
    Opened,
    Reader,
    broken_line,
    first_dicts,
    folder_name,
    members_at,
)
from innervoice.sources.transcripts import (
    IN_PIECES,
    MAIN,
    LinePosition,
    SessionFormat,
    SessionIndex,
    SessionTurn,
    ThreadPosition,
    entries_in,
    with_author,
)
from innervoice.wire.anthropic import DIALECT as MESSAGES
from innervoice.wire.anthropic.serve import read_message
from innervoice.wire.json_access import as_dict, as_list, as_text

__all__ = ["NO_SIGNATURE", "READER", "SESSION"]

NO_SIGNATURE = "not-signed"
"""What `writers/claude_code.py` writes where thinking has no signature."""
_SPEAKERS = ("user", "assistant")
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
"""Lines that name a session -> the member with the name; the first kind in a file counts."""
_OTHERS = {"system", "progress", "attachment", "file-history-snapshot", "queue-operation", "last-prompt", "agent-name"}  # fmt: skip
_HEAD = (
    "type", "uuid", "parentUuid", "isSidechain", "agentId", "isMeta", "isCompactSummary", "timestamp", "cwd", "gitBranch", "leafUuid",
    *_TITLES.values(),
)  # fmt: skip
_READ = (
    "type", "uuid", "parentUuid", "logicalParentUuid", "isSidechain", "agentId", "isMeta", "isCompactSummary", "isApiErrorMessage",
    "timestamp", "error", "message",
)  # fmt: skip
"""What is read of a line; the rest repeats results, and may be larger than the message."""
_BEGINNING = 65_536
_PARENTS = ("parentUuid", "logicalParentUuid")
_ENVELOPE = {
    "parentUuid", "isSidechain", "userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch", "slug",
    "agentId", "type", "message", "uuid", "timestamp",
}  # fmt: skip
"""The members that a new line copies from the line before it."""


def _recognizes(_: Data, beginning: bytes) -> bool:
    return any(map(_is_line, first_dicts(beginning)))


def _is_line(entry: dict[str, Any]) -> bool:
    kind = entry.get("type")
    if kind in _SPEAKERS:
        # A long line may be cut off before its message.
        return isinstance(entry.get("message"), dict) or {"parentUuid", "sessionId"} <= entry.keys()
    if not isinstance(kind, str):
        return False
    return (kind in _OTHERS and not {"sessionId", "messageId", "uuid"}.isdisjoint(entry)) or (
        kind in _TITLES and isinstance(entry.get(_TITLES[kind]), str) and not {"leafUuid", "sessionId"}.isdisjoint(entry)
    )  # fmt: skip


# ---- lines -> messages ---------------------------------------------------------------------------------


def _threads(entries: list[dict[str, Any]]) -> dict[str, list[SessionTurn]]:
    threads: dict[str, list[SessionTurn]] = {"": []}
    chains: dict[Any, str] = {}
    for number, entry in enumerate(entries):
        thread = _thread_of(entry, chains)
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
            turn.add(number, None, _parts(message, role, content))
        for position, block in enumerate(as_list(content)):
            turn.add(number, position, _parts(message, role, block))
    return {name: turns for name, turns in threads.items() if turns}


def _thread_of(entry: dict[str, Any], chains: dict[Any, str]) -> str:
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


def _parts(message: dict[str, Any], role: str, block: Any) -> list[Part]:
    if isinstance(block, dict) and block.get("signature") == NO_SIGNATURE:
        block = {name: value for name, value in block.items() if name != "signature"}
    content = block if isinstance(block, str) else [block]
    try:
        read = read_message({"role": role, "content": content})
    except DecodeError:  # a file of many lines is not refused for one of them
        return [Opaque(block, origin=Origin(dialect=MESSAGES.name))]
    model = as_text(message.get("model"))
    provider = MESSAGES.home if model and family_of(model) == "claude" else None
    return [with_author(_paired(part), provider, model) for part in read.parts]


def _paired(part: Part) -> Part:
    """The result in a block that the reader of the dialect carries without interpreting it."""
    match part:
        case Opaque(value={"type": "tool_result", "tool_use_id": str(name)}):
            return ToolResult(name)
        case _:
            return part


# ---- finding --------------------------------------------------------------------------------------------


def _open(data: Data) -> Opened:
    index = SessionIndex(data)
    title, project = _indexed(data, index)
    entries = index.entries(title, project)
    agents = _agents(data.path) if data.path else {}
    agent_entries = list(_agent_entries(agents))
    sources = {entry.id: Data(agents[entry.id]) for entry in agent_entries}
    entries += agent_entries
    if not entries:
        raise DecodeError("the Claude Code session has no messages")
    titles = {entry.id: entry.title for entry in entries}

    def read(entry: Entry) -> Conversation:
        conversation = (
            _from_agent(sources[entry.id]) if entry.id in sources else _read(data, index, entry.id)
        )
        return with_title(
            conversation.replace(id=entry.id, title=titles.get(entry.id, ""), parent=entry.parent)
        )

    return Opened(entries, read, index.troubles, (IN_PIECES,) if index.is_cut else ())


def _indexed(data: Data, index: SessionIndex) -> tuple[str, str | None]:
    """Fills the index; returns the title of the session (its name or the first words of the user, and the folder and branch), and the folder."""
    names: dict[str, str] = {}
    chains: dict[Any, str] = {}
    uuids: set[Any] = set()
    leaves: dict[str, Any] = {}
    place = ""
    for number, (start, line) in enumerate(data.lines(), 1):
        if not (text := line.strip()):
            continue
        try:
            head = members_at(text, *_HEAD)
            message = members_at(text, "message").get("message")
        except ValueError:
            index.troubles.append(broken_line(number, line))
            continue
        kind = as_text(head.get("type")) or ""
        uuids.add(as_text(head.get("uuid")))
        if kind in _TITLES and (title := as_text(head.get(_TITLES[kind]))):
            names[kind], leaves[kind] = title, as_text(head.get("leafUuid"))
        thread = _thread_of(head, chains)
        place = _place(head) or place
        index.folder = index.folder or as_text(head.get("cwd"))
        if kind in _SPEAKERS and isinstance(message, dict):
            if kind == "user" and not thread and not _holds_results(message):
                index.begins_turn(start, number)
            _add(index, thread, head, message)
    # A summary may belong to another session.
    own_titles = [name for name in _TITLES if name in names and leaves[name] in (None, *uuids)]
    called = names[own_titles[0]] if own_titles else index.title
    project = place.partition(", ")[0] or None
    return (f"{called} ({place})" if called and place else called), project


def _add(index: SessionIndex, thread: str, head: dict[str, Any], message: dict[str, Any]) -> None:
    """Adds a line with a message to the index."""
    index.add(thread, seconds_of(head.get("timestamp")))
    has_title, has_model = index.knows(thread)
    is_users = head["type"] == "user"
    if is_users and not has_title and not head.get("isMeta"):
        index.learn(thread, title=title_of(_users_message(message)))
    elif not is_users and not has_model and message.get("model") != "<synthetic>":
        index.learn(thread, model=as_text(message.get("model")))


def _holds_results(message: dict[str, Any]) -> bool:
    content = message.get("content")
    return isinstance(content, list) and any(
        as_dict(block).get("type") == "tool_result" for block in content
    )


def _users_message(message: dict[str, Any]) -> tuple[Message, ...]:
    try:
        return (read_message({**message, "role": "user"}),)
    except DecodeError:
        return ()


def _place(head: dict[str, Any]) -> str:
    """The folder and the branch, in short."""
    folder = folder_name(head.get("cwd"))
    return ", ".join(filter(None, (folder, as_text(head.get("gitBranch")))))


# ---- reading --------------------------------------------------------------------------------------------


def _read(data: Data, index: SessionIndex, entry_id: str) -> Conversation:
    position = index.positions[entry_id]
    entries = entries_in(data, position.start, position.end, *_READ)
    turns = _threads(entries).get(position.name, [])
    return Conversation(id=entry_id, turns=_turns_of(turns, entries, position))


def _from_agent(data: Data) -> Conversation:
    index = SessionIndex(data)
    _indexed(data, index)
    entries = index.entries()
    if not entries:
        raise DecodeError("the subagent's file has no messages")
    return _read(data, index, entries[0].id)


# ---- subagents ------------------------------------------------------------------------------------------


def _agents(path: Path) -> dict[str, Path]:
    """The files of the subagents of a session, by their ids."""
    return {file.stem.removeprefix("agent-"): file for file in _companions(path) if file.suffix == ".jsonl"}  # fmt: skip


def _companions(path: Path) -> list[Path]:
    if path.name.startswith("agent-"):
        return []
    folder = path.with_suffix("") / "subagents"
    nested = sorted(folder.rglob("agent-*.json*")) if folder.is_dir() else []
    stamp = path.parent.stat().st_mtime_ns if path.parent.is_dir() else 0
    return [*nested, *_flat_agents(path.parent, stamp).get(path.stem, ())]


@lru_cache(maxsize=64)
def _flat_agents(folder: Path, _: int) -> dict[str, list[Path]]:
    """The files of subagents next to sessions, by the session that their first line names."""
    by_session: dict[str, list[Path]] = {}
    for file in sorted(folder.glob("agent-*.jsonl")):
        try:
            entries = first_dicts(Data(file).piece(0, _BEGINNING))
        except OSError:
            continue
        session = next((as_text(entry.get("sessionId")) for entry in entries), None)
        if session:
            by_session.setdefault(session, []).append(file)
    return by_session


def _agent_entries(agents: dict[str, Path]) -> Iterator[Entry]:
    for name, file in agents.items():
        described = ""
        try:
            meta = load_json(file.with_suffix(".meta.json").read_bytes())
            described = as_text(as_dict(meta).get("description")) or ""
        except (OSError, ValueError):
            pass
        yield Entry(name, title=described, parent=MAIN)


# ---- repairing -------------------------------------------------------------------------------------------


def _edited(
    entry: dict[str, Any], gone: set[int | None], names: dict[int | None, str]
) -> dict[str, Any] | None:
    message = as_dict(entry.get("message"))
    content = [
        _renamed(block, names[position]) if position in names else block
        for position, block in enumerate(as_list(message.get("content")))
        if position not in gone
    ]
    if None in gone or not content:
        return None
    return {**entry, "message": {**message, "content": content}}


def _renamed(block: dict[str, Any], name: str) -> dict[str, Any]:
    return {**block, "id" if block.get("type") == "tool_use" else "tool_use_id": name}


def _moved(
    before: dict[str, Any], entry: dict[str, Any], spot: LinePosition, names: dict[int | None, str]
) -> dict[str, Any]:
    """A line with the result of another line, whose parent is the line before it."""
    message = as_dict(entry.get("message"))
    block = as_list(message.get("content"))[spot.block or 0]
    block = _renamed(block, names[spot.block]) if spot.block in names else block
    line_added = {**entry, "message": {**message, "content": [block]}}
    if isinstance(before.get("uuid"), str):
        line_added["parentUuid"] = before["uuid"]
        line_added["uuid"] = str(uuid5(NAMESPACE_OID, f"{before['uuid']} {block}"))
    return line_added


def _answered(before: dict[str, Any], name: str, _: ToolCall) -> dict[str, Any]:
    """A line with a result, whose parent is the line before it."""
    block = {"tool_use_id": name, "type": "tool_result", "content": UNANSWERED, "is_error": True}
    members = {key: value for key, value in before.items() if key in _ENVELOPE}
    line_added = {**members, "type": "user", "message": {"role": "user", "content": [block]}}
    if isinstance(before.get("uuid"), str):
        line_added["parentUuid"] = before["uuid"]
        line_added["uuid"] = str(uuid5(NAMESPACE_OID, f"{before['uuid']} {name}"))
    return line_added


def _relink(
    entries: list[dict[str, Any]],
    changed: dict[int, dict[str, Any] | None],
    added: dict[int, list[dict[str, Any]]],
) -> None:
    """Attaches children of removed lines to their parents, and children of a line with new lines to the last of these."""
    names = [as_text(entry.get("uuid")) for entry in entries]
    gone = [number for number, entry in changed.items() if entry is None]
    remaining = {name for number, name in enumerate(names) if changed.get(number, {}) is not None}
    parents = {
        names[number]: as_text(entries[number].get("parentUuid"))
        for number in gone
        if names[number] not in remaining
    }
    tails = {
        (names[number], bool(entries[number].get("isSidechain"))): lines_added[-1]["uuid"]
        for number, lines_added in added.items()
        if names[number] is not None
    }
    for number, entry in enumerate(entries):
        current = changed.get(number, entry)
        for name in _PARENTS:
            parent_before = parent = as_text(entry.get(name))
            if current is None or parent_before is None:
                continue
            seen: set[str | None] = set()  # a damaged file may contain a cycle
            while parent is not None and parent in parents and parent not in seen:
                seen.add(parent)
                parent = parents[parent]
            parent = tails.get((parent, bool(entry.get("isSidechain"))), parent)
            if parent != parent_before:
                current = changed[number] = {**current, name: parent}


SESSION = SessionFormat("claude-code", _threads, _edited, _moved, _answered, _relink)
READER = Reader(
    kind="claude-code",
    name="a Claude Code session",
    recognizes=_recognizes,
    open=_open,
    cannot_know=(
        "The system prompt, the tools and the settings of the requests.",
        "How long the model took, except for the time between two lines.",
    ),
    companions=_companions,
)


# ---- Lines of a Claude Code session -> turns with times, tokens, status and marks.


_INTERRUPTED = "[Request interrupted by user"


def _turns_of(
    turns: list[SessionTurn], entries: list[dict[str, Any]], position: ThreadPosition
) -> tuple[Turn, ...]:
    """The turns of a thread, with the errors that were shown between them."""
    abandoned = abandoned_turns(turns, entries, _PARENTS) if not position.name else set()
    has_reasons = any(
        as_dict(entry.get("message")).get("stop_reason") is not None for entry in entries
    )
    times = _Times(entries)
    numbered: list[tuple[int, Turn]] = []
    for place, turn in enumerate(turns):
        following = turns[place + 1] if place + 1 < len(turns) else None
        turn_entries = [entries[line] for line in turn.lines]
        facts = _time_and_line(turn_entries, position.line + turn.lines[0])
        marks = _marks(turn_entries[0], is_abandoned=turn.lines[0] in abandoned)
        if turn.message.role != "assistant":
            numbered.append((turn.lines[0], Turn(message=turn.message, marks=marks, **facts)))
            continue
        is_over = _is_over(following) if following else not has_reasons
        answer = _answer(turn, turn_entries, is_over=is_over)
        seconds = _seconds(turn_entries, times, turns[place - 1] if place else None)
        facts |= {"seconds": seconds, "thinking_seconds": turn.thinking_seconds(entries, seconds)}
        numbered.append(
            (turn.lines[0], Turn(message=turn.message, answer=answer, marks=marks, **facts))
        )
    numbered += _errors(entries, position)
    return tuple(turn for _, turn in sorted(numbered, key=lambda pair: pair[0]))


def _time_and_line(entries: list[dict[str, Any]], line: int) -> dict[str, Any]:
    return {"at": seconds_of(entries[0].get("timestamp")), "line": line}


def _marks(entry: dict[str, Any], *, is_abandoned: bool) -> tuple[Mark, ...]:
    marks: list[Mark] = []
    if entry.get("isCompactSummary"):
        marks.append("compaction")
    if entry.get("isMeta"):
        marks.append("injected")
    if is_abandoned:
        marks.append("abandoned")
    return tuple(marks)


# ---- the model's turns -------------------------------------------------------------------------------------


def _answer(turn: SessionTurn, entries: list[dict[str, Any]], *, is_over: bool) -> Response:
    """The answer of a turn: its tokens and finish reason are on the last line that has them."""
    body: dict[str, Any] = {"type": "message", "role": "assistant"}
    for entry in entries:
        message = as_dict(entry.get("message"))
        body |= {
            name: message[name]
            for name in ("id", "model", "stop_reason", "stop_sequence", "usage")
            if message.get(name) is not None
        }
    read = read_answer({**body, "content": []}, dialect=MESSAGES.name)
    is_claude = family_of(read.model or "") == "claude"
    return read.replace(
        parts=turn.message.parts,
        provider=MESSAGES.home if is_claude else None,
        ended=is_over or body.get("stop_reason") is not None,
        origin=turn.message.origin,
    )


def _is_over(following: SessionTurn) -> bool:
    """Whether an answer before this turn was complete; old versions wrote no finish reason."""
    parts = following.message.parts
    return not any(isinstance(part, Text) and part.text.startswith(_INTERRUPTED) for part in parts)


class _Times:
    """When lines were written, by their numbers and their ids."""

    def __init__(self, entries: list[dict[str, Any]]) -> None:
        self.of_line = [seconds_of(entry.get("timestamp")) for entry in entries]
        self.of_name = {
            name: time
            for entry, time in zip(entries, self.of_line, strict=True)
            if (name := as_text(entry.get("uuid"))) and time is not None
        }


def _seconds(
    entries: list[dict[str, Any]], times: _Times, before: SessionTurn | None
) -> float | None:
    """The time from the line that the answer follows to its last line."""
    start = times.of_name.get(as_text(entries[0].get("parentUuid")) or "")
    if start is None and before:
        start = times.of_line[before.lines[-1]]
    end = seconds_of(entries[-1].get("timestamp"))
    if start is None or end is None or end < start:
        return None
    return round(end - start, 3)


def _errors(entries: list[dict[str, Any]], position: ThreadPosition) -> list[tuple[int, Turn]]:
    """The errors of the API that the user saw instead of an answer."""
    chains: dict[Any, str] = {}
    errors: list[tuple[int, Turn]] = []
    for number, entry in enumerate(entries):
        thread = _thread_of(entry, chains)
        if not entry.get("isApiErrorMessage") or thread != position.name:
            continue
        content = as_dict(entry.get("message")).get("content")
        blocks = [content] if isinstance(content, str) else as_list(content)
        text = " ".join(
            block if isinstance(block, str) else as_text(as_dict(block).get("text")) or ""
            for block in blocks
        )
        message = Message("assistant", (Text(text),))
        failure = Failure(type=as_text(entry.get("error")), message=text)
        answer = Response(parts=message.parts, error=failure)
        turn = Turn(
            message=message, answer=answer, marks=("api_error",), **_time_and_line([entry], position.line + number)
        )  # fmt: skip
        errors.append((number, turn))
    return errors
