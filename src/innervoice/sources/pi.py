"""Sessions of pi (`~/.pi/agent/sessions/--FOLDER--/TIME_ID.jsonl`) -> a conversation.

The first line is the session, with its folder. A line of type message has a message of the user, of the model (`thinking`, `text` and `toolCall`
in order, with the API, the tokens and the cost) or of a tool; since 0.86 also the system prompt in named sections, and later the sections that
have changed. Lines form a tree by `id` and `parentId`: the conversation is the chain from the last line up. Written by pi 0.73.1 and 1.5.2 against
the emulator, read 2026-11-17 and 2026-11-19.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.messages import Message
from innervoice.canon.parts import Media, Opaque, Text, ToolResult
from innervoice.canon.response import Failure
from innervoice.canon.usage import Usage
from innervoice.errors import DecodeError
from innervoice.sources.branches import ancestors
from innervoice.sources.conversation import (
    Conversation,
    Mark,
    Turn,
    seconds_of,
    title_of,
    with_title,
)
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
from innervoice.sources.reader import (
    Data,
    Entry,
    Opened,
    Reader,
    Trouble,
    first_dicts,
    folder_name,
    json_lines,
)
from innervoice.sources.transcripts import MAIN
from innervoice.wire.anthropic import DIALECT as MESSAGES
from innervoice.wire.chat import DIALECT as CHAT
from innervoice.wire.gemini import DIALECT as GEMINI
from innervoice.wire.json_access import as_count, as_dict, as_list, as_number, as_text, parsed
from innervoice.wire.responses import DIALECT as RESPONSES

__all__ = ["APIS", "READER"]

_DIALECTS = {
    "anthropic-messages": MESSAGES.name,
    "openai-completions": CHAT.name,
    RESPONSES.name: RESPONSES.name,
    "google-generative-ai": GEMINI.name,
}
APIS = {dialect: api for api, dialect in _DIALECTS.items()}
"""The dialect of a turn of the model -> its name in pi."""
_REASONS = {"toolUse": "tool_calls", "aborted": None, "error": None}
_SUMMARIES = ("compaction", "branch_summary")


def _recognizes(_: Data, beginning: bytes) -> bool:
    first = next(iter(first_dicts(beginning)), {})
    return first.get("type") == "session" and isinstance(first.get("id"), str) and "cwd" in first


def _open(data: Data) -> Opened:
    troubles: list[Trouble] = []
    title, model, at, folder = "", None, None, None
    count = 0
    for line in json_lines(data, troubles):
        entry, message = as_dict(line.value), as_dict(as_dict(line.value).get("message"))
        if entry.get("type") == "session":
            at = seconds_of(entry.get("timestamp"))
            folder = as_text(entry.get("cwd"))
        if entry.get("type") == "session_info" and (name := as_text(entry.get("name"))):
            title = name
        if entry.get("type") != "message":
            continue
        count += 1
        if message.get("role") == "user" and not title:
            title = title_of([_user(message)])
        model = model or as_text(message.get("model"))
    if not count:
        raise DecodeError("the session of pi has no messages")

    def read(entry: Entry) -> Conversation:
        conversation = Conversation(id=entry.id, title=entry.title, turns=tuple(_turns(data)))
        return with_title(conversation)

    project = folder_name(folder)
    main = Entry(MAIN, title, at=at, model=model, project=project, folder=folder)
    return Opened([main], read, troubles)


def _turns(data: Data) -> Iterator[Turn]:
    lines = [line for line in json_lines(data, []) if isinstance(line.value, dict)]
    entries = [line.value for line in lines]
    named = {name: number for number, entry in enumerate(entries) if (name := as_text(entry.get("id"))) and entry.get("type") != "session"}  # fmt: skip
    active = set(ancestors(max(named.values()), entries, named, ("parentId",))) if named else set()
    before: float | None = None
    for number, (line, entry) in enumerate(zip(lines, entries, strict=True)):
        marks: tuple[Mark, ...] = ("abandoned",) if named and number not in active else ()
        turn = _turn(entry, marks)
        if turn is None:
            continue
        took = (
            turn.at - before if turn.at and before and turn.answer and turn.at >= before else None
        )
        before = turn.at or before
        yield turn.replace(line=line.number, seconds=round(took, 3) if took is not None else None)


def _turn(entry: dict[str, Any], marks: tuple[Mark, ...]) -> Turn | None:
    at = seconds_of(entry.get("timestamp"))
    if entry.get("type") in _SUMMARIES:
        summary = Message("user", (Text(as_text(entry.get("summary")) or ""),))
        return Turn(message=summary, at=at, marks=("compaction", *marks))
    message = as_dict(entry.get("message"))
    if entry.get("type") != "message" or not message:
        return None
    match message.get("role"):
        case "assistant":
            return _answer(message, at, marks)
        case "toolResult":
            content = tuple(_content(message))
            texts = all(isinstance(part, Text) for part in content)
            whole = "".join(part.text for part in content if isinstance(part, Text))
            result = ToolResult(as_text(message.get("toolCallId")) or "", whole if texts else content, error=message.get("isError") is True)  # fmt: skip
            return Turn(message=Message("tool", (result,)), at=at, marks=marks)
        case "system":
            prompt = _system(message)
            return Turn(message=prompt, at=at, marks=marks) if prompt.parts else None
        case _:
            return Turn(message=_user(message), at=at, marks=marks)


def _system(message: dict[str, Any]) -> Message:
    """The system prompt, or what is new in it; without parts if only tools have changed, or sections are gone."""
    content = tuple(_content(message))
    texts = [part.text for part in content if isinstance(part, Text)]
    texts += [text for text in as_dict(message.get("sections")).values() if isinstance(text, str)]
    prompt = "\n\n".join(filter(None, texts))
    others = tuple(part for part in content if not isinstance(part, Text))
    return Message("system", (Text(prompt), *others) if prompt else others)


def _user(message: dict[str, Any]) -> Message:
    return Message("user", tuple(_content(message)))


def _content(message: dict[str, Any]) -> Iterator[Text | Media | Opaque]:
    if isinstance(message.get("content"), str):
        yield Text(message["content"])
    for block in as_list(message.get("content")):
        match block:
            case {"type": "text", "text": str(text)}:
                yield Text(text)
            case {"type": "image", "data": str(data), "mimeType": str(mime)}:
                yield Media(mime=mime, data=data)
            case _:
                yield Opaque(block)


def _answer(message: dict[str, Any], at: float | None, marks: tuple[Mark, ...]) -> Turn:
    author = _author(message)
    parts = parts_from(author, [piece for block in as_list(message.get("content")) for piece in _pieces(block, author)])  # fmt: skip
    reason = as_text(message.get("stopReason")) or ""
    failed = as_text(message.get("errorMessage")) if reason in ("error", "aborted") else None
    answer = answer_from(
        author,
        parts,
        id=as_text(message.get("responseId")),
        ended=reason not in ("", "error", "aborted"),
        reason=_REASONS.get(reason, reason),
        usage=_usage(as_dict(message.get("usage"))),
        error=Failure(message=failed) if failed else None,
    )
    is_shown = bool(failed) and not parts
    cost = as_dict(as_dict(message.get("usage")).get("cost")).get("total")
    return Turn(
        message=answer.message,
        answer=answer,
        at=at,
        cost=as_number(cost) or None,
        marks=("api_error", *marks) if is_shown else marks,
    )


def _author(message: dict[str, Any]) -> Author:
    """The author; a provider of the user's own configuration is unknown, but its API is not."""
    dialect = _DIALECTS.get(as_text(message.get("api")) or "")
    model, provider = as_text(message.get("model")) or "", as_text(message.get("provider"))
    author = author_of(None if "/" in model else provider, model or None)
    return author._replace(dialect=dialect or author.dialect)


def _pieces(block: Any, author: Author) -> Iterator[Piece]:
    match block:
        case {"type": "text", "text": str(text)}:
            yield Said(text)
        case {"type": "thinking", "thinking": str(text)}:
            seals = _seals(block, author)
            form = "summary" if author.dialect in (RESPONSES.name, GEMINI.name) else "full"
            yield Thought("" if block.get("redacted") is True else text, form, seals)  # type: ignore[arg-type]
        case {"type": "toolCall", "id": str(name), "name": str(tool)}:
            signature = as_text(block.get("thoughtSignature"))
            seals = Seals(signature=signature) if signature else UNSEALED
            yield Called(name, tool, block.get("arguments"), seals)
        case _:
            yield Opaque(block)


def _seals(block: dict[str, Any], author: Author) -> Seals:
    signature = as_text(block.get("thinkingSignature"))
    if not signature or author.dialect == CHAT.name:  # there it names the member of the text
        return UNSEALED
    if author.dialect == RESPONSES.name:
        item = as_dict(parsed(signature))
        return Seals(encrypted=as_text(item.get("encrypted_content")), item=as_text(item.get("id")))
    return (
        Seals(redacted=signature) if block.get("redacted") is True else Seals(signature=signature)
    )


def _usage(counts: dict[str, Any]) -> Usage:
    fresh, read, written = (as_count(counts.get(name)) for name in ("input", "cacheRead", "cacheWrite"))  # fmt: skip
    known = [count for count in (fresh, read, written) if count is not None]
    return Usage(
        input_tokens=sum(known) if fresh is not None else None,
        output_tokens=as_count(counts.get("output")),
        cached_input_tokens=read,
        reasoning_tokens=as_count(counts.get("reasoning")),
        raw=counts or None,
    )


READER = Reader(
    kind="pi",
    name="a session of pi",
    recognizes=_recognizes,
    open=_open,
    cannot_know=(
        "The tools of the requests; in sessions of pi before 0.86 also the system prompt.",
        "How many tokens were reasoning, in older sessions.",
        "How long the model took, except for the time between two lines.",
    ),
)
