"""Messages and parts of opencode -> turns.

Their content is described in `__init__.py`. A message of the model may have several steps (requests), each between a `step-start` and a
`step-finish`; each step is a turn, followed by a turn with the results of its calls. Parts for opencode's own use (snapshots, patches) are not part
of the conversation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from innervoice.canon.messages import Message
from innervoice.canon.notes import Note
from innervoice.canon.parts import Media, Opaque, Part, Text, ToolResult
from innervoice.canon.response import Failure
from innervoice.canon.usage import Usage
from innervoice.sources.conversation import Mark, Turn, seconds_of
from innervoice.sources.native_turns import (
    UNSEALED,
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
from innervoice.wire.anthropic import DIALECT as MESSAGES
from innervoice.wire.chat import DIALECT as CHAT
from innervoice.wire.converse import DIALECT as CONVERSE
from innervoice.wire.gemini import DIALECT as GEMINI
from innervoice.wire.json_access import as_count, as_dict, as_list, as_text
from innervoice.wire.media import media_of_url
from innervoice.wire.responses import DIALECT as RESPONSES

__all__ = ["SEAL_NAMES", "StoredMessage", "turns_of"]

_DIALECTS = {
    "anthropic": MESSAGES.name,
    "vertexAnthropic": MESSAGES.name,
    "openai": RESPONSES.name,
    "azure": RESPONSES.name,
    "xai": RESPONSES.name,
    "google": GEMINI.name,
    "vertex": GEMINI.name,
    "bedrock": CONVERSE.name,
    "openrouter": CHAT.name,
    "copilot": "",  # a member of its own, in chat
}
"""The names under which the AI SDK keeps what a provider needs back, and the API of each (ai-sdk 6, 2026-11-16)."""
SEAL_NAMES = {
    "anthropic": "anthropic",
    "vertex": "vertexAnthropic",
    "openai": "openai",
    "azure": "azure",
    "xai": "xai",
    "gemini": "google",
    "bedrock": "bedrock",
}
"""The name under which it keeps what a host of the catalog needs back."""
_SUMMARIZED = frozenset({RESPONSES.name})
"""APIs whose readable reasoning is a summary."""
_OWN = frozenset({"step-start", "step-finish", "snapshot", "patch", "retry", "agent"})
"""Parts for opencode's own use."""
_INLINED = ("text/plain", "application/x-directory")
"""Files whose text opencode sends in a separate part."""


class StoredMessage(NamedTuple):
    """A message of a store, and its parts."""

    id: str
    info: dict[str, Any]
    parts: list[dict[str, Any]]


def turns_of(messages: list[StoredMessage], reverted: str | None = None) -> Iterator[Turn]:
    """The turns of a session; those from the message `reverted` on were undone."""
    is_gone = False
    for message in messages:
        is_gone = is_gone or message.id == reverted
        marks: tuple[Mark, ...] = ("abandoned",) if is_gone else ()
        if message.info.get("role") == "assistant":
            yield from _model_turns(message, marks)
        else:
            yield _user_turn(message, marks)


# ---- the user --------------------------------------------------------------------------------------


def _user_turn(message: StoredMessage, marks: tuple[Mark, ...]) -> Turn:
    parts = tuple(part for stored in message.parts for part in _user_parts(stored))
    texts = [stored for stored in message.parts if stored.get("type") == "text"]
    if texts and all(stored.get("synthetic") is True for stored in texts):
        marks = (*marks, "injected")
    at = seconds_of(as_dict(message.info.get("time")).get("created"))
    return Turn(message=Message("user", parts), at=at, marks=marks)


def _user_parts(stored: dict[str, Any]) -> Iterator[Part]:
    match stored:
        case {"type": "text", "ignored": True}:
            return  # shown, and not sent
        case {"type": "text", "text": str(text)}:
            yield Text(text)
        case {"type": "file"}:
            if as_text(stored.get("mime")) not in _INLINED:
                yield _file(stored)
        case {"type": str(kind)} if kind in _OWN:
            return
        case _:
            yield Opaque(stored)


def _file(stored: dict[str, Any]) -> Media | Opaque:
    mime, name = as_text(stored.get("mime")), stored.get("filename")
    media = media_of_url(stored.get("url"), stored, "", mime=mime, name=name)
    return Opaque(stored) if media is None else media.replace(origin=None)


# ---- the model -------------------------------------------------------------------------------------


def _model_turns(message: StoredMessage, marks: tuple[Mark, ...]) -> Iterator[Turn]:
    info, time = message.info, as_dict(message.info.get("time"))
    if info.get("summary") is True:
        marks = (*marks, "compaction")
    begun, completed = seconds_of(time.get("created")), seconds_of(time.get("completed"))
    steps = _steps(message.parts)
    for number, step in enumerate(steps):
        is_last, is_only = number == len(steps) - 1, len(steps) == 1
        author = _author(info, step)
        finish = next((part for part in step if part.get("type") == "step-finish"), {})
        counted = finish.get("tokens") or (info.get("tokens") if is_only else None)
        error = _failure(info.get("error")) if is_last else None
        parts = parts_from(author, [piece for part in step for piece in _pieces(part, author)])
        answer = answer_from(
            author,
            parts,
            id=message.id,
            ended=bool(finish) or completed is not None,
            reason=as_text(finish.get("reason"))
            or (as_text(info.get("finish")) if is_last else None),
            usage=_usage(counted),
            error=error,
            notes=tuple(Note("retried") for part in step if part.get("type") == "retry")[:1],
        )
        took = completed - begun if is_only and completed and begun else None
        yield Turn(
            message=answer.message,
            answer=answer,
            at=begun if number == 0 else None,
            seconds=took,
            marks=marks,
        )
        results = [(part, result) for part in step for result in _results(part)]
        if results:
            ends = [
                as_dict(as_dict(part.get("state")).get("time")).get("end") for part, _ in results
            ]
            result_message = Message("tool", tuple(result for _, result in results))
            yield Turn(message=result_message, at=seconds_of(ends[-1]), marks=marks)


def _steps(parts: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    steps: list[list[dict[str, Any]]] = [[]]
    for part in parts:
        if part.get("type") == "step-start" and steps[-1]:
            steps.append([])
        steps[-1].append(part)
    return steps


def _author(info: dict[str, Any], step: list[dict[str, Any]]) -> Author:
    """The author of an answer; if the provider is unknown, the names in the metadata of parts show the API."""
    model = as_dict(info.get("model"))
    provider = as_text(info.get("providerID")) or as_text(model.get("providerID"))
    author = author_of(
        provider or "", as_text(info.get("modelID")) or as_text(model.get("modelID"))
    )
    names = [name for part in step for name in as_dict(part.get("metadata")) if name in _DIALECTS]
    return author._replace(dialect=_DIALECTS[names[0]] or None) if names else author


def _pieces(part: dict[str, Any], author: Author) -> Iterator[Piece]:
    seals = _seals(as_dict(part.get("metadata")))
    match part:
        case {"type": "text", "text": str(text)}:
            yield Said(text, seals)
        case {"type": "reasoning", "text": str(text)}:
            # A redacted block has a text that opencode wrote.
            readable = "" if seals.redacted else text
            yield Thought(readable, "summary" if author.dialect in _SUMMARIZED else "full", seals)
        case {"type": "tool", "callID": str(name), "tool": str(tool)}:
            state = as_dict(part.get("state"))
            arguments = state.get("input")
            yield Called(name, tool, state.get("raw") if arguments is None else arguments, seals)
        case {"type": "file"}:
            yield _file(part)
        case {"type": str(kind)} if kind in _OWN:
            return
        case _:
            yield Opaque(part)


def _seals(metadata: dict[str, Any]) -> Seals:
    for members in map(as_dict, metadata.values()):
        details = members.get("reasoning_details")
        seals = Seals(
            signature=as_text(members.get("signature")) or as_text(members.get("thoughtSignature")),
            encrypted=as_text(members.get("reasoningEncryptedContent"))
            or as_text(members.get("reasoningOpaque")),
            redacted=as_text(members.get("redactedData")),
            item=as_text(members.get("itemId")),
            details=details if isinstance(details, list) and details else None,
        )
        if seals != UNSEALED:
            return seals
    return UNSEALED


def _results(part: dict[str, Any]) -> Iterator[ToolResult]:
    if part.get("type") != "tool" or as_text(part.get("callID")) is None:
        return
    name = part["callID"]
    match part.get("state"):
        case {"status": "completed", **state}:
            output = as_text(state.get("output")) or ""
            files = [_file(file) for file in map(as_dict, as_list(state.get("attachments")))]
            yield ToolResult(name, (Text(output), *files) if files else output)
        case {"status": "error", **state}:
            yield ToolResult(name, as_text(state.get("error")) or "", error=True)


def _failure(error: Any) -> Failure | None:
    """What ended an answer early; the provider's headers and bodies are left out."""
    if not isinstance(error, dict):
        return None
    data = as_dict(error.get("data"))
    code = as_count(data.get("statusCode"))
    return Failure(type=as_text(error.get("name")), code=code, message=as_text(data.get("message")))


def _usage(tokens: Any) -> Usage | None:
    """opencode counts cached tokens separately from the input. Newer versions also count reasoning separately from the output, and then have a total."""
    counts = as_dict(tokens)
    cache = as_dict(counts.get("cache"))
    input_tokens, output = as_count(counts.get("input")), as_count(counts.get("output"))
    if input_tokens is None or output is None:
        return None
    read, written = as_count(cache.get("read")) or 0, as_count(cache.get("write")) or 0
    reasoning = as_count(counts.get("reasoning")) or 0
    total = as_count(counts.get("total"))
    whole_input = input_tokens + read + written
    is_beside = reasoning > output if total is None else total >= whole_input + output + reasoning
    return Usage(
        input_tokens=whole_input,
        output_tokens=output + reasoning if is_beside else output,
        reasoning_tokens=reasoning,
        cached_input_tokens=read,
        raw=counts,
    )
