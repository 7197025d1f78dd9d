"""A whole message of chat -> the deltas of its stream.

Entries of the details go as fragments under their index, a signature in a last one without text. In a
list of chunks a neighbour of the same kind is distinguished by not being the first of its delta.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.wire.chat.reasoning import DETAILS, FIELDS
from innervoice.wire.json_access import as_dict, as_list
from innervoice.wire.serve_response import pieces

__all__ = ["content_deltas", "message_deltas"]

_SEALS = ("signature", "data")


def message_deltas(message: dict[str, Any], size: int) -> Iterator[dict[str, Any]]:
    """Role, reasoning, content, refusal, calls, and what else the message has."""
    yield {"role": "assistant", "content": ""}
    yield from _reasoning_deltas(message, size)
    yield from content_deltas(message.get("content"), size)
    for piece in pieces(message.get("refusal"), size):
        yield {"refusal": piece}
    for index, call in enumerate(as_list(message.get("tool_calls"))):
        for fragment in _call_fragments(call, size):
            yield {"tool_calls": [{"index": index, **fragment}]}
    known = {"role", "content", "refusal", "tool_calls", *FIELDS}
    rest = {name: value for name, value in message.items() if name not in known}
    if rest:
        yield rest


# ---- reasoning -------------------------------------------------------------------------------------


def _reasoning_deltas(message: dict[str, Any], size: int) -> Iterator[dict[str, Any]]:
    entries = message.get(DETAILS)
    mirrored = False
    if isinstance(entries, list):
        mirrored = message.get("reasoning") in (None, "".join(map(_text, entries)))
        for fragments in _detail_deltas(entries, size):
            text = "".join(map(_text, fragments)) if mirrored else None
            yield {"content": "", "reasoning": text or None, DETAILS: fragments}
    for name in FIELDS[1:]:
        if not (mirrored and name == "reasoning"):
            for piece in pieces(message.get(name), size):
                yield {name: piece}


def _detail_deltas(entries: list[Any], size: int) -> Iterator[list[Any]]:
    if not all(isinstance(as_dict(entry).get("index"), (int, str)) for entry in entries):
        # Without an index nothing says which entry a fragment belongs to.
        yield entries
        return
    if not entries:
        yield []
    for entry in entries:
        for fragment in _entry_fragments(entry, size):
            yield [fragment]


def _entry_fragments(entry: dict[str, Any], size: int) -> Iterator[dict[str, Any]]:
    member = next((name for name in ("text", "summary") if isinstance(entry.get(name), str)), None)
    if member is None:
        yield entry
        return
    shared = {name: value for name, value in entry.items() if name not in (member, *_SEALS)}
    for piece in pieces(entry[member], size) or [""]:
        yield {**shared, member: piece}
    sealed = {name: entry[name] for name in _SEALS if name in entry}
    if sealed:
        yield {**shared, **sealed}


def _text(entry: Any) -> str:
    text = as_dict(entry).get("text") or as_dict(entry).get("summary")
    return text if isinstance(text, str) else ""


# ---- content ---------------------------------------------------------------------------------------


def content_deltas(content: Any, size: int) -> Iterator[dict[str, Any]]:
    """The deltas of a content: strings, and lists for the chunks that are more than text."""
    if isinstance(content, str):
        for piece in pieces(content, size):
            yield {"content": piece}
    before: dict[str, Any] = {}
    for chunk in map(as_dict, as_list(content)):
        first, *others = _chunk_fragments(chunk, size)
        nothing = _nothing_of(chunk)
        if before and before["type"] == nothing.get("type"):
            yield {"content": [before, first]}
        elif chunk == {"type": "text", "text": chunk.get("text")}:
            yield {"content": first["text"]}
        else:
            yield {"content": [first]}
        for fragment in others:
            yield {"content": fragment.get("text", [fragment])}
        before = nothing


def _chunk_fragments(chunk: dict[str, Any], size: int) -> Iterator[dict[str, Any]]:
    """The first fragment has all members of the chunk but for a seal, which comes last."""
    match chunk:
        case {"type": "text" | "output_text", "text": str(text)}:
            first, *others = pieces(text, size) or [""]
            yield {**chunk, "text": first}
            for piece in others:
                yield {"type": "text", "text": piece}
        case {"type": "thinking", "thinking": str() | list() as inner}:
            seal = chunk.get("signature")
            first, *others = list(_inner_fragments(inner, size)) or [inner]
            members = {
                name: item for name, item in chunk.items() if name != "signature" or not seal
            }
            yield {**members, "thinking": first}
            for fragment in others:
                yield {"type": "thinking", "thinking": fragment}
            if seal:
                yield {**_nothing_of(chunk), "signature": seal}
        case _:
            yield chunk


def _inner_fragments(inner: str | list[Any], size: int) -> Iterator[Any]:
    if isinstance(inner, str):
        yield from pieces(inner, size)
        return
    for piece in inner:
        match piece:
            case {"type": "text", "text": str(text), **more} if text and not more:
                for part in pieces(text, size):
                    yield [{"type": "text", "text": part}]
            case _:
                yield [piece]


def _nothing_of(chunk: dict[str, Any]) -> dict[str, Any]:
    """A chunk that goes on with one and adds nothing; an empty one where none can."""
    match chunk:
        case {"type": "text" | "output_text"}:
            return {"type": "text", "text": ""}
        case {"type": "thinking", "thinking": inner}:
            return {"type": "thinking", "thinking": "" if isinstance(inner, str) else []}
        case _:
            return {}


# ---- calls -----------------------------------------------------------------------------------------


def _call_fragments(call: dict[str, Any], size: int) -> Iterator[dict[str, Any]]:
    """Id and name, then the arguments in pieces; arguments that are not text come with the name."""
    kind, member = ("custom", "input") if "custom" in call else ("function", "arguments")
    inner = as_dict(call.get(kind))
    if not isinstance(inner.get(member), str):
        yield call
        return
    yield {**call, kind: {**inner, member: ""}}
    for piece in pieces(inner[member], size):
        yield {kind: {member: piece}}
