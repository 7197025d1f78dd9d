"""A conversation -> a rollout file of Codex, which `codex resume ID` finds by the id in its name.

Items of the Responses API are lines; what the interface shows of them again are events. Reasoning that has no seal is only such an event
(`agent_reasoning`): the API has no place for it. A `model_provider` would tie the session to one. Written by hand and resumed by 0.166.0 (2026-11-16).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any
from uuid import uuid4

from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message
from innervoice.canon.parts import Part, Thinking
from innervoice.canon.request import Request
from innervoice.sources.codex import READER, SHOWN_THOUGHT
from innervoice.sources.injected import is_injected
from innervoice.sources.writers.writer import NewSession, SessionWriter, iso_time
from innervoice.wire.responses import DIALECT as RESPONSES

__all__ = ["WRITER"]

_ORIGINATOR = "codex_cli_rs"
_VERSION = "0.166.0"


def _write(session: NewSession) -> bytes:
    stamp = iso_time(session.at)
    about = {
        "id": session.id,
        "timestamp": stamp,
        "cwd": session.folder,
        "originator": _ORIGINATOR,
        "cli_version": _VERSION,
        "source": "cli",
    }
    lines = [_line(stamp, "session_meta", about)]
    for turn in session.turns:
        stamp = iso_time(turn.at)
        # Reasoning without a seal is an event between the items.
        for shown, group in groupby(turn.message.parts, key=_is_shown):
            parts = tuple(group)
            if shown:
                lines += [_event(stamp, SHOWN_THOUGHT, text=_text_of(part)) for part in parts]
                continue
            run = turn.message.replace(parts=parts)
            lines += [_line(stamp, "response_item", item) for item in _items(run, session)]
            lines += _shown(run, stamp)
    return b"".join(lines)


def _is_shown(part: Part) -> bool:
    return isinstance(part, Thinking) and part.origin is None


def _text_of(part: Part) -> str:
    return part.text if isinstance(part, Thinking) else ""


def _items(message: Message, session: NewSession) -> list[dict[str, Any]]:
    """The items of a message. Ids stay with Codex's own: its provider would look for those of other programs, and does not have them."""
    request = Request("openai/x", (message,), store=session.is_same_program)
    body = RESPONSES.writer(request, "x", RESPONSES.limit)
    items: list[dict[str, Any]] = body[RESPONSES.history]
    return [item if "type" in item else {"type": "message", **item} for item in items]


def _shown(message: Message, stamp: str) -> Iterator[bytes]:
    """The event with which the interface shows a text again; `--last` finds no session without one of the user."""
    text = message.text
    if not text or message.role == "tool":
        return
    if message.role == "assistant":
        yield _event(stamp, "agent_message", message=text)
    elif not is_injected(text):
        yield _event(stamp, "user_message", message=text, images=[])


def _event(stamp: str, kind: str, **members: Any) -> bytes:
    return _line(stamp, "event_msg", {"type": kind, **members})


def _line(stamp: str, kind: str, payload: dict[str, Any]) -> bytes:
    return dump_json({"timestamp": stamp, "type": kind, "payload": payload}) + b"\n"


def _place(session: NewSession, folder: Path) -> Path:
    at = datetime.fromtimestamp(session.at, UTC)
    day = folder / f"{at:%Y}" / f"{at:%m}" / f"{at:%d}"
    return day / f"rollout-{at:%Y-%m-%dT%H-%M-%S}-{session.id}.jsonl"


WRITER = SessionWriter(
    name="codex",
    kind=READER.kind,
    program="Codex",
    home=RESPONSES.home,
    model="openai/gpt-5.6",
    new_id=lambda _: str(uuid4()),
    write=_write,
    place=_place,
    resumed=lambda session: ("resume", session.id),
    model_option="--model",
    mixes_models=True,
    flags_errors=False,
)
