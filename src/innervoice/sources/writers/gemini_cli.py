"""A conversation -> a session file of Gemini CLI, which `gemini --resume ID` finds in the folder of the project.

A message of the model has its thoughts, its text and its calls with their results. Calls with a signature are also in `content`: a message
that has calls there is sent with these alone, so then all of them are. Written by hand and resumed by 0.61.0 (2026-11-16).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.parts import Part, Thinking, ToolCall, ToolResult
from innervoice.sources.gemini_cli import READER
from innervoice.sources.writers.writer import (
    NewSession,
    SessionWriter,
    TurnResults,
    iso_time,
    result_words,
    stable_id,
    with_results,
)
from innervoice.wire.gemini import DIALECT as GEMINI
from innervoice.wire.gemini.write import write_part
from innervoice.wire.json_access import as_dict, as_text
from innervoice.wire.write import input_of

__all__ = ["WRITER"]

_SUBJECT = re.compile(r"\*\*([^*\n]+)\*\*\n\n(.+)", re.DOTALL)


def _write(session: NewSession) -> bytes:
    head = {
        "sessionId": session.id,
        "projectHash": sha256(session.folder.encode("utf-8", "surrogatepass")).hexdigest(),
        "startTime": iso_time(session.turns[0].at),
        "lastUpdated": iso_time(session.at),
        "kind": "main",
    }
    lines = [head]
    for number, answered in enumerate(with_results(session.turns)):
        name = str(stable_id(session, number))
        line: dict[str, Any] = {"id": name, "timestamp": iso_time(answered.turn.at)}
        if answered.turn.message.role == "assistant":
            line |= _answer(answered)
        else:
            content = [_written(part) for part in answered.turn.message.parts]
            line |= {"type": "user", "content": content}
        lines.append(line)
    return b"".join(dump_json(line) + b"\n" for line in lines)


def _written(part: Part) -> Any:
    return write_part(part, {}, set())


def _answer(answered: TurnResults) -> dict[str, Any]:
    turn = answered.turn
    stamp = iso_time(turn.at)
    parts = turn.message.parts
    calls = [part for part in parts if isinstance(part, ToolCall)]
    sealed = any(call.origin is not None for call in calls)
    content = [
        _written(part)
        for part in parts
        if (sealed or not isinstance(part, ToolCall)) and not _is_apart(part)
    ]
    thoughts = [_thought(part, stamp) for part in parts if isinstance(part, Thinking) and _is_apart(part)]  # fmt: skip
    line: dict[str, Any] = {"type": "gemini", "content": content, "thoughts": thoughts}
    if turn.author.model:
        line["model"] = turn.author.model
    if calls:
        line["toolCalls"] = [_call(call, answered.results, stamp) for call in calls]
    return line


def _is_apart(part: Part) -> bool:
    """Whether a part is one of the thoughts beside the content: reasoning without a signature."""
    return isinstance(part, Thinking) and part.origin is None


def _thought(part: Thinking, stamp: str) -> dict[str, Any]:
    match = _SUBJECT.fullmatch(part.text)
    subject, about = match.groups() if match else ("", part.text)
    return {"subject": subject, "description": about, "timestamp": stamp}


def _call(call: ToolCall, results: Mapping[str, ToolResult], stamp: str) -> dict[str, Any]:
    result = results.get(call.id)
    words = result_words(result)[0] if result else ""
    failed = result is not None and result.error
    response = {
        "id": call.id,
        "name": call.name,
        "response": {"error": words} if failed else {"output": words},
    }
    return {
        "id": call.id,
        "name": call.name,
        "args": input_of(call),
        "status": "error" if failed else "success",
        "timestamp": stamp,
        "result": [{"functionResponse": response}] if result else [],
    }


def _place(session: NewSession, folder: Path) -> Path:
    at = datetime.fromtimestamp(session.at, UTC)
    name = f"session-{at:%Y-%m-%dT%H-%M}-{session.id[:8]}.jsonl"
    return folder / _project(session.folder, folder.parent) / "chats" / name


def _project(path: str, home: Path) -> str:
    """The program's name for a project; for one that it has not seen yet the digest of its path, which it takes over."""
    try:
        known = as_dict(load_json((home / "projects.json").read_bytes()))
    except (OSError, ValueError):
        known = {}
    name = as_text(as_dict(known.get("projects")).get(path)) or ""
    usable = name and not set(name) & set("/\\\0") and name not in (".", "..")
    return name if usable else sha256(path.encode("utf-8", "surrogatepass")).hexdigest()


WRITER = SessionWriter(
    name="gemini",
    kind=READER.kind,
    program="Gemini CLI",
    home=GEMINI.home,
    model="gemini/gemini-3.5-flash",
    new_id=lambda _: str(uuid4()),
    write=_write,
    place=_place,
    resumed=lambda session: ("--resume", session.id),
    model_option="--model",
    mixes_models=True,
    files_in_results=False,
    runs_elsewhere=False,
)
