"""A conversation -> a session file of Claude Code, which `claude --resume ID` finds in the folder of the project.

A line needs a type, a uuid, the uuid of the line before, a time and a message. Claude Code sends thinking without a signature in any case, and the API
refuses it; thinking with one only if `message.model` is the model that it goes on with. So thinking that has no signature gets a word in its
place, on a line that names no model: its user sees it, and no request has it. Measured with 2.1.325 (2026-11-19).
"""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path
from typing import Any
from uuid import uuid4

from innervoice.canon.jsontext import dump_json
from innervoice.canon.parts import Part, Thinking, ToolCall
from innervoice.sources.claude_code import NO_SIGNATURE, READER
from innervoice.sources.writers.writer import (
    CarriedTurn,
    NewSession,
    SessionWriter,
    iso_time,
    stable_id,
)
from innervoice.wire.anthropic import DIALECT as MESSAGES
from innervoice.wire.anthropic.write import write_part

__all__ = ["WRITER"]

_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9]")


def _write(session: NewSession) -> bytes:
    lines: list[bytes] = []
    parent: str | None = None
    for number, turn in enumerate(session.turns):
        for piece, (unsigned, parts) in enumerate(_pieces(turn)):
            message = _message(session, turn, number, parts)
            if unsigned:
                message.pop("model", None)
            name = str(stable_id(session, number, piece))
            line = {
                "parentUuid": parent,
                "isSidechain": False,
                "cwd": session.folder,
                "sessionId": session.id,
                "type": message["role"],
                "message": message,
                "uuid": name,
                "timestamp": iso_time(turn.at),
            }
            lines.append(dump_json(line) + b"\n")
            parent = name
    return b"".join(lines)


def _pieces(turn: CarriedTurn) -> list[tuple[bool, list[Part]]]:
    """The lines of a turn: thinking without a signature is on lines of its own."""
    return [
        (unsigned, list(group)) for unsigned, group in groupby(turn.message.parts, _is_unsigned)
    ]


def _is_unsigned(part: Part) -> bool:
    return isinstance(part, Thinking) and part.origin is None


def _message(
    session: NewSession, turn: CarriedTurn, number: int, parts: list[Part]
) -> dict[str, Any]:
    content = [block for part in parts if (block := _block(part)) is not None]
    if turn.message.role != "assistant":
        return {"role": "user", "content": content}
    called = any(isinstance(part, ToolCall) for part in turn.message.parts)
    message = {
        "id": f"msg_{stable_id(session, number).hex}",
        "type": "message",
        "role": "assistant",
        "content": content,
        "stop_reason": "tool_use" if called else "end_turn",
    }
    return {**message, "model": turn.author.model} if turn.author.model else message


def _block(part: Part) -> Any:
    """The block of a part; reasoning without one is shown, and never sent."""
    if isinstance(part, Thinking) and _is_unsigned(part):
        return {"type": "thinking", "thinking": part.text, "signature": NO_SIGNATURE}
    return write_part(part)


def _place(session: NewSession, folder: Path) -> Path:
    project = _NOT_IN_NAMES.sub("-", session.folder)
    return folder / project / f"{session.id}.jsonl"


READER_FOLDER = "projects"
WRITER = SessionWriter(
    name="claude",
    kind=READER.kind,
    program="Claude Code",
    home=MESSAGES.home,
    model="anthropic/claude-opus-5-5",
    new_id=lambda _: str(uuid4()),
    write=_write,
    place=_place,
    resumed=lambda session: ("--resume", session.id),
    model_option="--model",
)
