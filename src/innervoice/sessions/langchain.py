"""LangChain messages -> messages that know where each part stands, and a list of them -> as a target accepts it.

People keep them in three forms: as `messages_to_dict` gives them (`type` and `data`), as `dumpd` does (`lc`, `id`
and `kwargs`), and flat (`model_dump`, LangGraph's server). The members are the same; a repair writes what it was
given. Reasoning is a block of the content, or a member of `additional_kwargs`; calls stand in `tool_calls`,
and once more as blocks of the content where the provider has them there (langchain-core 1.7.2, 2026-11-20).
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

from innervoice.canon.messages import Message, Role
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, Text, ToolCall, ToolResult
from innervoice.catalog.lookup import host_in_langchain
from innervoice.history.turns import UNANSWERED
from innervoice.sessions.langchain_blocks import is_withdrawn, part_of, plain_part
from innervoice.sessions.mending import Change, mend
from innervoice.wire.chat.reasoning import FIELDS
from innervoice.wire.chat.serve_request import CONTENT
from innervoice.wire.dialects import DEFAULT, dialect_of, reader_of
from innervoice.wire.gemini import DIALECT as GEMINI
from innervoice.wire.json_access import arguments_of, as_dict, as_list, as_text
from innervoice.wire.objects import json_of
from innervoice.wire.protocol import Context
from innervoice.wire.serve_request import assistant_turn

__all__ = ["from_object", "is_langchain", "read_langchain", "repair_langchain"]

_ROLES: dict[str, Role] = {
    "human": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
}
_TYPES = {"human", "ai", "system", "tool", "function", "chat", "remove"}
_MEMBERS = (
    "content", "additional_kwargs", "response_metadata", "type", "name", "id", "role", "tool_calls",
    "invalid_tool_calls", "usage_metadata", "tool_call_id", "artifact", "status",
)  # fmt: skip
_SIGNATURES = "__gemini_function_call_thought_signatures__"


class Spot(NamedTuple):
    """Where a part stands: in which member, and under which number there."""

    member: str
    number: int | None = None


def is_langchain(items: list[Any]) -> bool:
    """Whether these are LangChain messages in a form that people store."""
    return bool(items) and all(_kind(item) is not None for item in items)


def from_object(message: Any) -> Any:
    """A LangChain message as flat JSON; anything else as it is."""
    if isinstance(message, dict) or not hasattr(message, "additional_kwargs"):
        return message
    found = {name: getattr(message, name) for name in _MEMBERS if hasattr(message, name)}
    return json_of(found)


def read_langchain(items: list[Any]) -> list[Message]:
    """The messages, one for each."""
    return [_read(item)[0] for item in items]


def repair_langchain(items: list[Any], target: str) -> tuple[list[Any], list[str]]:
    """The list as a target accepts it, and a line about each change."""
    read = [_read(item) for item in items]
    changes = mend([message for message, _ in read], target)
    by_message: dict[int, list[Change]] = {}
    for change in changes:
        by_message.setdefault(change.message, []).append(change)
    written: list[Any] = []
    for number, item in enumerate(items):
        own = by_message.get(number, [])
        message, spots = read[number]
        made = _changed(item, message, spots, own) if own else item
        if made is not None:
            written.append(made)
        written += [
            _answer(item, message.parts[change.part or 0], change.id)
            for change in own
            if change.step == "answered"
        ]
    return written, [change.told(f"message {change.message}") for change in changes]


# ---- reading -------------------------------------------------------------------------------------


def _kind(item: Any) -> str | None:
    """The type of a message without the name of its class: `ai` for an AIMessageChunk, too."""
    if not isinstance(item, dict) or ("role" in item and item.get("type") != "chat"):
        return None
    members = _members(item)
    name = item.get("type")
    if item.get("lc") == 1:
        names = [part for part in as_list(item.get("id")) if isinstance(part, str)]
        name = names[-1] if names else None
    if not isinstance(name, str) or "content" not in members:
        return None
    short = name.removesuffix("Chunk").removesuffix("Message").lower()
    return short if short in _TYPES else None


def _members(item: dict[str, Any]) -> dict[str, Any]:
    for name in ("kwargs", "data"):
        if isinstance(item.get(name), dict):
            members: dict[str, Any] = item[name]
            return members
    return item


def _read(item: dict[str, Any]) -> tuple[Message, list[Spot]]:
    members, kind = _members(item), _kind(item) or ""
    content = members.get("content")
    if kind == "chat":
        kind = str(members.get("role"))
    role = _ROLES.get(kind, "user")
    if kind == "tool":
        failed = members.get("status") == "error"
        result = CONTENT.result(members.get("tool_call_id"), content, error=failed)
        return Message("tool", (result,)), [Spot("")]
    if role != "assistant":
        parts = CONTENT.parts(content)
        return Message(role, parts), [Spot("content")] * len(parts)
    found = [*_reasoning(members), *_said(members), *_calls(members)]
    return Message(role, tuple(part for part, _ in found)), [spot for _, spot in found]


def _reasoning(members: dict[str, Any]) -> list[tuple[Part, Spot]]:
    extra = as_dict(members.get("additional_kwargs"))
    fields = {name: extra[name] for name in FIELDS if name in extra}
    parts = _answered(members, additional_kwargs=fields) if fields else ()
    return [(part, Spot("additional_kwargs")) for part in parts]


def _said(members: dict[str, Any]) -> list[tuple[Part, Spot]]:
    content = members.get("content")
    if isinstance(content, str):
        return [(Text(content), Spot("content"))] if content else []
    return [
        (part, Spot("content", number))
        for number, block in enumerate(as_list(content))
        for part in _block_parts(members, block)
    ]


def _block_parts(members: dict[str, Any], block: Any) -> tuple[Part, ...]:
    """The parts of a block: one that was ours whole again, a standard call as it says, others as their provider sends them."""
    if is_withdrawn(block):
        return ()
    if own := part_of(block):
        return (own[1],)
    if as_dict(block).get("type") in ("tool_call", "invalid_tool_call"):
        return (plain_part(block),)
    return _answered(members, content=[block])


def _answered(members: dict[str, Any], **pieces: Any) -> tuple[Part, ...]:
    """The parts of one piece of a message, read as its provider would have sent it."""
    metadata = as_dict(members.get("response_metadata"))
    given = as_text(metadata.get("model_provider")) or ""
    host = host_in_langchain(given)
    provider = host.id if host else None
    whole = {"content": "", "additional_kwargs": {}, "response_metadata": metadata}
    value = json_of(SimpleNamespace(**{**whole, **pieces}))
    for block in as_list(pieces.get("content")):
        value = _native(block, provider) or value
    name = as_text(metadata.get("model_name")) or as_text(metadata.get("model"))
    context = Context(provider=provider, model=name)
    return assistant_turn(reader_of(dialect_of(value) or DEFAULT, context), value).parts


def _native(block: Any, provider: str | None) -> dict[str, Any] | None:
    """What Google and Bedrock send for a block that LangChain has renamed."""
    match block:
        case {"type": "thinking", "thinking": str(text)} if provider in ("gemini", "vertex"):
            part: dict[str, Any] = {"text": text, "thought": True}
            if block.get("signature"):
                part["thoughtSignature"] = block["signature"]
            return {"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]}
        case {"type": "reasoning_content", "reasoning_content": dict(inner)}:
            said = {"content": [{"reasoningContent": {"reasoningText": inner}}]}
            return {"output": {"message": said}, "stopReason": "end_turn"}
        case _:
            return None


def _calls(members: dict[str, Any]) -> list[tuple[Part, Spot]]:
    """The calls that are no blocks of the content."""
    known = {block.get("call_id") or block.get("id") for block in _call_blocks(members)}
    extra = as_dict(members.get("additional_kwargs"))
    signatures = as_dict(extra.get(_SIGNATURES))
    calls = [*as_list(members.get("tool_calls")), *as_list(members.get("invalid_tool_calls"))]
    if not calls:  # as older versions kept them
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
        (_call(call, given, as_text(signatures.get(given))), Spot("tool_calls"))
        for call in map(as_dict, calls)
        if (given := as_text(call.get("id"))) and given not in known
    ]


def _call_blocks(members: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        block
        for block in map(as_dict, as_list(members.get("content")))
        if block.get("type") in ("tool_use", "function_call", "tool_call", "invalid_tool_call")
    ]


def _call(call: dict[str, Any], given: str, signed: str | None) -> ToolCall:
    name, arguments = as_text(call.get("name")) or "", arguments_of(call.get("args"))
    origin = None
    if signed:
        block = {
            "functionCall": {"name": name, "args": call.get("args")},
            "thoughtSignature": signed,
        }
        origin = Origin(dialect=GEMINI.name, block=block, seals=("thoughtSignature",))
    return ToolCall(given, name, arguments, origin=origin)


# ---- writing -------------------------------------------------------------------------------------


def _changed(
    item: dict[str, Any], message: Message, spots: list[Spot], changes: list[Change]
) -> dict[str, Any] | None:
    """The message without what was removed, under other ids; None if nothing of it is left."""
    gone = {change.part for change in changes if change.step == "removed"}
    dropped = {spots[part] for part in gone if part is not None}
    if None in gone or dropped.issuperset(spots):
        return None
    members = _members(item)
    made = dict(members)
    if isinstance(made.get("content"), list):
        made["content"] = [
            block
            for number, block in enumerate(made["content"])
            if Spot("content", number) not in dropped
        ]
    if Spot("additional_kwargs") in dropped:
        extra = made["additional_kwargs"]
        made["additional_kwargs"] = {key: extra[key] for key in extra if key not in FIELDS}
    for change in changes:
        if change.step == "renamed" and change.part is not None:
            made = _renamed(made, message.parts[change.part], change.id)
    if made == members:
        return item
    form = next((name for name in ("kwargs", "data") if item.get(name) is members), None)
    return {**item, form: made} if form else made


def _renamed(members: dict[str, Any], part: Part, name: str) -> dict[str, Any]:
    """The call of a part, or its result, under another id, wherever the message names it."""
    if isinstance(part, ToolResult):
        return {**members, "tool_call_id": name}
    assert isinstance(part, ToolCall)
    made = dict(members)
    for member in ("tool_calls", "invalid_tool_calls", "content"):
        if isinstance(made.get(member), list):
            made[member] = [_under(entry, part.id, name) for entry in made[member]]
    extra = as_dict(made.get("additional_kwargs"))
    if not made.get("tool_calls") and isinstance(extra.get("tool_calls"), list):
        calls = [_under(entry, part.id, name) for entry in extra["tool_calls"]]
        made["additional_kwargs"] = {**extra, "tool_calls": calls}
    return made


def _under(entry: Any, old: str, name: str) -> Any:
    for key in ("id", "call_id"):
        if isinstance(entry, dict) and entry.get(key) == old:
            return {**entry, key: name}
    return entry


def _answer(item: dict[str, Any], call: Part, name: str) -> dict[str, Any]:
    """A message with a result, in the form of the one with the call."""
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
        kept = {key: value for key, value in members.items() if value not in (None, {})}
        return {"lc": 1, "type": "constructor", "id": path, "kwargs": kept}
    return {"type": "tool", "data": members} if isinstance(item.get("data"), dict) else members
