"""A conversation -> what `opencode import FILE` reads; opencode writes its database itself.

A message of the model is one step, with its calls and their results in one part each, and the files of a result in that part. Ids grow with time:
opencode sorts by them. Written by hand, imported and resumed by 1.18.33 (2026-11-19).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

from innervoice.canon.jsontext import dump_json
from innervoice.canon.parts import Media, Part, Text, Thinking, ToolCall, ToolResult
from innervoice.sources.native_turns import UNSEALED, seals_of
from innervoice.sources.opencode import READER
from innervoice.sources.opencode.turns import SEAL_NAMES
from innervoice.sources.writers.writer import (
    NewSession,
    SessionWriter,
    TurnResults,
    provider_name,
    result_words,
    with_results,
)
from innervoice.wire.chat import DIALECT as CHAT
from innervoice.wire.media import data_url
from innervoice.wire.write import input_of

__all__ = ["WRITER"]

_Owned: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]
_AGENT = "build"
_VERSION = "1.18.33"
_NO_TOKENS = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_MOST = (1 << 48) - 1


def _id(kind: str, at: float, number: int, seed: str, *, falls: bool = False) -> str:
    """An id of opencode: a time and a number in 12 digits, and 14 letters; those of sessions fall, so that the newest is the first."""
    value = (int(at * 1000) * 4096 + number) & _MOST
    digest = sha256(f"{seed} {kind} {number}".encode()).digest()
    letters = "".join(_LETTERS[byte % 62] for byte in digest[:14])
    return f"{kind}_{_MOST - value if falls else value:012x}{letters}"


class _Ids:
    """The ids of a session's messages and parts, each larger than the one before."""

    def __init__(self, session: NewSession) -> None:
        self._session = session
        self._number = 0

    def next(self, kind: str) -> str:
        """The next id."""
        self._number += 1
        # A millisecond has room for 4,095 of them.
        at = self._session.at + self._number // 4095 / 1000
        return _id(kind, at, self._number % 4095, f"{self._session.id} {self._number}")


def _write(session: NewSession) -> bytes:
    ids = _Ids(session)
    messages: list[dict[str, Any]] = []
    parent = ""
    for answered in with_results(session.turns):
        name = ids.next("msg")
        own = partial(_owned, ids, {"sessionID": session.id, "messageID": name})
        if answered.turn.message.role == "assistant":
            info = _answer_info(answered, session, parent)
            parts = _answer_parts(answered, own)
        else:
            parent = name
            info = _question_info(answered, session)
            parts = [_question_part(part) for part in answered.turn.message.parts]
        messages.append({
            "info": {"id": name, "sessionID": session.id, **info},
            "parts": [own(part) for part in parts],
        })  # fmt: skip
    created = int(session.turns[0].at * 1000)
    about = {
        "id": session.id,
        "slug": f"carried-{session.id[-8:].lower()}",
        "projectID": "global",
        "directory": session.folder,
        "title": session.title or "A carried session",
        "version": _VERSION,
        "time": {"created": created, "updated": int(session.at * 1000)},
    }
    return dump_json({"info": about, "messages": messages}) + b"\n"


def _owned(ids: _Ids, owner: dict[str, str], part: dict[str, Any]) -> dict[str, Any]:
    """A part of a message, or a file of a result: each has an id, and names its message."""
    return {"id": ids.next("prt"), **owner, **part}


def _model(session: NewSession) -> dict[str, str]:
    provider = provider_name(session.target.provider)
    return {"providerID": provider, "modelID": session.target.model}


def _question_info(answered: TurnResults, session: NewSession) -> dict[str, Any]:
    time = {"created": int(answered.turn.at * 1000)}
    return {"role": "user", "time": time, "agent": _AGENT, "model": _model(session)}


def _question_part(part: Part) -> dict[str, Any]:
    return _file(part) if isinstance(part, Media) else {"type": "text", "text": _text_of(part)}


def _file(part: Media) -> dict[str, Any]:
    name = {"filename": part.name} if part.name else {}
    return {"type": "file", "mime": part.mime or "image/png", "url": data_url(part), **name}


def _text_of(part: Part) -> str:
    return part.text if isinstance(part, Text) else ""


def _answer_info(answered: TurnResults, session: NewSession, parent: str) -> dict[str, Any]:
    turn = answered.turn
    at = int(turn.at * 1000)
    return {
        "parentID": parent,
        "role": "assistant",
        "time": {"created": at, "completed": at},
        "providerID": provider_name(turn.author.provider),
        "modelID": turn.author.model or "unknown",
        "mode": _AGENT,
        "agent": _AGENT,
        "path": {"cwd": session.folder, "root": session.folder},
        "cost": 0,
        "tokens": _NO_TOKENS,
        "finish": _finish(answered),
    }


def _finish(answered: TurnResults) -> str:
    called = any(isinstance(part, ToolCall) for part in answered.turn.message.parts)
    return "tool-calls" if called else "stop"


def _answer_parts(answered: TurnResults, own: _Owned) -> list[dict[str, Any]]:
    at = int(answered.turn.at * 1000)
    parts: list[dict[str, Any]] = [{"type": "step-start"}]
    of_items: dict[str | None, dict[str, Any]] = {None: {}}
    for part in answered.turn.message.parts:
        seals = _metadata(part, answered.turn.author.provider)
        # Parts of one item have the same seals, each of them.
        item = part.origin.item if part.origin else None
        seals = of_items.setdefault(item, seals) if item else seals
        match part:
            case Thinking():
                parts.append({"type": "reasoning", "text": part.text, "time": {"start": at, "end": at}, **seals})  # fmt: skip
            case Text() if part.text:
                parts.append({"type": "text", "text": part.text, **seals})
            case ToolCall():
                state = _state(part, answered.results, at, own)
                parts.append({"type": "tool", "callID": part.id, "tool": part.name, "state": state, **seals})  # fmt: skip
            case _:
                pass
    finish = {"type": "step-finish", "reason": _finish(answered), "cost": 0, "tokens": _NO_TOKENS}
    return [*parts, finish]


def _state(
    call: ToolCall, results: Mapping[str, ToolResult], at: int, own: _Owned
) -> dict[str, Any]:
    result = results[call.id]
    words, files = result_words(result)
    state: dict[str, Any] = {"input": input_of(call), "time": {"start": at, "end": at}}
    if result.error:
        return {"status": "error", "error": words, **state}
    more = {"attachments": [own(_file(file)) for file in files]} if files else {}
    return {"status": "completed", "output": words, "title": call.name, "metadata": {}, **state, **more}  # fmt: skip


def _metadata(part: Part, provider: str | None) -> dict[str, Any]:
    """What the provider needs back, under the name by which opencode looks for it."""
    seals, name = seals_of(part), SEAL_NAMES.get(provider or "")
    if seals == UNSEALED or name is None:
        return {}
    signature = "thoughtSignature" if name == "google" else "signature"
    members = {
        signature: seals.signature,
        "redactedData": seals.redacted,
        "itemId": seals.item,
        "reasoningEncryptedContent": seals.encrypted,
    }
    return {"metadata": {name: {key: value for key, value in members.items() if value}}}


WRITER = SessionWriter(
    name="opencode",
    kind=READER.kind,
    program="opencode",
    home=None,
    model="anthropic/claude-opus-5-5",
    new_id=lambda at: _id("ses", at, 0, uuid4().hex, falls=True),
    write=_write,
    place=lambda session, _: Path.cwd() / f"opencode-{session.id}.json",
    resumed=lambda session: ("--session", session.id),
    model_option="--model",
    model_name=lambda target: f"{provider_name(target.provider)}/{target.model}",
    imports=("import",),
    unsent="thinking_as_answer",
    own_unsealed={CHAT.name: None},
    files_in_failures=False,
    files_in_answers=False,
)
