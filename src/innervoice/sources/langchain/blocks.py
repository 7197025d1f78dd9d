"""Parts <-> LangChain's standard content blocks.

A block shows what people read: text, reasoning, a call, an image. The data that its provider needs back is in its `extras`:
seals under the names that LangChain's own integrations use (`signature`, `encrypted_content`), and under `innervoice` everything
else about the part, with a digest of the visible content. A block that was changed no longer matches
its digest; it is read as it is now, and its seals are not sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.parts import Media, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from innervoice.canon.storage import from_json, to_json
from innervoice.errors import DecodeError

__all__ = [
    "KEY",
    "blocks_of",
    "extras_of",
    "is_trailing_seal",
    "is_withdrawn",
    "number_of",
    "parts_of",
    "plain_block",
    "plain_part",
    "state_of",
]

KEY = "innervoice"
"""The name of our own members, in the extras of a block and in the metadata of a message."""

# The member of a part that its block shows, so that it is not stored twice.
_SHOWN = {"text": "text", "thinking": "text", "media": "data", "opaque": "value"}
# Seals that LangChain's integrations name differently than the wire format.
_NAMES = {"thoughtSignature": "signature", "thought_signature": "signature"}
_MEDIA = ("image", "audio", "video")

# ---- part -> block -------------------------------------------------------------------------------


def blocks_of(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """The blocks of whole parts; a seal that came after its text is in the block of the text."""
    return [
        {**plain_block(part), "extras": extras_of(parts, at)}
        for at, part in enumerate(parts)
        if not is_trailing_seal(parts, at)
    ]


def is_trailing_seal(parts: Sequence[Part], at: int) -> bool:
    """Whether a part is only the seal of the text before it: streams of Gemini end with such a part, whole answers do not."""
    part, before = parts[at], parts[at - 1] if at else None
    if not (isinstance(part, Text) and isinstance(before, Text)) or part.text or not before.text:
        return False
    return bool(part.origin and part.origin.seals and not (before.origin and before.origin.seals))


def plain_block(part: Part) -> dict[str, Any]:  # noqa: PLR0911 - one for each kind
    """The visible content of a part."""
    match part:
        case Text(text=""):
            # Programs count the texts of an answer.
            return {"type": "non_standard", "value": {"type": "text", "text": ""}}
        case Text():
            return {"type": "text", "text": part.text}
        case Thinking():
            return {"type": "reasoning", "reasoning": part.text}
        case ToolCall():
            return _call(part)
        case Media():
            kind = (part.mime or "").partition("/")[0]
            block = {"type": kind if kind in _MEDIA else "file"}
            members = {"mime_type": part.mime, "base64": part.data, "url": part.url}
            return block | {name: value for name, value in members.items() if value is not None}
        case Opaque():
            value = part.value if isinstance(part.value, dict) else {"value": part.value}
            return {"type": "non_standard", "value": value}
        case ToolResult():
            return {"type": "non_standard", "value": load_json(to_json(part))}


def _call(part: ToolCall) -> dict[str, Any]:
    """A call, as one that can be run or one that cannot."""
    arguments = _arguments(part.arguments)
    members = {"id": part.id, "name": part.name}
    if part.complete and arguments is not None:
        return {"type": "tool_call", **members, "args": arguments}
    error = "not a JSON object" if part.complete else "interrupted"
    return {"type": "invalid_tool_call", **members, "args": part.arguments, "error": error}


def extras_of(parts: Sequence[Part], at: int) -> dict[str, Any]:
    """What the block of a part contains besides its visible content: seals, and the rest of the part."""
    stored, seals = _unsealed(load_json(to_json(parts[at])))
    extras = _without_shown(stored, parts[at], at)
    if at + 1 < len(parts) and is_trailing_seal(parts, at + 1):
        trailing = extras_of(parts, at + 1)
        extras["then"] = trailing.pop(KEY)
        seals |= trailing
    return {**seals, KEY: extras}


def state_of(call: ToolCall, at: int) -> dict[str, Any]:
    """All fields of a call, for places without extras."""
    return {**load_json(to_json(call)), "at": at}


def _without_shown(stored: dict[str, Any], part: Part, at: int) -> dict[str, Any]:
    member = _SHOWN.get(part.type)
    others = {name: value for name, value in stored.items() if name != member}
    others["at"] = at
    if isinstance(part, (Text, Thinking)):
        others["digest"] = _digest(part.text)
    elif isinstance(part, Opaque) and not isinstance(part.value, dict):
        others["value"] = part.value
    return others


def _unsealed(stored: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A stored part without its seals, and the seals by their names."""
    seals: dict[str, Any] = {}
    for path in (stored.get("origin") or {}).get("seals", ()):
        holder, leaf = _place(stored["origin"].get("block"), path)
        name = _NAMES.get(leaf, leaf)
        if holder is not None and isinstance(holder.get(leaf), str) and name not in seals:
            seals[name], holder[leaf] = holder[leaf], None
    return stored, seals


def _place(block: Any, path: str) -> tuple[dict[str, Any] | None, str]:
    """The dict that contains the end of a path, and the name of that end."""
    *steps, leaf = path.split(".")
    for step in steps:
        block = block.get(step) if isinstance(block, dict) else None
    return (block if isinstance(block, dict) else None), leaf


# ---- block -> part -------------------------------------------------------------------------------


def is_withdrawn(block: Any) -> bool:
    """Whether a stream withdrew what this block shows."""
    return bool(_ours(block).get("withdrawn"))


def number_of(block: Any) -> int | None:
    """The number of the part that one of our blocks was made from."""
    at = _ours(block).get("at")
    return at if isinstance(at, int) else None


def parts_of(block: Any, call: dict[str, Any] | None = None) -> list[tuple[int, Part]]:
    """The numbers and the parts that one of our blocks was made from; none for other blocks.

    `call` is the call in the message itself, which may have been changed.
    """
    stored, at = _ours(block), number_of(block)
    if at is None:
        return []
    part = _restored(block, stored)
    if isinstance(part, ToolCall) and call is not None:
        part = _agreed(part, call)
    if part is None:
        return [(at, plain_part(block))]
    then = stored.get("then") or {}
    trailing = _restored({"extras": block["extras"]}, then) if then else None
    return [(at, part)] if trailing is None else [(at, part), (then["at"], trailing)]


def _ours(block: Any) -> dict[str, Any]:
    extras = block.get("extras") if isinstance(block, dict) else None
    stored = extras.get(KEY) if isinstance(extras, dict) else None
    return stored if isinstance(stored, dict) else {}


def _restored(block: dict[str, Any], stored: dict[str, Any]) -> Part | None:
    """The original part; None if the block no longer shows it, or its seal is gone."""
    value = {name: item for name, item in stored.items() if name not in ("at", "digest", "then")}
    match stored.get("type"):
        case "text" | "thinking":
            value["text"] = block.get("text") or block.get("reasoning") or ""
            if stored.get("digest") != _digest(value["text"]):
                return None
        case "opaque":
            value.setdefault("value", block.get("value"))
        case "media":
            value["data"] = block.get("base64")
        case _:
            pass
    try:
        part = from_json(dump_json(value)) if _sealed(value, block["extras"]) else None
    except DecodeError:
        return None
    return part if isinstance(part, Part) else None


def _sealed(value: dict[str, Any], extras: dict[str, Any]) -> bool:
    """Puts the seals back in their places; returns whether all are there."""
    origin = value.get("origin") or {}
    block = load_json(dump_json(origin.get("block")))  # what was stored is not ours to change
    for path in origin.get("seals", ()):
        holder, leaf = _place(block, path)
        if holder is not None and holder.get(leaf) is None:
            holder[leaf] = extras.get(_NAMES.get(leaf, leaf))
        if holder is None or holder[leaf] is None:
            return False
    if block is not None:
        value["origin"] = {**origin, "block": block}
    return True


def _agreed(part: ToolCall, call: dict[str, Any]) -> ToolCall:
    """The call as in its message; without its origin, if it differs from the original."""
    arguments = call.get("args")
    if isinstance(arguments, str):
        same = arguments == part.arguments
    else:
        same = arguments == _arguments(part.arguments)
    if same and call.get("name") == part.name:
        return part
    # An interrupted call stays incomplete, even if a parser has guessed its end.
    return _plain_call(call) if part.complete else part


def plain_part(block: Any, *, complete: bool = True) -> Part:
    """The part of a standard block, without an origin."""
    match block:
        case str(text) | {"type": "text", "text": str(text)}:
            return Text(text)
        case {"type": "reasoning"}:
            return Thinking(str(block.get("reasoning") or ""), complete=complete)
        case {"type": "tool_call" | "invalid_tool_call"}:
            return _plain_call(block)
        case {"type": "tool_call_chunk"}:
            return _plain_call(block).replace(complete=complete)
        case {"type": "non_standard", "value": value}:
            return Opaque(value)
        case _:
            return Opaque(block)


def _plain_call(call: dict[str, Any]) -> ToolCall:
    arguments = call.get("args")
    text = arguments if isinstance(arguments, str) else dump_json(arguments or {}).decode("utf-8")
    return ToolCall(str(call.get("id") or ""), str(call.get("name") or ""), text)


def _arguments(text: str) -> dict[str, Any] | None:
    """The arguments of a call, or None if they are not a JSON object."""
    try:
        value = load_json(text or "{}")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
