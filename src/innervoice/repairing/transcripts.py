"""A session file of Claude Code or Codex -> the same file, as a target accepts it.

A repair edits the lines that must change, and leaves all others byte for byte. A line that becomes empty is removed,
and its children are attached to its parent. A missing result is added on a new line after the last line of the
message with the call, and the children of that line are attached to the new one.

A session continues with the next message of its user, and is judged as the history before that message.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from innervoice.canon.jsontext import dump_json
from innervoice.canon.parts import ToolCall
from innervoice.planning.lint import Problem, lint
from innervoice.planning.turns import UNANSWERED
from innervoice.repairing.changes import NEXT, Change, mend
from innervoice.sessions.transcripts import (
    OUTPUTS,
    LinePosition,
    SessionFile,
    SessionTurn,
    read_session,
)
from innervoice.wire.json_access import as_dict, as_list, as_text

__all__ = ["lint_session", "repair_session"]

# The members that a new Claude Code line copies from the line before it.
_ENVELOPE = {
    "parentUuid", "isSidechain", "userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch", "slug",
    "agentId", "type", "message", "uuid", "timestamp",
}  # fmt: skip
_PARENTS = ("parentUuid", "logicalParentUuid")


def lint_session(session: SessionFile, target: str) -> list[tuple[int, Problem]]:
    """The problems of the next request, each with its line number."""
    problems = [
        (thread.line_of(problem.message, problem.part), problem)
        for thread in session.threads
        for problem in lint([*thread.messages, NEXT], target)
    ]
    return sorted(problems, key=lambda pair: pair[0])


def repair_session(data: bytes, target: str) -> tuple[bytes, list[str]]:
    """The repaired file, and a line of text for each change; raises `DecodeError` for other data."""
    session = read_session(data)
    edits = _Edits(session)
    described: list[tuple[int, str]] = []
    for thread in session.threads:
        for change in mend(thread.messages, target, goes_on=True):
            line = thread.line_of(change.message, change.part)
            text = change.described(f"line {line}")
            if change.step == "moved":
                edits.move(thread.turns[change.message], change, thread.turns[change.to])
                described.append((line, text))
            elif edits.note(thread.turns[change.message], change):
                described.append((line, text))
    described.sort(key=lambda pair: pair[0])
    return edits.written(), [text for _, text in described]


class _Edits:
    """Collects the changes of the lines of a session, and applies them at the end."""

    def __init__(self, session: SessionFile) -> None:
        self._session = session
        self._gone: dict[int, set[int | None]] = {}
        self._names: dict[int, dict[int | None, str]] = {}
        self._answers: dict[int, list[tuple[SessionTurn, ToolCall, str]]] = {}
        self._moved: list[tuple[LinePosition, SessionTurn]] = []

    def note(self, turn: SessionTurn, change: Change) -> bool:
        """Adds a change; False for a duplicate, which occurs if several parts are one item."""
        if change.part is None:
            spots = [LinePosition(line, None) for line in turn.lines]
        else:
            spots = [turn.spots[change.part]]
        if change.step == "removed":
            is_gone = all(spot.block in self._gone.get(spot.line, ()) for spot in spots)
            for spot in spots:
                self._gone.setdefault(spot.line, set()).add(spot.block)
            return not is_gone
        if change.step == "renamed":
            self._names.setdefault(spots[0].line, {})[spots[0].block] = change.id
            return True
        assert change.part is not None
        call = turn.message.parts[change.part]
        assert isinstance(call, ToolCall)
        self._answers.setdefault(turn.lines[0], []).append((turn, call, change.id))
        return True

    def move(self, turn: SessionTurn, change: Change, goal: SessionTurn) -> None:
        """Moves a result behind the turn that has its call."""
        assert change.part is not None
        spot = turn.spots[change.part]
        self._gone.setdefault(spot.line, set()).add(spot.block)
        self._moved.append((spot, goal))

    def written(self) -> bytes:
        """The file with all changes."""
        entries = [as_dict(line.entry) for line in self._session.lines]
        is_codex = self._session.kind == "codex"
        change = _codex_line if is_codex else _claude_line
        changed: dict[int, dict[str, Any] | None] = {
            number: change(
                entries[number], self._gone.get(number, set()), self._names.get(number, {})
            )
            for number in {*self._gone, *self._names}
        }
        added: dict[int, list[dict[str, Any]]] = {}
        for answers in self._answers.values():
            last = max(
                line for line in answers[0][0].lines if changed.get(line, entries) is not None
            )
            before = entries[last]
            for _, call, name in answers:
                before = (
                    _codex_answer(before, name, call) if is_codex else _claude_answer(before, name)
                )
                added.setdefault(last, []).append(before)
        for spot, goal in self._moved:
            last = max(line for line in goal.lines if changed.get(line, entries) is not None)
            before = added[last][-1] if last in added else entries[last]
            names = self._names.get(spot.line, {})
            entry = entries[spot.line]
            if not is_codex:
                entry = _claude_moved(before, entry, spot, names)
            elif names:
                entry = _codex_line(entry, set(), names) or entry
            added.setdefault(last, []).append(entry)
        if not is_codex:
            _relink(entries, changed, added)
        return b"".join(self._pieces(changed, added))

    def _pieces(
        self, changed: dict[int, dict[str, Any] | None], added: dict[int, list[dict[str, Any]]]
    ) -> Iterator[bytes]:
        for number, line in enumerate(self._session.lines):
            entry = changed.get(number)
            new = [dump_json(line_added) for line_added in added.get(number, ())]
            if number not in changed:
                new.insert(0, line.text)
            elif entry is not None:
                new.insert(0, dump_json(entry))
            if new:
                # The last line of a file may lack a line ending, but not one that is followed by another.
                yield (line.ending or b"\n").join(new) + line.ending


def _claude_line(
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


def _codex_line(
    entry: dict[str, Any], gone: set[int | None], names: dict[int | None, str]
) -> dict[str, Any] | None:
    return None if gone else {**entry, "payload": {**entry["payload"], "call_id": names[None]}}


def _claude_answer(before: dict[str, Any], name: str) -> dict[str, Any]:
    """A line with a result, whose parent is the line before it."""
    block = {"tool_use_id": name, "type": "tool_result", "content": UNANSWERED, "is_error": True}
    members = {key: value for key, value in before.items() if key in _ENVELOPE}
    line_added = {**members, "type": "user", "message": {"role": "user", "content": [block]}}
    if isinstance(before.get("uuid"), str):
        line_added["parentUuid"] = before["uuid"]
        line_added["uuid"] = str(uuid5(NAMESPACE_OID, f"{before['uuid']} {name}"))
    return line_added


def _claude_moved(
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


def _codex_answer(before: dict[str, Any], name: str, call: ToolCall) -> dict[str, Any]:
    block = as_dict(call.origin.block) if call.origin else {}
    kind = OUTPUTS[block.get("type") == "custom_tool_call"]
    members = {key: value for key, value in before.items() if key in ("timestamp", "type")}
    return {**members, "payload": {"type": kind, "call_id": name, "output": UNANSWERED}}


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
