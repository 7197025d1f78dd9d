"""Messages of Gemini CLI's session files -> turns.

The content of a message is described in `sources/gemini_cli.py`. A message of the model becomes a turn with its thoughts, its text and its calls, in this
order, and a turn with the results of the calls; results that a later user message repeats (as in the model's history) stay there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from innervoice.canon.messages import Message
from innervoice.canon.parts import Opaque, Part, Text, Thinking, ToolCall, ToolResult
from innervoice.canon.usage import Usage
from innervoice.errors import DecodeError
from innervoice.sources.answers import answer_from
from innervoice.sources.conversation import Mark, Turn
from innervoice.sources.native_turns import Author, author_of
from innervoice.sources.turns import seconds_of
from innervoice.wire.dialects import reader_of
from innervoice.wire.gemini import DIALECT as GEMINI
from innervoice.wire.json_access import arguments_of, as_count, as_dict, as_list, as_text
from innervoice.wire.protocol import Context
from innervoice.wire.serve import assistant_turn

__all__ = ["NOTICES", "TYPES", "Record", "is_injected", "text_of", "turns_of"]

NOTICES = ("info", "warning")
"""Types of messages that only the user sees."""
TYPES = ("user", "gemini", "error", *NOTICES)
_INJECTED = ("<session_context>", "This is the Gemini CLI.")
"""The beginnings of texts that the program puts in front of the conversation."""


class Record(NamedTuple):
    """A message, the line where it first appeared, and what happened to it."""

    message: dict[str, Any]
    line: int | None
    marks: tuple[Mark, ...] = ()


def turns_of(records: list[Record]) -> Iterator[Turn]:
    """The turns of a session."""
    answered = {
        part.call_id
        for record in records
        if record.message.get("type") == "user"
        for part in _said(record.message.get("content"))
        if isinstance(part, ToolResult)
    }
    for record in records:
        yield from _turns(record, answered)


def _turns(record: Record, answered: set[str]) -> Iterator[Turn]:
    message, at = record.message, seconds_of(record.message.get("timestamp"))
    known: dict[str, Any] = {"at": at, "line": record.line, "marks": record.marks}
    match message.get("type"):
        case "user":
            parts = _said(message.get("content"))
            texts = [part.text for part in parts if isinstance(part, Text)]
            if texts and is_injected(texts[0]):
                known["marks"] = (*record.marks, "injected")
            results = tuple(part for part in parts if isinstance(part, ToolResult))
            rest = tuple(part for part in parts if not isinstance(part, ToolResult))
            if results:
                yield Turn(message=Message("tool", results), **known)
            if rest or not results:
                yield Turn(message=Message("user", rest), **known)
        case "gemini":
            yield from _model_turns(message, known, answered)
        case "error":
            known["marks"] = (*record.marks, "api_error")
            yield Turn(message=Message("assistant", (Text(text_of(message)),)), **known)


def _model_turns(
    message: dict[str, Any], known: dict[str, Any], answered: set[str]
) -> Iterator[Turn]:
    author = author_of(None, as_text(message.get("model")) or None)
    author = author if author.dialect else Author(author.provider, author.model, GEMINI.name)
    said = _answered(message.get("content"), author)
    shown = "".join(part.text for part in said if isinstance(part, Thinking))
    called = {part.id for part in said if isinstance(part, ToolCall)}
    calls = [
        call for call in map(as_dict, as_list(message.get("toolCalls"))) if as_text(call.get("id"))
    ]
    parts = (
        *(thought for thought in _thoughts(message, author) if thought.text not in shown),
        *said,
        *(_call(call, author) for call in calls if call["id"] not in called),
    )
    answer = answer_from(
        author, parts, id=as_text(message.get("id")), usage=_usage(message.get("tokens"))
    )
    yield Turn(message=answer.message, answer=answer, **known)
    results = tuple(
        result for call in calls if call["id"] not in answered for result in _results(call)
    )
    if results:
        last = seconds_of(calls[-1].get("timestamp"))
        yield Turn(message=Message("tool", results), **{**known, "at": last})


def _thoughts(message: dict[str, Any], author: Author) -> Iterator[Thinking]:
    for thought in map(as_dict, as_list(message.get("thoughts"))):
        subject, about = as_text(thought.get("subject")), as_text(thought.get("description"))
        # The API sends the subject in bold before the description, and the program separates them.
        text = "\n\n".join(piece for piece in (f"**{subject}**" if subject else "", about) if piece)
        yield Thinking(text, "summary" if text else "hidden", origin=author.origin)


def _call(call: dict[str, Any], author: Author) -> ToolCall:
    name = as_text(call.get("name")) or ""
    return ToolCall(call["id"], name, arguments_of(call.get("args")), origin=author.origin)


def _results(call: dict[str, Any]) -> Iterator[ToolResult]:
    """The result of a call, as the model got it; a call that was never run has none."""
    failed = call.get("status") in ("error", "cancelled")
    result = call.get("result")
    found = [part for part in _said(result) if isinstance(part, ToolResult)]
    if found:
        same = [part for part in found if part.call_id == call["id"]] or found[:1]
        yield same[0].replace(call_id=call["id"], error=failed or same[0].error)
    elif result is not None and result != []:
        parts = tuple(part for part in _said(result) if isinstance(part, (Text, Opaque)))
        whole = parts[0].text if len(parts) == 1 and isinstance(parts[0], Text) else parts
        yield ToolResult(call["id"], whole, failed)


def _usage(tokens: Any) -> Usage | None:
    """The counts of the Gemini API: thoughts are not included in the output, and results of its own tools not in the input."""
    counts = as_dict(tokens)
    if not counts:
        return None
    thoughts, output = as_count(counts.get("thoughts")), as_count(counts.get("output"))
    given, tools = as_count(counts.get("input")), as_count(counts.get("tool"))
    return Usage(
        input_tokens=None if given is None else given + (tools or 0),
        output_tokens=None if output is None else output + (thoughts or 0),
        reasoning_tokens=thoughts,
        cached_input_tokens=as_count(counts.get("cached")),
        raw=counts,
    )


# ---- contents --------------------------------------------------------------------------------------


def _wire_parts(content: Any) -> list[Any]:
    """The parts of a content, which may be a text, a part or a list of these."""
    listed = content if isinstance(content, list) else [] if content in (None, "") else [content]
    return [{"text": item} if isinstance(item, str) else item for item in listed]


def _said(content: Any) -> tuple[Part, ...]:
    """Parts of the user, or of a tool."""
    parts = _wire_parts(content)
    if not parts:
        return ()
    try:
        read = GEMINI.request_reader({"contents": [{"role": "user", "parts": parts}]})
    except DecodeError:
        return (Opaque(content, origin=None),)
    return tuple(part for message in read.messages for part in message.parts)


def _answered(content: Any, author: Author) -> tuple[Part, ...]:
    """Parts of the model."""
    parts = _wire_parts(content)
    if not parts:
        return ()
    context = Context(provider=author.provider, model=author.model, whole=True)
    answer = {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}
    return assistant_turn(reader_of(GEMINI.name, context), answer).parts


def text_of(message: dict[str, Any]) -> str:
    """The text of a message."""
    return "".join(
        as_text(as_dict(part).get("text")) or "" for part in _wire_parts(message.get("content"))
    )


def is_injected(text: str) -> bool:
    """Whether the program wrote a text of the user."""
    return text.startswith(_INJECTED)
