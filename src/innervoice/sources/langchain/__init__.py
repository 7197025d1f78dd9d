"""LangChain messages -> messages, with the position of each part in the stored data; and the repair of such a list.

They are stored in three forms: as `messages_to_dict` returns them (`type` and `data`), as `dumpd` does (`lc`, `id`
and `kwargs`), and flat (`model_dump`, LangGraph's server). The members are the same.
Reasoning is a block of the content, or a member of `additional_kwargs`; calls are in `tool_calls`,
and also blocks of the content for providers that put them there (langchain-core 1.7.2, 2026-11-20).
"""

from __future__ import annotations

from base64 import b64encode
from types import SimpleNamespace
from typing import Any, NamedTuple

from innervoice.canon.messages import Message
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Media, Opaque, Part, Text, ToolCall, ToolResult
from innervoice.canon.words import role_of
from innervoice.catalog.lookup import host_in_langchain
from innervoice.errors import DecodeError
from innervoice.planning.turns import UNANSWERED
from innervoice.sources.langchain.blocks import is_withdrawn, parts_of, plain_part
from innervoice.sources.repairs import Change, mend
from innervoice.wire.anthropic import DIALECT as ANTHROPIC
from innervoice.wire.chat.reasoning import FIELDS
from innervoice.wire.dialects import DEFAULT, DIALECTS, dialect_named, dialect_of, reader_of
from innervoice.wire.gemini import DIALECT as GEMINI
from innervoice.wire.json_access import arguments_of, as_dict, as_list, as_text
from innervoice.wire.objects import json_of
from innervoice.wire.protocol import Context
from innervoice.wire.serve import UserContent, assistant_turn, check_message

__all__ = [
    "CONTENT",
    "MemberPosition",
    "from_object",
    "is_langchain",
    "members_of",
    "read_langchain",
    "read_message",
    "repair_langchain",
]

_TYPES = {"human", "ai", "system", "tool", "function", "chat", "remove"}
_MEMBERS = (
    "content", "additional_kwargs", "response_metadata", "type", "name", "id", "role", "tool_calls",
    "invalid_tool_calls", "usage_metadata", "tool_call_id", "artifact", "status",
)  # fmt: skip
_SIGNATURES = "__gemini_function_call_thought_signatures__"


class MemberPosition(NamedTuple):
    """The position of a part: the member of the message, and the index in it."""

    member: str
    number: int | None = None


def is_langchain(items: list[Any]) -> bool:
    """Whether there are LangChain messages, in one of the stored forms, among these."""
    return any(_kind(item) is not None for item in items)


def from_object(message: Any) -> Any:
    """A LangChain message as flat JSON; anything else as it is."""
    if isinstance(message, dict) or not hasattr(message, "additional_kwargs"):
        return message
    members = {name: getattr(message, name) for name in _MEMBERS if hasattr(message, name)}
    return json_of(members)


def read_langchain(items: list[Any]) -> list[Message]:
    """One message for each item; raises `DecodeError` with the position of a value that has a wrong type."""
    for number, item in enumerate(items):
        if _kind(item) is None:
            raise DecodeError(
                f"message {number}: not a LangChain message, unlike others in the list"
            )
        check_message(members_of(item), f"message {number}: ")
    return [read_message(item)[0] for item in items]


def _kind(item: Any) -> str | None:
    """The type of a message without the name of its class: `ai` for an AIMessageChunk as well."""
    if not isinstance(item, dict) or ("role" in item and item.get("type") != "chat"):
        return None
    members = members_of(item)
    name = item.get("type")
    if item.get("lc") == 1:
        names = [part for part in as_list(item.get("id")) if isinstance(part, str)]
        name = names[-1] if names else None
    if not isinstance(name, str) or "content" not in members:
        return None
    short = name.removesuffix("Chunk").removesuffix("Message").lower()
    return short if short in _TYPES else None


def members_of(item: dict[str, Any]) -> dict[str, Any]:
    """The members of a message, in whichever of the three forms it was stored."""
    for name in ("kwargs", "data"):
        if isinstance(item.get(name), dict):
            members: dict[str, Any] = item[name]
            return members
    return item


def read_message(item: dict[str, Any]) -> tuple[Message, list[MemberPosition]]:
    """One stored message, and the position of each of its parts."""
    members, kind = members_of(item), _kind(item) or ""
    content = members.get("content")
    if kind == "chat":
        kind = str(members.get("role"))
    role = (role_of(kind) if kind != "function" else None) or "user"
    if kind == "tool":
        failed = members.get("status") == "error"
        result = CONTENT.result(members.get("tool_call_id"), content, error=failed)
        return Message("tool", (result,)), [MemberPosition("")]
    if role != "assistant":
        parts = CONTENT.parts(content)
        return Message(role, parts), [MemberPosition("content")] * len(parts)
    parts_and_spots = [*_reasoning(members), *_content_parts(members), *_calls(members)]
    return Message(role, tuple(part for part, _ in parts_and_spots)), [
        spot for _, spot in parts_and_spots
    ]


def _reasoning(members: dict[str, Any]) -> list[tuple[Part, MemberPosition]]:
    extra = as_dict(members.get("additional_kwargs"))
    fields = {name: extra[name] for name in FIELDS if name in extra}
    parts = _answered(members, additional_kwargs=fields) if fields else ()
    return [(part, MemberPosition("additional_kwargs")) for part in parts]


def _content_parts(members: dict[str, Any]) -> list[tuple[Part, MemberPosition]]:
    content = members.get("content")
    if isinstance(content, str):
        return [(Text(content), MemberPosition("content"))] if content else []
    return [
        (part, MemberPosition("content", number))
        for number, block in enumerate(as_list(content))
        for part in _block_parts(members, block)
    ]


def _block_parts(members: dict[str, Any], block: Any) -> tuple[Part, ...]:
    """The parts of a block: one of ours restored, a standard call as it is, others as their provider sends them."""
    if is_withdrawn(block):
        return ()
    if block_parts := parts_of(block):
        return tuple(part for _, part in block_parts)
    if as_dict(block).get("type") in ("tool_call", "invalid_tool_call"):
        return (plain_part(block),)
    return _answered(members, content=[block])


def _answered(members: dict[str, Any], **pieces: Any) -> tuple[Part, ...]:
    """The parts of one piece of a message, read as its provider would have sent it."""
    metadata = as_dict(members.get("response_metadata"))
    provider_name = as_text(metadata.get("model_provider")) or ""
    host = host_in_langchain(provider_name)
    provider = host.id if host else None
    whole = {"content": "", "additional_kwargs": {}, "response_metadata": metadata}
    value = json_of(SimpleNamespace(**{**whole, **pieces}))
    for block in as_list(pieces.get("content")):
        value = _native(block, provider) or value
    name = as_text(metadata.get("model_name")) or as_text(metadata.get("model"))
    context = Context(provider=provider, model=name)
    return assistant_turn(reader_of(dialect_of(value) or DEFAULT, context), value).parts


def _native(block: Any, provider: str | None) -> dict[str, Any] | None:
    """The block that Google and Bedrock send, for a block that LangChain has renamed."""
    match block:
        case {"type": "thinking", "thinking": str(text)} if provider in ("gemini", "vertex"):
            part: dict[str, Any] = {"text": text, "thought": True}
            if block.get("signature"):
                part["thoughtSignature"] = block["signature"]
            return {"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]}
        case {"type": "reasoning_content", "reasoning_content": dict(inner)}:
            content = {"content": [{"reasoningContent": {"reasoningText": inner}}]}
            return {"output": {"message": content}, "stopReason": "end_turn"}
        case _:
            return None


def _calls(members: dict[str, Any]) -> list[tuple[Part, MemberPosition]]:
    """The tool calls that are not blocks of the content."""
    block_ids = {block.get("call_id") or block.get("id") for block in _call_blocks(members)}
    extra = as_dict(members.get("additional_kwargs"))
    signatures = as_dict(extra.get(_SIGNATURES))
    calls = [*as_list(members.get("tool_calls")), *as_list(members.get("invalid_tool_calls"))]
    if not calls:  # the form of older versions
        calls = [
            {
                "id": as_dict(call).get("id"),
                "name": inner.get("name"),
                "args": inner.get("arguments"),
            }
            for call in as_list(extra.get("tool_calls"))
            if (inner := as_dict(as_dict(call).get("function")))
        ]
    return [
        (_call(call, call_id, as_text(signatures.get(call_id))), MemberPosition("tool_calls"))
        for call in map(as_dict, calls)
        if (call_id := as_text(call.get("id"))) and call_id not in block_ids
    ]


def _call_blocks(members: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        block
        for block in map(as_dict, as_list(members.get("content")))
        if block.get("type") in ("tool_use", "function_call", "tool_call", "invalid_tool_call")
    ]


def _call(call: dict[str, Any], call_id: str, signed: str | None) -> ToolCall:
    name, arguments = as_text(call.get("name")) or "", arguments_of(call.get("args"))
    origin = None
    if signed:
        block = {
            "functionCall": {"name": name, "args": call.get("args")},
            "thoughtSignature": signed,
        }
        origin = Origin(dialect=GEMINI.name, block=block, seals=("thoughtSignature",))
    return ToolCall(call_id, name, arguments, origin=origin)


# ---- The content of user and tool messages of LangChain -> parts.
#
# A content is a text or a list of blocks: LangChain's standard blocks (version 1, and those with `source_type` of version 0), or blocks of a
# provider, which its integration passes on. A block of any other form is passed on as it is.


_FILES = ("image", "audio", "video", "file", "text-plain", "media")
_USUAL = {"image": "image/png", "audio": "audio/wav", "video": "video/mp4", "text-plain": "text/plain"}  # fmt: skip


class _Content(UserContent):
    """Reads a LangChain content."""

    def part(self, block: Any) -> Part:
        match block:
            case {"type": "text", "text": str(text), "cache_control": _}:
                return Text(text, origin=Origin(dialect=ANTHROPIC.name, block=block))
            case {"type": "text", "text": str(text)}:
                return Text(
                    text
                )  # further members, such as ids and annotations, are LangChain's own
            case _:
                part = super().part(block)
        return Opaque(block) if isinstance(part, Opaque) else part


def _read_block(block: dict[str, Any]) -> Part | None:
    kind = block.get("type")
    if kind in _FILES and (file := _standard_file(block, str(kind))):
        return file
    files = (dialect_named(name).files.read_media(block) for name in DIALECTS)
    return next((file for file in files if file), None)


def _standard_file(block: dict[str, Any], kind: str) -> Media | None:
    """The file in a standard block, or None for another provider's block of that type."""
    data, url = (
        as_text(block.get("base64")) or as_text(block.get("data")),
        as_text(block.get("url")),
    )
    text = as_text(block.get("text"))
    if data is None and url is None and text is not None:
        data = b64encode(text.encode("utf-8", "surrogatepass")).decode("ascii")
    if data is None and url is None:
        return None
    mime = as_text(block.get("mime_type")) or _USUAL.get(kind, "application/pdf")
    name = as_text(block.get("filename")) or as_text(block.get("name"))
    return Media(mime, data, None if data else url, name=name)


CONTENT = _Content(DEFAULT, _read_block)


# ---- A list of LangChain messages -> the same list, as a target accepts it, in the form in which it was stored.


def repair_langchain(items: list[Any], target: str) -> tuple[list[Any], list[str]]:
    """The repaired list, and a line of text for each change."""
    read = [read_message(item) for item in items]
    changes = mend([message for message, _ in read], target)
    by_message: dict[int, list[Change]] = {}
    for change in changes:
        by_message.setdefault(change.message, []).append(change)
    arriving: dict[int, list[int]] = {}
    for change in changes:
        if change.step == "moved":
            arriving.setdefault(change.to, []).append(change.message)
    written: list[Any] = []
    for number, item in enumerate(items):
        item_changes = by_message.get(number, [])
        message, spots = read[number]
        repaired = _changed(item, message, spots, item_changes) if item_changes else item
        if any(change.step == "moved" for change in item_changes):
            continue  # a result is a message of its own, and comes after its call
        if repaired is not None:
            written.append(repaired)
        written += [
            _changed(items[late], *read[late], by_message[late])
            for late in arriving.get(number, ())
        ]
        written += [
            _result_message(item, message.parts[change.part or 0], change.id)
            for change in item_changes
            if change.step == "answered"
        ]
    return written, [change.described(f"message {change.message}") for change in changes]


def _changed(
    item: dict[str, Any], message: Message, spots: list[MemberPosition], changes: list[Change]
) -> dict[str, Any] | None:
    """The message without the removed parts and with new ids; None if no part is left."""
    gone = {change.part for change in changes if change.step == "removed"}
    dropped = {spots[part] for part in gone if part is not None}
    if None in gone or dropped.issuperset(spots):
        return None
    members = members_of(item)
    repaired = dict(members)
    if isinstance(repaired.get("content"), list):
        repaired["content"] = [
            block
            for number, block in enumerate(repaired["content"])
            if MemberPosition("content", number) not in dropped
        ]
    if MemberPosition("additional_kwargs") in dropped:
        extra = repaired["additional_kwargs"]
        repaired["additional_kwargs"] = {key: extra[key] for key in extra if key not in FIELDS}
    for change in changes:
        if change.step == "renamed" and change.part is not None:
            repaired = _renamed(repaired, message.parts[change.part], change.id)
    if repaired == members:
        return item
    form = next((name for name in ("kwargs", "data") if item.get(name) is members), None)
    return {**item, form: repaired} if form else repaired


def _renamed(members: dict[str, Any], part: Part, name: str) -> dict[str, Any]:
    """The members with another id for a call or result, wherever the id occurs."""
    if isinstance(part, ToolResult):
        return {**members, "tool_call_id": name}
    assert isinstance(part, ToolCall)
    renamed = dict(members)
    for member in ("tool_calls", "invalid_tool_calls", "content"):
        if isinstance(renamed.get(member), list):
            renamed[member] = [_under(entry, part.id, name) for entry in renamed[member]]
    extra = as_dict(renamed.get("additional_kwargs"))
    if not renamed.get("tool_calls") and isinstance(extra.get("tool_calls"), list):
        calls = [_under(entry, part.id, name) for entry in extra["tool_calls"]]
        renamed["additional_kwargs"] = {**extra, "tool_calls": calls}
    return renamed


def _under(entry: Any, old: str, name: str) -> Any:
    for key in ("id", "call_id"):
        if isinstance(entry, dict) and entry.get(key) == old:
            return {**entry, key: name}
    return entry


def _result_message(item: dict[str, Any], call: Part, name: str) -> dict[str, Any]:
    """A message with a result, in the form of the message with the call."""
    members: dict[str, Any] = {
        "content": UNANSWERED,
        "additional_kwargs": {},
        "response_metadata": {},
        "type": "tool",
        "name": getattr(call, "name", None),
        "id": None,
        "tool_call_id": name,
        "artifact": None,
        "status": "error",
    }
    if item.get("lc") == 1:
        path = [*as_list(item.get("id"))[:-1], "ToolMessage"]
        others = {key: value for key, value in members.items() if value not in (None, {})}
        return {"lc": 1, "type": "constructor", "id": path, "kwargs": others}
    return {"type": "tool", "data": members} if isinstance(item.get("data"), dict) else members
