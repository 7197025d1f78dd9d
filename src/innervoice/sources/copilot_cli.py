"""Sessions of GitHub Copilot CLI (`~/.copilot/session-state/ID/events.jsonl`) -> a conversation, and one for each subagent.

A line is an event with `type`, `data`, `id` and `timestamp`. Messages of the user, the system and the model, results of tools and tokens are events
of their own; reasoning is in `reasoningText`, and its seals in `reasoningBlocks` or `reasoningOpaque`. Events of a subagent name the call that started
it. Written by Copilot CLI 1.0.102 against the emulator, read 2026-11-17.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.messages import Message
from innervoice.canon.parts import Text, ToolResult
from innervoice.canon.response import Failure, Response
from innervoice.canon.usage import Usage
from innervoice.errors import DecodeError
from innervoice.sources.conversation import Conversation, Turn, seconds_of, title_of, with_title
from innervoice.sources.native_turns import (
    Author,
    Called,
    Piece,
    Said,
    Seals,
    Thought,
    answer_from,
    author_of,
    parts_from,
)
from innervoice.sources.reader import (
    Data,
    Entry,
    JsonLine,
    Opened,
    Reader,
    Trouble,
    first_dicts,
    folder_name,
    json_lines,
)
from innervoice.sources.transcripts import MAIN
from innervoice.wire.anthropic import DIALECT as MESSAGES
from innervoice.wire.json_access import as_count, as_dict, as_list, as_number, as_text
from innervoice.wire.responses import DIALECT as RESPONSES

__all__ = ["READER"]

_DIALECTS = {"anthropic-messages": MESSAGES.name, RESPONSES.name: RESPONSES.name, "responses": RESPONSES.name}  # fmt: skip
_SPOKEN = ("user.message", "assistant.message", "system.message")


def _recognizes(_: Data, beginning: bytes) -> bool:
    return any(
        isinstance(entry.get("data"), dict)
        and (entry.get("type") in _SPOKEN or str(entry.get("type")).startswith("session."))
        and {"id", "timestamp"} <= entry.keys()
        for entry in first_dicts(beginning)[:3]
    )


def _open(data: Data) -> Opened:
    troubles: list[Trouble] = []
    found: dict[str, Entry] = {}
    folder: str | None = None
    for line in json_lines(data, troubles):
        kind, event = _event(line)
        if kind == "session.start":
            folder = as_text(as_dict(event.get("context")).get("cwd"))
        if kind not in _SPOKEN:
            continue
        name = _thread(event)
        at = seconds_of(as_dict(line.value).get("timestamp"))
        entry = found.setdefault(name, Entry(name, at=at, parent=None if name == MAIN else MAIN))
        if kind == "user.message" and not entry.title:
            entry = entry._replace(title=title_of([_user(event)]))
        if kind == "assistant.message" and entry.model is None:
            entry = entry._replace(model=as_text(event.get("model")))
        found[name] = entry
    if not found:
        raise DecodeError("the session of Copilot CLI has no messages")
    project = folder_name(folder)
    entries = [entry._replace(project=project, folder=folder) for entry in sorted(found.values(), key=lambda entry: entry.id != MAIN)]  # fmt: skip

    def read(entry: Entry) -> Conversation:
        turns = tuple(_turns(data, entry.id))
        parent = entry.parent
        return with_title(Conversation(id=entry.id, title=entry.title, turns=turns, parent=parent))

    return Opened(entries, read, troubles)


def _event(line: JsonLine) -> tuple[str, dict[str, Any]]:
    entry = as_dict(line.value)
    return as_text(entry.get("type")) or "", as_dict(entry.get("data"))


def _thread(event: dict[str, Any]) -> str:
    return as_text(event.get("parentToolCallId")) or MAIN


def _user(event: dict[str, Any]) -> Message:
    return Message("user", (Text(as_text(event.get("content")) or ""),))


def _turns(data: Data, thread: str) -> Iterator[Turn]:
    usage: dict[str, Any] = {}
    for line in json_lines(data, []):
        kind, event = _event(line)
        at = seconds_of(as_dict(line.value).get("timestamp"))
        if kind == "session.usage_record":
            usage = as_dict(event.get("usage"))
        if _thread(event) != thread:
            continue
        match kind:
            case "user.message":
                yield Turn(message=_user(event), at=at, line=line.number)
            case "system.message":
                text = as_text(event.get("content")) or ""
                yield Turn(message=Message("system", (Text(text),)), at=at, line=line.number)
            case "assistant.message":
                answer = _answer(event, usage)
                took = as_number(usage.get("duration")) or 0
                seconds = took / 1000 if took > 0 else None
                yield Turn(message=answer.message, answer=answer, at=at, seconds=seconds, line=line.number)  # fmt: skip
                usage = {}
            case "tool.execution_complete":
                yield Turn(message=Message("tool", (_result(event),)), at=at, line=line.number)
            case "session.error":
                text = as_text(event.get("message")) or "an error without a message"
                error = Response(parts=(Text(text),), error=Failure(type=as_text(event.get("errorType")), message=text))  # fmt: skip
                yield Turn(message=error.message, answer=error, at=at, line=line.number, marks=("api_error",))  # fmt: skip
            case "session.compaction_complete":
                text = as_text(event.get("summaryContent")) or as_text(event.get("summary")) or ""
                if text:
                    yield Turn(message=Message("user", (Text(text),)), at=at, line=line.number, marks=("compaction",))  # fmt: skip


def _answer(event: dict[str, Any], usage: dict[str, Any]) -> Response:
    author = _author(event, usage)
    calls = as_list(event.get("toolRequests"))
    return answer_from(
        author,
        parts_from(author, _pieces(event)),
        id=as_text(event.get("apiCallId")),
        reason="tool_calls" if calls else "stop",
        usage=_usage(usage),
    )


def _author(event: dict[str, Any], usage: dict[str, Any]) -> Author:
    model = as_text(event.get("model")) or as_text(usage.get("model"))
    provider = None if model and "/" in model else as_text(usage.get("modelProvider"))
    author = author_of(provider, model)
    named = as_text(as_dict(event.get("reasoningBlocks")).get("provider")) or ""
    return author._replace(dialect=_DIALECTS.get(named, author.dialect))


def _pieces(event: dict[str, Any]) -> Iterator[Piece]:
    blocks = [as_dict(block) for block in as_list(as_dict(event.get("reasoningBlocks")).get("blocks"))]  # fmt: skip
    text = as_text(event.get("reasoningText")) or ""
    for block in blocks:
        summary = "\n\n".join(as_text(as_dict(part).get("text")) or "" for part in as_list(block.get("summary")))  # fmt: skip
        seals = Seals(
            signature=as_text(block.get("signature")),
            encrypted=as_text(block.get("encrypted_content")),
            redacted=as_text(block.get("data")),
            item=as_text(block.get("id")),
        )
        words = as_text(block.get("thinking")) or summary or (text if len(blocks) == 1 else "")
        yield Thought(words, "summary" if summary else "full", seals)
    if not blocks and (text or event.get("reasoningOpaque")):
        yield Thought(text, "full", Seals(encrypted=as_text(event.get("reasoningOpaque"))))
    if content := as_text(event.get("content")):
        yield Said(content)
    for call in map(as_dict, as_list(event.get("toolRequests"))):
        yield Called(as_text(call.get("toolCallId")) or "", as_text(call.get("name")) or "", call.get("arguments"))  # fmt: skip


def _result(event: dict[str, Any]) -> ToolResult:
    result, error = as_dict(event.get("result")), as_dict(event.get("error"))
    text = as_text(result.get("content")) or as_text(error.get("message")) or ""
    name = as_text(event.get("toolCallId")) or ""
    return ToolResult(name, text, error=event.get("success") is False)


def _usage(counts: dict[str, Any]) -> Usage:
    return Usage(
        input_tokens=as_count(counts.get("inputTokens")),
        output_tokens=as_count(counts.get("outputTokens")),
        reasoning_tokens=as_count(counts.get("reasoningTokens")),
        cached_input_tokens=as_count(counts.get("cacheReadTokens")),
        raw=counts or None,
    )


READER = Reader(
    kind="copilot-cli",
    name="a session of GitHub Copilot CLI",
    recognizes=_recognizes,
    open=_open,
    cannot_know=(
        "The tools and the settings of the requests.",
        "The reason why the model stopped.",
        "The order of thoughts, text and calls in an answer: thoughts are taken to be first.",
    ),
)
