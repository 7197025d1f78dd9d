"""An assistant turn -> the members of litellm's message, including the stored turn that is needed to send it back.

`content`, `tool_calls`, `reasoning_content`, `thinking_blocks` and `reasoning_items` have litellm's format. In addition
`provider_specific_fields["innervoice"]` holds the turn as `to_json` writes it: every part with its origin, its wire block and
its seals. It is plain JSON, so a history can be stored anywhere; `from_litellm.py` restores the turn.
"""

from __future__ import annotations

import re
from typing import Any
from uuid import uuid4

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.messages import Message
from innervoice.canon.parts import Part, Text, Thinking, ToolCall, is_inline
from innervoice.canon.storage import from_json, to_json
from innervoice.errors import DecodeError
from innervoice.wire.json_access import as_dict

__all__ = [
    "KEY",
    "CallIds",
    "calls_of",
    "kept_turn",
    "members_of",
    "reasoning_items_of",
    "stored_turn",
    "thinking_block",
    "thinking_blocks_of",
    "thought_signature",
]

_INVENTED = re.compile(r"call_\d{1,4}")
KEY = "innervoice"
"""The key of the stored turn in `provider_specific_fields`."""


def members_of(turn: Message) -> dict[str, Any]:
    """The members of litellm's message for an assistant turn."""
    calls = calls_of(turn)
    members: dict[str, Any] = {
        "content": turn.text or (None if calls else ""),
        "role": "assistant",
        "tool_calls": calls or None,
        "reasoning_content": turn.thinking,
        "thinking_blocks": thinking_blocks_of(turn) or None,
        "reasoning_items": reasoning_items_of(turn) or None,
    }
    fields: dict[str, Any] = {}
    if signatures := [sign for part in turn.parts if (sign := thought_signature(part))]:
        fields["thought_signatures"] = signatures
    if refusal := _refusal(turn):
        fields["refusal"] = refusal
    if carried := kept_turn(turn):
        fields[KEY] = carried
    members["provider_specific_fields"] = fields or None
    return members


class CallIds:
    """Ids for calls that arrived without one; our own placeholders are unique only within one message."""

    def __init__(self) -> None:
        self._made: dict[str, str] = {}

    def of(self, call_id: str) -> str:
        """The id to show for a call."""
        if not _INVENTED.fullmatch(call_id):
            return call_id
        return self._made.setdefault(call_id, f"call_{uuid4().hex[:24]}")

    def turn(self, turn: Message) -> Message:
        """The turn with the ids that are shown."""
        if all(self.of(call.id) == call.id for call in turn.tool_calls):
            return turn
        parts = (
            part.replace(id=self.of(part.id)) if isinstance(part, ToolCall) else part
            for part in turn.parts
        )
        return turn.replace(parts=tuple(parts))


def kept_turn(turn: Message) -> Any:
    """The turn for storage; None if the visible members are enough to restore it."""
    if all(isinstance(part, Text) and _is_plain(part) for part in turn.parts):
        return None
    return load_json(to_json(turn))


def stored_turn(value: Any) -> Message | None:
    """The stored turn; None if the value is not one. A turn of this process may be passed as it is."""
    if isinstance(value, Message):
        return value
    try:
        turn = from_json(dump_json(value))
    except (DecodeError, TypeError, ValueError):
        return None
    return turn if isinstance(turn, Message) else None


def _is_plain(part: Part) -> bool:
    return part.origin is None or (part.origin.block is None and not is_inline(part))


# ---- litellm's own format --------------------------------------------------------------------------


def calls_of(turn: Message) -> list[dict[str, Any]]:
    """The tool calls, each with its signature if it has one."""
    return [
        {
            **signature_fields(call),
            "function": {"arguments": call.arguments, "name": call.name},
            "id": call.id,
            "type": "function",
        }
        for call in turn.tool_calls
    ]


def signature_fields(call: Part) -> dict[str, Any]:
    """The member where litellm keeps the signature of a Gemini tool call."""
    signature = thought_signature(call)
    return {"provider_specific_fields": {"thought_signature": signature}} if signature else {}


def thought_signature(part: Part) -> str | None:
    """The Gemini signature of a part."""
    block = part.origin.block if part.origin and part.origin.dialect == "gemini" else None
    signature = as_dict(block).get("thoughtSignature")
    return signature if isinstance(signature, str) else None


def thinking_blocks_of(turn: Message) -> list[dict[str, Any]]:
    """The thinking blocks of Claude, and those of Gemini in the same form."""
    blocks = (thinking_block(part) for part in turn.parts if isinstance(part, Thinking))
    return [block for block in blocks if block]


def thinking_block(part: Thinking) -> dict[str, Any] | None:
    """A thinking part as an Anthropic block; None where litellm shows no block."""
    block: Any = part.origin.block if part.origin else None
    match block:
        case {"type": "thinking" | "redacted_thinking"} if _came_as("anthropic", part):
            return dict(block)
        case {"reasoningContent": {"redactedContent": data}}:
            return {"type": "redacted_thinking", "data": data}
        case {"reasoningContent": {"reasoningText": dict(inner)}}:
            plain = {"type": "thinking", "thinking": part.text}
            signature = inner.get("signature")
            return {**plain, "signature": signature} if signature else plain
        case _ if _came_as("gemini", part) and part.text:
            return {"type": "thinking", "thinking": part.text}
        case _:
            return None


def _came_as(dialect: str, part: Part) -> bool:
    return part.origin is not None and part.origin.dialect == dialect


def reasoning_items_of(turn: Message) -> list[dict[str, Any]]:
    """The reasoning items of Responses."""
    blocks = [
        as_dict(part.origin.block)
        for part in turn.parts
        if isinstance(part, Thinking) and part.origin and _came_as("openai-responses", part)
    ]
    return [dict(block) for block in blocks if block.get("type") == "reasoning"]


def _refusal(turn: Message) -> str | None:
    """The text of the refusal blocks."""
    texts = [
        part.text
        for part in turn.parts
        if isinstance(part, Text)
        and part.origin
        and as_dict(part.origin.block).get("type") == "refusal"
    ]
    return "".join(texts) or None


def is_same_call(call: ToolCall, other: ToolCall) -> bool:
    """Whether two calls have the same id, name and arguments."""
    return (call.id, call.name, call.arguments) == (other.id, other.name, other.arguments)
