"""A conversation -> a session file of pi, which `pi --session ID` finds in the folder of the project.

A turn of the model names its API, provider and model. pi sends its own model's thinking back, with its seal, and only shows that of other models;
its own without a seal is text for Claude. Written by hand and resumed by 1.5.2 (2026-11-19).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from innervoice.canon.jsontext import dump_json
from innervoice.canon.parts import Media, Part, Text, Thinking, ToolCall, ToolResult
from innervoice.sources.native_turns import Author, seals_of
from innervoice.sources.pi import APIS, READER
from innervoice.sources.writers.writer import (
    CarriedTurn,
    NewSession,
    SessionWriter,
    iso_time,
    provider_name,
    result_words,
)
from innervoice.wire.anthropic import DIALECT as MESSAGES
from innervoice.wire.chat import DIALECT as CHAT
from innervoice.wire.gemini import DIALECT as GEMINI
from innervoice.wire.write import block_of, call_names, input_of

__all__ = ["WRITER"]

_CHAT_FIELD = "reasoning_content"
"""In chat the signature of a thought is the name of the member that it came in."""
_SEPARATORS = re.compile(r"[/\\:]")
_NO_TOKENS = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0}
_NO_COST = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}


def _write(session: NewSession) -> bytes:
    stamp = iso_time(session.at)
    lines: list[dict[str, Any]] = [
        {
            "type": "session",
            "version": 3,
            "id": session.id,
            "timestamp": stamp,
            "cwd": session.folder,
        }
    ]
    parent: str | None = None
    names = call_names(turn.message for turn in session.turns)
    entries: list[tuple[str, float, dict[str, Any]]] = [
        ("message", turn.at, {"message": message})
        for turn in session.turns
        for message in _messages(turn, names)
    ]
    target = session.target
    chosen = {"provider": provider_name(target.provider), "modelId": target.model}
    # The last model that is named is the one that it goes on with.
    for number, (kind, at, members) in enumerate([*entries, ("model_change", session.at, chosen)]):
        name = f"{number:08x}"
        lines.append({"type": kind, "id": name, "parentId": parent, "timestamp": iso_time(at), **members})  # fmt: skip
        parent = name
    return b"".join(dump_json(line) + b"\n" for line in lines)


def _messages(turn: CarriedTurn, names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """The messages of a turn: each result is one."""
    at = {"timestamp": int(turn.at * 1000)}
    if turn.message.role == "assistant":
        yield _answer(turn) | at
        return
    for part in turn.message.parts:
        if isinstance(part, ToolResult):
            yield _result(part, names.get(part.call_id, "")) | at
    content = [block for part in turn.message.parts if (block := _content(part)) is not None]
    if content:
        yield {"role": "user", "content": content, **at}


def _content(part: Part) -> dict[str, Any] | None:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Media():
            return {"type": "image", "data": part.data or "", "mimeType": part.mime or "image/png"}
        case _:
            return None


def _result(part: ToolResult, name: str) -> dict[str, Any]:
    words, files = result_words(part)
    content = [_content(Text(words)), *map(_content, files)]
    return {
        "role": "toolResult",
        "toolCallId": part.call_id,
        "toolName": name,
        "content": content,
        "isError": part.error,
    }


def _answer(turn: CarriedTurn) -> dict[str, Any]:
    author, parts = turn.author, turn.message.parts
    in_chat = _api(author) == APIS[CHAT.name]
    called = any(isinstance(part, ToolCall) for part in parts)
    return {
        "role": "assistant",
        "content": [
            block for part in parts if (block := _block(part, in_chat=in_chat)) is not None
        ],
        "api": _api(author),
        "provider": provider_name(author.provider),
        "model": author.model or "unknown",
        "usage": {**_NO_TOKENS, "cost": _NO_COST},
        "stopReason": "toolUse" if called else "stop",
    }


def _api(author: Author) -> str:
    return APIS.get(author.dialect or "", "openai-completions")


def _block(part: Part, *, in_chat: bool) -> dict[str, Any] | None:
    seals = seals_of(part)
    match part:
        case Text() if part.text:
            return {"type": "text", "text": part.text}
        case Thinking():
            block: dict[str, Any] = {"type": "thinking", "thinking": part.text}
            if seals.redacted:
                return {**block, "thinkingSignature": seals.redacted, "redacted": True}
            if seals.encrypted:
                return {**block, "thinkingSignature": dump_json(block_of(part)).decode()}
            signature = seals.signature or (_CHAT_FIELD if in_chat else None)
            return {**block, "thinkingSignature": signature} if signature else block
        case ToolCall():
            call = {"type": "toolCall", "id": part.id, "name": part.name, "arguments": input_of(part)}  # fmt: skip
            return {**call, "thoughtSignature": seals.signature} if seals.signature else call
        case _:
            return None


def _place(session: NewSession, folder: Path) -> Path:
    project = _SEPARATORS.sub("-", re.sub(r"^[/\\]", "", session.folder))
    stamp = re.sub(r"[:.]", "-", iso_time(session.at))
    return folder / f"--{project}--" / f"{stamp}_{session.id}.jsonl"


WRITER = SessionWriter(
    name="pi",
    kind=READER.kind,
    program="pi",
    home=None,
    model="anthropic/claude-opus-5-5",
    new_id=lambda _: str(uuid4()),
    write=_write,
    place=_place,
    resumed=lambda session: ("--session", session.id),
    model_option="--model",
    model_name=lambda target: f"{provider_name(target.provider)}/{target.model}",
    own_unsealed={CHAT.name: None, GEMINI.name: None, MESSAGES.name: "thinking_as_answer"},
    files_in_answers=False,
    files={"image": ("data",)},
)
