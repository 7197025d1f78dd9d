"""Lines of a Claude Code session -> turns with times, tokens, status and marks."""

from __future__ import annotations

from typing import Any

from innervoice.canon.messages import Message
from innervoice.canon.parts import Text, ToolCall, ToolResult
from innervoice.canon.response import Failure, Response
from innervoice.catalog.lookup import family_of
from innervoice.decoding import read_answer
from innervoice.sessions.transcripts import SessionFile, SessionTurn, thread_of
from innervoice.sources.conversation import Mark, Turn
from innervoice.sources.session_index import SessionThread
from innervoice.sources.turns import seconds_of
from innervoice.wire.anthropic import DIALECT as MESSAGES
from innervoice.wire.json_access import as_dict, as_list, as_text

__all__ = ["turns_of"]

_INTERRUPTED = "[Request interrupted by user"
_PARENTS = ("parentUuid", "logicalParentUuid")


def turns_of(
    turns: list[SessionTurn], session: SessionFile, lane: SessionThread
) -> tuple[Turn, ...]:
    """The turns of a thread, with the errors that were shown between them."""
    entries = [as_dict(line.entry) for line in session.lines]
    left = _abandoned(turns, entries) if not lane.name else set()
    has_reasons = any(
        as_dict(entry.get("message")).get("stop_reason") is not None for entry in entries
    )
    times = _Times(entries)
    made: list[tuple[int, Turn]] = []
    for place, turn in enumerate(turns):
        following = turns[place + 1] if place + 1 < len(turns) else None
        own = [entries[line] for line in turn.lines]
        known = _known(own, lane.line + turn.lines[0])
        marks = _marks(own[0], is_abandoned=turn.lines[0] in left)
        if turn.message.role != "assistant":
            made.append((turn.lines[0], Turn(message=turn.message, marks=marks, **known)))
            continue
        is_over = _is_over(following) if following else not has_reasons
        answer = _answer(turn, own, is_over=is_over)
        seconds = _seconds(own, times, turns[place - 1] if place else None)
        made.append(
            (turn.lines[0], Turn(message=turn.message, answer=answer, seconds=seconds, marks=marks, **known))
        )  # fmt: skip
    made += _errors(entries, lane)
    return tuple(turn for _, turn in sorted(made, key=lambda pair: pair[0]))


def _known(own: list[dict[str, Any]], line: int) -> dict[str, Any]:
    return {"at": seconds_of(own[0].get("timestamp")), "line": line}


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


def _answer(turn: SessionTurn, own: list[dict[str, Any]], *, is_over: bool) -> Response:
    """The answer of a turn: its tokens and finish reason are on the last line that has them."""
    body: dict[str, Any] = {"type": "message", "role": "assistant"}
    for entry in own:
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


def _seconds(own: list[dict[str, Any]], times: _Times, before: SessionTurn | None) -> float | None:
    """The time from the line that the answer follows to its last line."""
    start = times.of_name.get(as_text(own[0].get("parentUuid")) or "")
    if start is None and before:
        start = times.of_line[before.lines[-1]]
    end = seconds_of(own[-1].get("timestamp"))
    if start is None or end is None or end < start:
        return None
    return round(end - start, 3)


def _errors(entries: list[dict[str, Any]], lane: SessionThread) -> list[tuple[int, Turn]]:
    """The errors of the API that the user saw instead of an answer."""
    chains: dict[Any, str] = {}
    made: list[tuple[int, Turn]] = []
    for number, entry in enumerate(entries):
        thread = thread_of(entry, chains)
        if not entry.get("isApiErrorMessage") or thread != lane.name:
            continue
        content = as_dict(entry.get("message")).get("content")
        blocks = [content] if isinstance(content, str) else as_list(content)
        said = " ".join(
            block if isinstance(block, str) else as_text(as_dict(block).get("text")) or ""
            for block in blocks
        )
        message = Message("assistant", (Text(said),))
        failure = Failure(type=as_text(entry.get("error")), message=said)
        answer = Response(parts=message.parts, error=failure)
        turn = Turn(
            message=message, answer=answer, marks=("api_error",), **_known([entry], lane.line + number)
        )  # fmt: skip
        made.append((number, turn))
    return made


# ---- branches ---------------------------------------------------------------------------------------------


def _abandoned(turns: list[SessionTurn], entries: list[dict[str, Any]]) -> set[int]:
    """The first lines of the turns that the user abandoned by going back to an earlier one.

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
    active = set(_ancestors(max(lines.values()), entries, lines))
    root = _root(active, entries)
    calls = {
        part.id
        for turn in turns
        if not active.isdisjoint(turn.lines)
        for part in turn.message.parts
        if isinstance(part, ToolCall)
    }
    left: set[int] = set()
    for turn in turns:
        parts = turn.message.parts
        if not active.isdisjoint(turn.lines) or (
            parts and all(isinstance(part, ToolResult) and part.call_id in calls for part in parts)
        ):
            continue
        chain = _ancestors(turn.lines[0], entries, lines)
        is_fork = not active.isdisjoint(chain)
        if is_fork or (root and _root(set(chain), entries)):
            left.add(turn.lines[0])
    return left


def _ancestors(line: int, entries: list[dict[str, Any]], lines: dict[str, int]) -> list[int]:
    """A line and those above it, up to the first; a damaged file may contain a cycle."""
    chain = [line]
    seen = {line}
    while True:
        parents = [lines.get(as_text(entries[line].get(name)) or "") for name in _PARENTS]
        above = next((parent for parent in parents if parent is not None), None)
        if above is None or above in seen:
            return chain
        line = above
        seen.add(line)
        chain.append(line)


def _root(chain: set[int], entries: list[dict[str, Any]]) -> bool:
    """Whether a chain leads up to a line without a parent."""
    return any(
        "parentUuid" in entries[line] and all(entries[line].get(name) is None for name in _PARENTS)
        for line in chain
    )
