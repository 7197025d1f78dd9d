"""What all writers of requests share: texts, groups, media and received blocks.

A part with a wire block in its origin came from the model that it now goes to (the plan removes the block of every other
part), so the block is written unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from innervoice.canon.messages import Message
from innervoice.canon.parts import (
    Part,
    Text,
    ToolCall,
    ToolResult,
    is_inline,
    restore,
)
from innervoice.canon.request import Request, Tool
from innervoice.errors import UsageError
from innervoice.wire.dialect import Dialect
from innervoice.wire.json_access import parsed

__all__ = [
    "block_of",
    "call_names",
    "dropped_members",
    "input_of",
    "is_wrapped",
    "json_schema",
    "merged",
    "message_members",
    "nested_tool",
    "result_text",
    "schema_members",
    "schema_name",
    "split_system",
    "standard_format",
    "turns_of",
    "wholes",
    "with_members",
]  # fmt: skip

_OWNED = frozenset({
    "allowed_callers", "behavior", "cache_control", "defer_loading", "eager_input_streaming", "input_examples", "response",
    "responseJsonSchema",
})  # fmt: skip
"""Members of a function that only some dialects have, whatever else the others accept."""


def block_of(part: Part) -> Any:
    """The wire block that a part was read from, or None."""
    return part.origin.block if part.origin else None


def with_members(block: dict[str, Any], part: Part) -> dict[str, Any]:
    """A block with what a block of another dialect said beyond the part: members that both have, and a cache mark, as Anthropic writes it."""
    if part.origin is None:
        return block
    block = merged(block, part.origin.members)
    mark = part.origin.cache_mark
    return {**block, "cache_control": mark} if mark else block


def merged(body: dict[str, Any], more: dict[str, Any] | None) -> dict[str, Any]:
    """An object with the members of another; objects in both are joined."""
    if not more:
        return body
    joined = dict(body)
    for key, value in more.items():
        before = joined.get(key)
        joined[key] = (
            merged(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
        )
    return joined


def message_members(message: Message) -> dict[str, Any]:
    """Members of a message besides its parts that are sent back: those that stood in a request. An answer has others, which its API refuses."""
    origin = message.origin
    if origin is None or not isinstance(origin.block, dict):
        return {}
    return origin.block if message.role != "assistant" or origin.item == "input" else {}


def wholes(parts: Iterable[Part], dialect: str | None = None) -> Iterator[Part]:
    """The parts, with those that were split out of one text joined again; with `dialect`, only out of a text of that dialect."""
    group: list[Part] = []
    for part in parts:
        item = part.origin.item if part.origin else None
        inline = is_inline(part) or (isinstance(part, Text) and (item or "").startswith("text_"))
        if inline and _is_of(part, dialect) and (not group or _item(group[0]) == item):
            group.append(part)
            continue
        if group:
            yield _together(group)
        group = [part] if inline and _is_of(part, dialect) else []
        if not group:
            yield part
    if group:
        yield _together(group)


def _is_of(part: Part, dialect: str | None) -> bool:
    return dialect is None or part.origin is None or part.origin.dialect in (None, dialect)


def _item(part: Part) -> str | None:
    return part.origin.item if part.origin else None


def _together(group: list[Part]) -> Text:
    first = group[0].origin
    return Text(restore(group), origin=first.replace(markup=None) if first else None)


def split_system(
    request: Request, write: Callable[[Part], Any]
) -> tuple[str | list[Any] | None, list[Message]]:
    """The system prompt and the other messages, for dialects that separate them.

    The prompt is one text, or a list of blocks if it was received as such. A system message that was received in the middle of
    a conversation of this dialect has an origin, and stays where it is.
    """
    leading = [item for item in request.messages if item.role == "system" and item.origin is None]
    if not leading:
        return request.system, list(request.messages)
    others = [item for item in request.messages if item.role != "system" or item.origin is not None]
    parts: list[Part] = [Text(request.system)] if request.system is not None else []
    parts += [part for message in leading for part in message.parts]
    if any(part.origin is not None for part in parts):
        return [block for part in parts if (block := write(part)) is not None], others
    texts = [part.text for part in parts if isinstance(part, Text)]
    return "\n\n".join(texts) if texts else None, others


def turns_of(
    messages: Iterable[Message],
    write: Callable[[Part], Any],
    *,
    model: str = "assistant",
    member: str = "content",
) -> list[dict[str, Any]]:
    """Alternating turns: tool results and user messages are joined, turns without blocks are left out."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        role = model if message.role == "assistant" else "user"
        blocks = [block for part in wholes(message.parts) if (block := write(part)) is not None]
        if message.origin is not None and (members := message_members(message)):
            # Members of the message itself, which must not spread to its neighbours.
            turns.append({"role": role, member: blocks, **members})
            continue
        if turns and not turns[-1].keys() - {"role", member} and turns[-1]["role"] == role:
            turns[-1][member] += blocks
        elif blocks:
            turns.append({"role": role, member: blocks})
    return turns


def dropped_members(tool: Tool, dialect: Dialect, *, is_own: bool = False) -> list[str]:
    """Further members of a function that a dialect does not have; `is_own` if they were read from a request of it."""
    if is_own:
        return [name for name in tool.members if name in _OWNED - dialect.tool_members]
    return [
        name
        for name in tool.members
        if name not in dialect.tool_members and (name in _OWNED or not dialect.open_tools)
    ]


def nested_tool(tool: Tool, holder: str, function: dict[str, Any]) -> dict[str, Any]:
    """A tool of a dialect that has the function in a member of its own; further members stand where they stood."""
    inner = {name: value for name, value in tool.members.items() if name not in tool.beside}
    outer = {name: value for name, value in tool.members.items() if name in tool.beside}
    members = {key: value for key, value in {**function, **inner}.items() if value is not None}
    return {holder: members, **outer}


def call_names(messages: Iterable[Message]) -> dict[str, str]:
    """The name of every call by its id, for dialects whose results name their function."""
    return {
        part.id: part.name
        for message in messages
        for part in message.parts
        if isinstance(part, ToolCall)
    }


def input_of(call: ToolCall) -> Any:
    """A call's arguments as an object; text that is not valid JSON is wrapped in one."""
    if not call.arguments:
        return {}
    value = parsed(call.arguments)
    return value if isinstance(value, dict) else {"input": value}


def is_wrapped(call: ToolCall) -> bool:
    """Whether a call's arguments are wrapped in an object."""
    return bool(call.arguments) and not isinstance(parsed(call.arguments), dict)


def result_text(result: ToolResult) -> str:
    """A tool result as plain text, for dialects that accept nothing else."""
    if isinstance(result.content, str):
        return result.content
    if not all(isinstance(part, Text) for part in result.content):
        raise UsageError(
            f"the result of {result.call_id!r} has content other than text, which this dialect does not accept"
        )
    return "\n".join(part.text for part in result.content if isinstance(part, Text))


def json_schema(response_format: Any) -> tuple[str, Any] | None:
    """Name and schema of a response format, or None for plain JSON and for others."""
    members = schema_members(response_format)
    return (members["name"], members["schema"]) if members else None


def schema_members(response_format: Any) -> dict[str, Any] | None:
    """The members of a response format with a schema: nested as in chat, flat as in Responses, or beside the type `json_object` as Cohere and
    some chat hosts have it."""
    match response_format:
        case {"type": "json_schema", "json_schema": {"schema": _}}:
            members: dict[str, Any] = response_format["json_schema"]
        case {"type": "json_schema", "schema": _}:
            members = {key: value for key, value in response_format.items() if key != "type"}
        case {"type": "json_object", "json_schema": {"schema": dict()} as nested} if (
            "type" not in nested
        ):
            members = nested
        case {"type": "json_object", "json_schema": dict(schema)}:
            members = {"schema": schema}
        case {"type": "json_object", "schema": dict(schema)}:
            members = {"schema": schema}
        case _:
            return None
    return {**members, "name": str(members.get("name") or schema_name(members["schema"]))}


def standard_format(response_format: Any) -> dict[str, Any] | None:
    """A response format in OpenAI's form; None for one that is not understood."""
    if members := schema_members(response_format):
        beside = {
            name: value
            for name, value in response_format.items()
            if name not in ("type", "json_schema", "schema") and name not in members
        }
        return {"type": "json_schema", "json_schema": members, **beside}
    is_plain = isinstance(response_format, dict) and response_format.get("type") == "json_object"
    return response_format if is_plain else None


_SCHEMA_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def schema_name(schema: Any) -> str:
    """A name for a schema that has none: its title, if that is a name."""
    title = schema.get("title") if isinstance(schema, dict) else None
    return title if isinstance(title, str) and _SCHEMA_NAME.fullmatch(title) else "answer"
