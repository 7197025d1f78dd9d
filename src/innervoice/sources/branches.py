"""Session files whose lines form a tree, each with its parent -> which turns the user abandoned by going back to an earlier one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from innervoice.canon.parts import ToolCall, ToolResult
from innervoice.sources.transcripts import SessionTurn
from innervoice.wire.json_access import as_text

__all__ = ["abandoned_turns", "ancestors"]


def abandoned_turns(
    turns: list[SessionTurn], entries: list[dict[str, Any]], parents: Sequence[str]
) -> set[int]:
    """The first lines of the turns that the user abandoned.

    The conversation is the chain from the last line up its parents. Results of parallel calls hang on the line of their
    call, outside the chain, but belong to it.
    """
    lines = {
        uuid: number
        for number, entry in enumerate(entries)
        if (uuid := as_text(entry.get("uuid"))) and not entry.get("isSidechain")
    }
    if not lines:
        return set()
    active = set(ancestors(max(lines.values()), entries, lines, parents))
    root = _has_root(active, entries, parents)
    calls = {
        part.id
        for turn in turns
        if not active.isdisjoint(turn.lines)
        for part in turn.message.parts
        if isinstance(part, ToolCall)
    }
    abandoned: set[int] = set()
    for turn in turns:
        parts = turn.message.parts
        if not active.isdisjoint(turn.lines) or (
            parts and all(isinstance(part, ToolResult) and part.call_id in calls for part in parts)
        ):
            continue
        chain = ancestors(turn.lines[0], entries, lines, parents)
        is_fork = not active.isdisjoint(chain)
        if is_fork or (root and _has_root(set(chain), entries, parents)):
            abandoned.add(turn.lines[0])
    return abandoned


def ancestors(
    line: int, entries: Sequence[dict[str, Any]], lines: dict[str, int], parents: Sequence[str]
) -> list[int]:
    """A line and those above it, up to the first; a damaged file may contain a cycle."""
    chain = [line]
    seen = {line}
    while True:
        above_lines = (lines.get(as_text(entries[line].get(name)) or "") for name in parents)
        above = next((parent for parent in above_lines if parent is not None), None)
        if above is None or above in seen:
            return chain
        line = above
        seen.add(line)
        chain.append(line)


def _has_root(chain: set[int], entries: list[dict[str, Any]], parents: Sequence[str]) -> bool:
    """Whether a chain leads up to a line without a parent."""
    return any(
        parents[0] in entries[line] and all(entries[line].get(name) is None for name in parents)
        for line in chain
    )
