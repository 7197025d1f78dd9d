"""Logs of inspect_ai: `.eval`, a zip of JSON files, and `.json`.

After src/inspect_ai/log/_recorders/eval.py, log/_log.py, log/_condense.py, log/_pool.py and log/_recorders/chunked/format.py of
UKGovernmentBEIS/inspect_ai (read 2026-11-16).

  .eval  `header.json` (`_journal/start.json` while it runs) has `eval` with the task and the model; `samples/<id>_epoch_<n>.json` has a sample. Members may
         be compressed with zstd, which Python reads since 3.14. A sample in chunks (log version 3) is a folder `samples/<id>_epoch_<n>/`.
  .json  One object: version, status, eval, samples, ...

A sample is a conversation, one for each epoch. Its content is described in `sources/inspect_log.py`.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

from innervoice.canon.jsontext import load_json, split_items, split_members
from innervoice.canon.messages import Message
from innervoice.canon.parts import Media, Opaque, Part, Text, ToolResult
from innervoice.canon.reasoning import Reasoning
from innervoice.canon.request import Request
from innervoice.canon.response import Failure
from innervoice.canon.tools import Tool
from innervoice.canon.usage import Usage
from innervoice.errors import DecodeError
from innervoice.sources.conversation import Conversation, Turn, seconds_of, title_of
from innervoice.sources.native_turns import (
    Author,
    Called,
    Piece,
    Said,
    Seals,
    Thought,
    answer_from,
    as_effort,
    author_of,
    parts_from,
)
from innervoice.sources.reader import Data, Entry, Opened, Reader, Trouble, first_dicts
from innervoice.wire.anthropic import DIALECT as MESSAGES
from innervoice.wire.chat import DIALECT as CHAT
from innervoice.wire.converse import DIALECT as CONVERSE
from innervoice.wire.json_access import as_count, as_dict, as_list, as_text
from innervoice.wire.media import media_of_url
from innervoice.wire.responses import DIALECT as RESPONSES

__all__ = ["READER", "conversation_of", "input_title"]

_HEADERS = ("header.json", "_journal/start.json")
_SAMPLE = re.compile(r"samples/(.+_epoch_\d+)\.json", re.DOTALL)
_CHUNKED = re.compile(r"samples/(.+_epoch_\d+)/sample\.json", re.DOTALL)
_TITLES = ("summaries.json", "_journal/summaries/")
_LARGEST = 1 << 30
"""The largest file of a zip that is read, in bytes."""
_ZSTD = 93


def _recognizes(data: Data, beginning: bytes) -> bool:
    if beginning.startswith(b"PK\3\4"):
        try:
            with _zip(data) as archive:
                return any(name in archive.NameToInfo for name in _HEADERS)
        except DecodeError:
            return False
    if b'"eval"' not in beginning:
        return False
    first = next(iter(first_dicts(beginning)), {})
    evaluated = as_dict(first.get("eval"))
    return (
        "version" in first
        and "task" in evaluated
        and not evaluated.keys().isdisjoint(("run_id", "eval_id", "model"))
    )


def _open(data: Data) -> Opened:
    return _open_zip(data) if data.piece(0, 4) == b"PK\3\4" else _open_json(data)


# ---- .eval -----------------------------------------------------------------------------------------


@contextmanager
def _zip(data: Data) -> Iterator[zipfile.ZipFile]:
    """The archive; any problem with it is a `DecodeError`."""
    try:
        with zipfile.ZipFile(data.path or BytesIO(data.piece())) as archive:
            yield archive
    except _BROKEN as error:
        raise DecodeError(f"expected a log of inspect_ai, a zip: {error}") from None


_BROKEN = (
    zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, OSError, ValueError, RuntimeError, OverflowError,
)  # fmt: skip


def _open_zip(data: Data) -> Opened:
    with _zip(data) as archive:
        names = list(archive.NameToInfo)
        troubles = _unreadable(archive)
        header = _header(archive, troubles)
        titles = _titles(archive)
    evaluated = as_dict(header.get("eval"))
    model = as_text(evaluated.get("model"))
    samples = {match[1]: name for name in names if (match := _SAMPLE.fullmatch(name))}
    entries = [Entry(name, titles.get(name, name), model=model) for name in samples]

    def read(entry: Entry) -> Conversation:
        with _zip(data) as archive:
            sample = _member(archive, samples[entry.id])
        return conversation_of(entry, sample, evaluated)

    return Opened(entries, read, troubles)


def _unreadable(archive: zipfile.ZipFile) -> list[Trouble]:
    troubles = []
    if any(info.compress_type == _ZSTD for info in archive.infolist()) and not _reads_zstd():
        why = "files of the log are compressed with zstd, which Python can read since 3.14; `inspect log convert` can rewrite the log without it"
        troubles.append(Trouble(None, why))
    chunked = [match[1] for name in archive.NameToInfo if (match := _CHUNKED.fullmatch(name))]
    if chunked:
        why = f"{len(chunked)} samples are in chunks, which are not read, for example {chunked[0]}"
        troubles.append(Trouble(None, why))
    return troubles


def _reads_zstd() -> bool:
    return hasattr(zipfile, "ZIP_ZSTANDARD")


def _header(archive: zipfile.ZipFile, troubles: list[Trouble]) -> dict[str, Any]:
    for name in _HEADERS:
        if name in archive.NameToInfo:
            try:
                return as_dict(_member(archive, name))
            except DecodeError as error:
                troubles.append(Trouble(None, str(error)))
    return {}


def _titles(archive: zipfile.ZipFile) -> dict[str, str]:
    """The first words of each sample, from the summaries; none for a log without them, or with broken ones."""
    titles: dict[str, str] = {}
    for name in archive.NameToInfo:
        if not name.startswith(_TITLES):
            continue
        try:
            listed = _member(archive, name)
        except DecodeError:
            continue
        for summary in listed if isinstance(listed, list) else ():
            about = as_dict(summary)
            titles[f"{about.get('id')}_epoch_{about.get('epoch')}"] = input_title(about)
    return {name: title for name, title in titles.items() if title}


def _member(archive: zipfile.ZipFile, name: str) -> Any:
    """The JSON in a file of the archive."""
    size = archive.getinfo(name).file_size
    if size > _LARGEST:
        raise DecodeError(f"{name} has {size} bytes; at most {_LARGEST} are read")
    try:
        return load_json(archive.read(name))
    except _BROKEN as error:
        raise DecodeError(f"{name} cannot be read: {error}") from None


# ---- .json -----------------------------------------------------------------------------------------


def _open_json(data: Data) -> Opened:
    whole = data.piece()
    try:
        members = split_members(whole)
        evaluated = as_dict(load_json(bytes(members.get("eval", b"null"))))
        samples = split_items(members.get("samples", b"[]"))  # views of the whole, not copies
    except ValueError as error:
        raise DecodeError(f"expected a log of inspect_ai in JSON: {error}") from None
    model = as_text(evaluated.get("model"))
    entries: dict[str, Entry] = {}
    troubles: list[Trouble] = []
    start = 0
    for number, sample in enumerate(map(bytes, samples), 1):
        start = whole.index(sample, start)
        end = start + len(sample)
        try:
            about = _about(sample)
        except ValueError as error:
            troubles.append(Trouble(None, f"sample {number}: {error}"))
            continue
        name = f"{about.get('id')}_epoch_{about.get('epoch')}"
        name = name if name not in entries else f"{name} ({number})"
        entries[name] = Entry(name, input_title(about) or name, start, end, model=model)
        start = end

    def read(entry: Entry) -> Conversation:
        try:
            sample = load_json(data.piece(entry.start, entry.end))
        except ValueError as error:
            raise DecodeError(f"expected a sample in JSON: {error}") from None
        return conversation_of(entry, sample, evaluated)

    return Opened(list(entries.values()), read, troubles)


def _about(sample: bytes) -> dict[str, Any]:
    """What the list of samples shows of one, without reading its events."""
    members = split_members(sample)
    wanted = ("id", "epoch", "input")
    return {name: load_json(bytes(members[name])) for name in wanted if name in members}


READER = Reader(
    kind="inspect",
    name="a log of inspect_ai",
    recognizes=_recognizes,
    open=_open,
    cannot_know=(
        "When users and tools wrote: only answers have a time.",
        "The order of text and calls within an answer: the calls are listed after its content.",
        "The conversations of subagents: they are in the events of a sample, which are read for tokens and times only.",
    ),
)


# ---- A sample of inspect_ai's log -> a conversation.
#
# After src/inspect_ai/_util/content.py, model/_chat_message.py, model/_model_output.py, event/_model.py, model/_openai_responses.py and
# model/_openrouter_reasoning.py of UKGovernmentBEIS/inspect_ai (read 2026-11-16).
#
# `messages` are system, user, assistant and tool messages. Their content is a text or a list of text, reasoning, image, audio, video, document, data and
# tool_use (which ran at the provider). The members of reasoning depend on the provider:
#
# Anthropic   `reasoning` is the thought, with its `signature`; if `redacted`, it is the redacted data
# Responses   if `redacted`, `reasoning` is the encrypted content and `summary` is readable; `signature` is the id of the item
# Gemini      if `redacted`, `reasoning` is the signature and `summary` is readable
# OpenRouter  `signature` is `reasoning-details://` and the list
#
# `events` of the kind model have the usage, the times and the finish reason; their output has the same message id. Long texts may be in
# `attachments`, referred to as `attachment://<hash>`.


_DETAILS = "reasoning-details://"
_ATTACHED = ("attachment://", "tc://")
_REDACTS = frozenset({MESSAGES.name, CONVERSE.name})
"""APIs where a redacted block is all that there is."""
_MEDIA = {"image": "image", "audio": "audio", "video": "video", "document": "document"}


def input_title(sample: dict[str, Any]) -> str:
    """The first words of the input of a sample."""
    value = sample.get("input")
    if isinstance(value, str):
        return title_of([Message("user", (Text(value),))])
    users = (item for item in map(as_dict, as_list(value)) if item.get("role") == "user")
    return title_of(Message("user", _user_parts(item.get("content"))) for item in users)


def conversation_of(entry: Entry, sample: Any, evaluated: dict[str, Any]) -> Conversation:
    """The conversation of a sample; `evaluated` has the log's facts about the evaluation."""
    if not isinstance(sample, dict):
        raise DecodeError(f"expected a sample, an object, not {type(sample).__name__}")
    attached = _attachments(sample.get("attachments"))
    events = [
        event
        for event in map(as_dict, as_list(sample.get("events")))
        if event.get("event") == "model"
    ]
    events_by_answer = {name: event for event in events if (name := _answer_id(event))}
    model = as_text(evaluated.get("model"))
    turns = []
    for stored in map(as_dict, as_list(sample.get("messages"))):
        message = _resolved(stored, attached)
        event = events_by_answer.get(as_text(stored.get("id")) or "", {})
        turns.append(_turn(message, event, model))
    return Conversation(
        id=entry.id,
        title=entry.title,
        turns=tuple(turns),
        request=_request(events[-1], model) if events else None,
    )


def _answer_id(event: dict[str, Any]) -> str | None:
    choices = as_list(as_dict(event.get("output")).get("choices"))
    return as_text(as_dict(as_dict(choices[0]).get("message")).get("id")) if choices else None


def _attachments(value: Any) -> dict[str, str]:
    return {name: text for name, text in as_dict(value).items() if isinstance(text, str)}


def _resolved(value: Any, attached: dict[str, str]) -> Any:
    """A value with the texts that it refers to."""
    match value:
        case str() if value.startswith(_ATTACHED):
            return attached.get(value.partition("://")[2], value)
        case list():
            return [_resolved(item, attached) for item in value]
        case dict():
            return {name: _resolved(item, attached) for name, item in value.items()}
        case _:
            return value


# ---- turns -----------------------------------------------------------------------------------------


def _turn(message: dict[str, Any], event: dict[str, Any], model: str | None) -> Turn:
    content = message.get("content")
    match message.get("role"):
        case "assistant":
            return _model_turn(message, event, model)
        case "tool":
            failed = as_dict(message.get("error"))
            text = as_text(failed.get("message"))
            parts = tuple(
                part for part in _user_parts(content) if isinstance(part, (Text, Media, Opaque))
            )
            plain = parts[0].text if len(parts) == 1 and isinstance(parts[0], Text) else parts
            output = plain or text or ""
            result = ToolResult(as_text(message.get("tool_call_id")) or "", output, bool(failed))
            return Turn(message=Message("tool", (result,)))
        case "system":
            return Turn(message=Message("system", _user_parts(content)))
        case "user":
            return Turn(message=Message("user", _user_parts(content)))
        case _:
            return Turn(message=Message("user", (Opaque(message),)))


def _model_turn(message: dict[str, Any], event: dict[str, Any], model: str | None) -> Turn:
    author = _author(message, event, model)
    content = message.get("content")
    listed = [{"type": "text", "text": content}] if isinstance(content, str) else as_list(content)
    pieces = [piece for item in listed for piece in _pieces(item, author)]
    if thought := as_text(message.get("reasoning")):  # logs of 2025
        pieces.insert(0, Thought(thought))
    pieces += [_called(call) for call in map(as_dict, as_list(message.get("tool_calls")))]
    if any(isinstance(piece, Thought) and piece.seals.details for piece in pieces):
        author = author._replace(dialect=CHAT.name)
    parts = parts_from(author, [piece for piece in pieces if piece != Said("")])
    output = as_dict(event.get("output"))
    choice = as_dict(next(iter(as_list(output.get("choices"))), None))
    failed = as_text(event.get("error")) or as_text(output.get("error"))
    answer = answer_from(
        author,
        parts,
        id=as_text(message.get("id")),
        reason=as_text(choice.get("stop_reason")),
        usage=_usage(output.get("usage")),
        error=Failure(message=failed) if failed else None,
    )
    seconds = _duration(output.get("time"))
    at = seconds_of(event.get("completed")) or seconds_of(event.get("timestamp"))
    return Turn(message=answer.message, answer=answer, at=at, seconds=seconds)


def _duration(value: Any) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < 1e9 else None


def _author(message: dict[str, Any], event: dict[str, Any], model: str | None) -> Author:
    """The author of an answer: inspect writes `provider/model`, and in messages often the model alone."""
    requested = as_text(event.get("model")) or model or ""
    answered_by = as_text(message.get("model"))
    provider, slash, name = requested.partition("/")
    if not slash:
        return author_of(None, answered_by or requested or None)
    is_same = (
        answered_by is None
        or requested.endswith(answered_by)
        or name.startswith(answered_by)
        or answered_by.startswith(name)
    )
    return author_of(provider, answered_by or name) if is_same else author_of(None, answered_by)


def _called(call: dict[str, Any]) -> Called:
    name = as_text(call.get("id")) or ""
    return Called(name, as_text(call.get("function")) or "", call.get("arguments"))


def _pieces(item: Any, author: Author) -> Iterator[Piece]:
    match item:
        case {"type": "reasoning", "reasoning": str()}:
            yield _thought(item, author)
        case {"type": "text", "text": str(text)}:
            yield Said(text)
        case _:
            yield from _user_parts([item])


def _thought(item: dict[str, Any], author: Author) -> Thought:
    text, summary = item["reasoning"], as_text(item.get("summary"))
    signature = as_text(item.get("signature")) or None
    is_redacted = item.get("redacted") is True
    if signature and signature.startswith(_DETAILS) and (details := _details(signature)):
        return Thought((summary or "") if is_redacted else text, seals=Seals(details=details))
    if is_redacted and author.dialect in _REDACTS:
        return Thought("", "hidden", Seals(redacted=text))
    is_item = author.dialect == RESPONSES.name
    seals = Seals(item=signature) if is_item else Seals(signature=signature)
    if is_redacted:
        return Thought(summary or "", "summary", seals._replace(encrypted=text))
    return Thought(text, "summary" if is_item else "full", seals)


def _details(signature: str) -> list[Any]:
    try:
        return as_list(load_json(signature.removeprefix(_DETAILS)))
    except ValueError:
        return []


def _user_parts(content: Any) -> tuple[Part, ...]:
    """Parts of users and tools."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    return tuple(map(_part, as_list(content)))


def _part(item: Any) -> Part:
    match item:
        case {"type": "text", "text": str(text)}:
            return Text(text)
        case {"type": str(kind)} if kind in _MEDIA:
            mime, name = as_text(item.get("mime_type")), item.get("filename")
            media = media_of_url(item.get(_MEDIA[kind]), item, "", mime=mime, name=name)
            return Opaque(item) if media is None else media.replace(origin=None)
        case _:
            return Opaque(item)


# ---- facts about a request -------------------------------------------------------------------------


def _usage(value: Any) -> Usage | None:
    """The counts, as the provider has them; the total shows whether the input includes the cache, and the output the reasoning."""
    counts = as_dict(value)
    input_tokens, output = (
        as_count(counts.get("input_tokens")),
        as_count(counts.get("output_tokens")),
    )
    if input_tokens is None or output is None:
        return None
    read, written = (
        as_count(counts.get(f"input_tokens_cache_{name}")) for name in ("read", "write")
    )
    reasoning, total = (
        as_count(counts.get("reasoning_tokens")),
        as_count(counts.get("total_tokens")),
    )
    beside = (total or 0) - input_tokens - output
    cached = (read or 0) + (written or 0)
    if beside > 0 and cached and beside in (cached, cached + (reasoning or 0)):
        input_tokens, beside = input_tokens + cached, beside - cached
    if beside > 0 and beside == reasoning:
        output += reasoning
    return Usage(
        input_tokens=input_tokens,
        output_tokens=output,
        reasoning_tokens=reasoning,
        cached_input_tokens=read,
        raw=counts,
    )


def _request(event: dict[str, Any], model: str | None) -> Request | None:
    """The settings of the last request."""
    requested = as_text(event.get("model")) or model
    if not requested:
        return None
    config = as_dict(event.get("config"))
    tools = [
        tool for tool in map(as_dict, as_list(event.get("tools"))) if as_text(tool.get("name"))
    ]
    effort, budget = as_effort(config.get("reasoning_effort")), config.get("reasoning_tokens")
    budget = as_count(budget)
    return Request(
        requested,
        (),
        tools=tuple(
            Tool(tool["name"], as_text(tool.get("description")), tool.get("parameters"))
            for tool in tools
        ),
        reasoning=effort or (Reasoning(budget=budget) if budget else None),
        max_tokens=as_count(config.get("max_tokens")) or None,
    )
