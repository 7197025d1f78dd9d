"""Sessions of Cline (`~/.cline/data/sessions/ID/ID.messages.json`) -> a conversation.

One object: `messages` in the form of the Messages API, each with its time and, for the model, `modelInfo` and `metrics`, and the system prompt. Results
are lists of what each query gave. Signatures of thoughts are not stored. `ID.json` beside it has the title and the folder. Written by Cline 3.0.65 against the emulator, read
2026-11-17. The older `api_conversation_history.json` is a list of messages as the API has them, which is read as such.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.messages import Message
from innervoice.canon.parts import Text, ToolResult
from innervoice.canon.request import Request
from innervoice.canon.response import Failure, Response
from innervoice.canon.usage import Usage
from innervoice.errors import DecodeError
from innervoice.sources.conversation import (
    Conversation,
    Mark,
    Turn,
    seconds_of,
    title_of,
    with_title,
)
from innervoice.sources.injected import is_injected
from innervoice.sources.native_turns import answer_from, author_of
from innervoice.sources.reader import (
    Data,
    Entry,
    Opened,
    Reader,
    first_dicts,
    folder_name,
)
from innervoice.sources.stored import load_whole
from innervoice.sources.transcripts import MAIN, with_author
from innervoice.wire.anthropic.serve import read_message
from innervoice.wire.json_access import as_count, as_dict, as_list, as_number, as_text

__all__ = ["READER"]

_SAID = re.compile(r"<user_input[^>]*>(.*)</user_input>\s*", re.DOTALL)
_ENDING = ".messages.json"


def _recognizes(_: Data, beginning: bytes) -> bool:
    first = next(iter(first_dicts(beginning)), {})
    return {"sessionId", "agent", "messages"} <= first.keys() and isinstance(first["messages"], list)  # fmt: skip


def _companions(path: Path) -> list[Path]:
    if not path.name.endswith(_ENDING):
        return []
    name = path.name.removesuffix(_ENDING)
    beside = [path.with_name(f"{name}.json"), path.with_name(f"{name}.compaction.json")]
    return [file for file in beside if file.is_file()]


def _open(data: Data) -> Opened:
    session = as_dict(load_whole(data))
    messages = [as_dict(message) for message in as_list(session.get("messages"))]
    if not messages:
        raise DecodeError("the session of Cline has no messages")
    about = _about(data.path)
    users = [_message(message) for message in messages if message.get("role") == "user"]
    title = as_text(as_dict(about.get("metadata")).get("title")) or title_of(users)
    models = (as_text(as_dict(message.get("modelInfo")).get("id")) for message in messages)
    folder = as_text(about.get("cwd"))
    entry = Entry(MAIN, title, at=seconds_of(messages[0].get("ts")), model=next(filter(None, models), None), project=folder_name(folder), folder=folder)  # fmt: skip

    def read(entry: Entry) -> Conversation:
        turns = tuple(_turns(messages))
        request = _request(session, entry.model)
        return with_title(
            Conversation(id=entry.id, title=entry.title, turns=turns, request=request)
        )

    return Opened([entry], read)


def _about(path: Path | None) -> dict[str, Any]:
    try:
        files = _companions(path) if path else []
        return as_dict(load_json(files[0].read_bytes())) if files else {}
    except (OSError, ValueError):
        return {}


def _request(session: dict[str, Any], model: str | None) -> Request | None:
    system = as_text(session.get("system_prompt"))
    return Request(model, (), system=system) if model and system else None


def _turns(messages: list[dict[str, Any]]) -> Iterator[Turn]:
    before: float | None = None
    for stored in messages:
        at = seconds_of(stored.get("ts"))
        message = _message(stored)
        if as_dict(stored.get("metadata")).get("displayRole") == "error":
            failure = Failure(message=message.text)
            answer = Response(parts=message.parts, error=failure)
            yield Turn(message=answer.message, answer=answer, at=at, marks=("api_error",))
        elif message.role == "assistant":
            took = at - before if at is not None and before is not None and at >= before else None
            yield _answer(stored, message, at, took)
        else:
            texts = [part.text for part in message.parts if isinstance(part, Text)]
            is_own = not texts or not all(map(is_injected, texts))
            marks: tuple[Mark, ...] = () if is_own else ("injected",)
            yield Turn(message=message, at=at, marks=marks)
        before = at if at is not None else before


def _message(stored: dict[str, Any]) -> Message:
    role: Literal["assistant", "user"] = (
        "assistant" if stored.get("role") == "assistant" else "user"
    )
    content = stored.get("content")
    blocks = [_block(block) for block in content] if isinstance(content, list) else content or ""
    try:
        message = read_message({"role": role, "content": blocks})
    except DecodeError:
        return Message(role, (Text(dump_json(content).decode("utf-8", "replace")),))
    return message.replace(parts=tuple(_said(part) for part in message.parts))


def _block(block: Any) -> Any:
    """A block of the API; a result of Cline is a list of what each query gave."""
    match block:
        case {"type": "tool_result", "tool_use_id": str(name), "content": list(content)} if any("result" in as_dict(one) for one in content):  # fmt: skip
            texts = [_result(as_dict(one)) for one in content]
            failed = any(as_dict(one).get("success") is False for one in content)
            return {"type": "tool_result", "tool_use_id": name, "content": "\n".join(texts), "is_error": failed}  # fmt: skip
        case {"type": "tool_result", "tool_use_id": str(name), "content": content}:
            return {"type": "tool_result", "tool_use_id": name, "content": content if isinstance(content, str) else dump_json(content).decode("utf-8", "replace")}  # fmt: skip
        case _:
            return block


def _result(one: dict[str, Any]) -> str:
    result = one.get("result", one.get("error"))
    return result if isinstance(result, str) else dump_json(result).decode("utf-8", "replace")


def _said(part: Any) -> Any:
    """What the user said, without the tags around it."""
    if isinstance(part, Text) and (said := _SAID.fullmatch(part.text)):
        return part.replace(text=said[1])
    return part.replace(origin=None) if isinstance(part, ToolResult) else part


def _answer(stored: dict[str, Any], message: Message, at: float | None, took: float | None) -> Turn:
    about, counts = as_dict(stored.get("modelInfo")), as_dict(stored.get("metrics"))
    author = author_of(as_text(about.get("provider")), as_text(about.get("id")))
    parts = tuple(with_author(part, author.provider, author.model) for part in message.parts)
    has_calls = bool(message.tool_calls)
    answer = answer_from(
        author,
        parts,
        id=as_text(stored.get("id")),
        reason="tool_calls" if has_calls else "stop",
        usage=_usage(counts),
    )
    return Turn(
        message=answer.message,
        answer=answer,
        at=at,
        seconds=round(took, 3) if took is not None else None,
        cost=as_number(counts.get("cost")) or None,
    )


def _usage(counts: dict[str, Any]) -> Usage:
    return Usage(
        input_tokens=as_count(counts.get("inputTokens")),
        output_tokens=as_count(counts.get("outputTokens")),
        cached_input_tokens=as_count(counts.get("cacheReadTokens")),
        raw=counts or None,
    )


READER = Reader(
    kind="cline",
    name="a session of Cline",
    recognizes=_recognizes,
    open=_open,
    cannot_know=(
        "The seals of thoughts: Cline does not keep them.",
        "The tools and the settings of the requests, and why the model stopped.",
        "How long the model took, except for the time between two messages.",
    ),
    companions=_companions,
)
