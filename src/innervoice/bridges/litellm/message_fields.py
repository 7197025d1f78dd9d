"""An assistant turn -> the members of litellm's message, including the stored turn that is needed to send it back.

`content`, `tool_calls`, `reasoning_content`, `thinking_blocks` and `reasoning_items` have litellm's format. In addition
`provider_specific_fields["innervoice"]` holds the turn as `to_json` writes it: every part with its origin, its wire block and
its seals. It is plain JSON, so a history can be stored anywhere; `from_litellm.py` restores the turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from uuid import uuid4

from innervoice.bridges.litellm.litellm_object import plain
from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.messages import Message
from innervoice.canon.origin import Origin
from innervoice.canon.parts import (
    Media,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    is_inline,
)
from innervoice.canon.storage import from_json, to_json
from innervoice.errors import DecodeError, UsageError
from innervoice.privacy.redactor import SEAL_IN_ID
from innervoice.wire.anthropic.write import write_part
from innervoice.wire.chat.serve import read_request
from innervoice.wire.json_access import as_dict, as_list
from innervoice.wire.write import input_of

__all__ = [
    "KEY",
    "CallIds",
    "calls_of",
    "kept_turn",
    "members_of",
    "messages_from_litellm",
    "reasoning_items_of",
    "stored_turn",
    "system_blocks",
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


# ---- litellm's messages -> our messages.
#
# An assistant turn is restored from `provider_specific_fields["innervoice"]`, seals included. If the program has edited the
# message since, the edited members win: a member that is present and differs from what the stored turn would show was edited; a
# missing member was not.
#
# A turn without that key (written by litellm or by hand) is read from its visible members. Its thinking blocks are taken to be
# Anthropic's, its signatures Gemini's, its items those of Responses. The model that wrote them is unknown, so they are sent to
# every model that could have written them, as litellm does.


_SPOKEN = (
    "role",
    "content",
    "tool_calls",
    "function_call",
    "refusal",
    "reasoning_content",
    "reasoning",
    "reasoning_details",
    "prefix",
)
"""Members of an assistant message that OpenAI's chat format also has."""
_CHAT = ("openai-chat", "mistral")
"""Dialects that accept OpenAI's content blocks unchanged."""
_DATA_URL = re.compile(r"data:([^;,]*)[^,]*;base64,(.*)", re.DOTALL)


def messages_from_litellm(
    messages: Iterable[Any], dialect: str, *, cache_marks: bool = True
) -> list[Message]:
    """Our messages, for a target of this dialect; `cache_marks=False` removes `cache_control`, which some hosts reject."""
    if isinstance(messages, (str, bytes, dict)) or not isinstance(messages, Iterable):
        raise UsageError(f"messages must be a list of messages, not {type(messages).__name__}")
    dumped = [plain(message) for message in messages]
    if not cache_marks:
        dumped = [_unmarked(message) for message in dumped]
    return [_message(message, dialect) for message in dumped]


def system_blocks(messages: Iterable[Any]) -> list[Any] | None:
    """The system prompt as blocks, if any has `cache_control`; None if plain text is enough."""
    dumped = [as_dict(plain(message)) for message in messages]
    blocks: list[Any] = []
    for content in (item.get("content") for item in dumped if item.get("role") == "system"):
        blocks += (
            [{"type": "text", "text": content}] if isinstance(content, str) else as_list(content)
        )
    marked = any(as_dict(block).get("cache_control") for block in blocks)
    return blocks if marked else None


def _unmarked(message: Any) -> Any:
    if not isinstance(message, dict) or not isinstance(message.get("content"), list):
        return message
    blocks = [
        {name: value for name, value in block.items() if name != "cache_control"}
        if isinstance(block, dict)
        else block
        for block in message["content"]
    ]
    return {**message, "content": blocks}


def _message(message: Any, dialect: str) -> Message:
    if not isinstance(message, dict):
        raise UsageError(f"a message must be a dict with a role, not {type(message).__name__}")
    if message.get("role") == "assistant":
        return _turn(message, dialect)
    members = {name: value for name, value in message.items() if name != "cache_control"}
    if isinstance(members.get("tool_call_id"), str):
        members["tool_call_id"] = members["tool_call_id"].partition(SEAL_IN_ID)[0]
    read = _as_chat(members)
    if dialect in _CHAT:
        return read
    if read.role == "system":
        dialect = ""  # a system prompt is plain text in every dialect
    parts = tuple(_portable(part, dialect) for part in read.parts)
    if dialect == "anthropic" and parts and (mark := message.get("cache_control")):
        parts = (*parts[:-1], _marked(parts[-1], mark))
    return read.replace(parts=parts)


def _as_chat(message: dict[str, Any]) -> Message:
    return read_request({"messages": [message]}).messages[0]


# ---- user and tool messages -------------------------------------------------------------------------


def _portable(part: Part, dialect: str) -> Part:
    """A part without its OpenAI block, so that any dialect can write it."""
    block = part.origin.block if part.origin else None
    match part:
        case ToolResult() if not isinstance(part.content, str):
            inner = tuple(_portable(item, dialect) for item in part.content)
            return part.replace(content=inner)
        case Text(origin=Origin() as origin) if isinstance(block, dict):
            # Anthropic has the same block for text with `cache_control`.
            portable_origin = origin.replace(dialect=dialect) if dialect == "anthropic" else None
            return part.replace(origin=portable_origin)
        case Media():
            return _with_type(part, as_dict(block))
        case Opaque(value={"type": "file", "file": {"file_id": str(url), **rest}}) if "://" in url:
            return _media(url, rest.get("format") or "application/pdf")
        case _:
            return part


def _marked(part: Part, mark: Any) -> Part:
    """The last part of a message with the cache mark of the message."""
    block = write_part(part) if isinstance(part, (Text, ToolResult)) else None
    if not block:
        return part
    marked = {**block, "cache_control": mark}
    return part.replace(origin=Origin(dialect="anthropic", block=marked))


def _with_type(part: Media, block: dict[str, Any]) -> Media:
    """A file without its block; litellm puts the MIME type into a member `format`."""
    inner = as_dict(block.get(str(block.get("type"))))
    declared = inner.get("format") if block.get("type") != "input_audio" else None
    mime = declared if isinstance(declared, str) and part.url else part.mime
    return part.replace(mime=mime, origin=None)


def _media(url: str, declared: object) -> Media:
    mime = declared if isinstance(declared, str) else None
    match = _DATA_URL.fullmatch(url)
    if match:
        return Media(match[1] or mime, match[2])
    if "://" in url:
        return Media(mime, url=url)
    return Media(mime, url)


# ---- assistant turns ---------------------------------------------------------------------------------


def _turn(message: dict[str, Any], dialect: str) -> Message:
    carried = as_dict(message.get("provider_specific_fields")).get(KEY)
    stored = stored_turn(carried) if carried is not None else None
    if stored is None:
        return _shown_turn(message, dialect)
    members = members_of(stored)
    edited = {name for name in members if name in message and _differs(name, message, members)}
    if not edited - {"role", "provider_specific_fields"}:
        return stored
    return _edited(stored, _shown_turn(message, dialect), edited)


def _differs(name: str, message: dict[str, Any], visible: dict[str, Any]) -> bool:
    current, before = message[name], visible[name]
    if name == "content":
        return _text_of(current) != _text_of(before)
    if name == "tool_calls":
        return [_call_facts(call) for call in as_list(current)] != [
            _call_facts(call) for call in as_list(before)
        ]
    return bool((current or None) != before)


def _text_of(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(as_dict(block).get("text") or "") for block in content)
    return content or ""


def _call_facts(call: Any) -> tuple[Any, ...]:
    function = as_dict(as_dict(call).get("function"))
    return as_dict(call).get("id"), function.get("name"), function.get("arguments")


def _edited(stored: Message, visible: Message, edited: set[str]) -> Message:
    """The stored turn, with edited members replaced by their visible values."""
    thoughts = _thoughts_now(stored, visible, edited)
    if "content" in edited:
        # Inline reasoning belongs to the original text.
        thoughts = [part for part in thoughts if not (part.origin and part.origin.markup)]
    texts = _of(Text, visible if "content" in edited else stored)
    calls = [
        next((call for call in stored.tool_calls if is_same_call(call, current)), current)
        for current in (visible if "tool_calls" in edited else stored).tool_calls
    ]
    return stored.replace(parts=(*thoughts, *texts, *calls))


def _thoughts_now(stored: Message, visible: Message, edited: set[str]) -> list[Part]:
    """The reasoning of an edited turn; blocks are signed as a sequence, so an edit to one invalidates all seals."""
    before, now = _of(Thinking, stored), _of(Thinking, visible)
    if edited & {"thinking_blocks", "reasoning_items"}:
        return [
            part.replace(origin=None) if part.origin and part.origin.seals else part for part in now
        ]
    sealed = any(part.origin and part.origin.seals for part in before)
    return now if "reasoning_content" in edited and not sealed else before


def _of(kind: type[Part], turn: Message) -> list[Part]:
    return [part for part in turn.parts if isinstance(part, kind)]


def _shown_turn(message: dict[str, Any], dialect: str) -> Message:
    """A turn read from its visible members alone."""
    fields = as_dict(message.get("provider_specific_fields"))
    spoken = {name: message[name] for name in _SPOKEN if message.get(name) is not None}
    spoken.setdefault("content", message.get("content"))
    if fields.get("reasoning_details") and "reasoning_details" not in spoken:
        spoken["reasoning_details"] = fields["reasoning_details"]
    thoughts = _thoughts(message, dialect)
    if thoughts:
        for name in ("reasoning_content", "reasoning"):
            spoken.pop(name, None)
    calls = [as_dict(call) for call in as_list(message.get("tool_calls"))]
    if calls:
        spoken["tool_calls"] = [_bare_call(call) for call in calls]
    turn = _as_chat(spoken)
    signatures = [_signature_of(call, dialect) for call in calls]
    parts = _signed(list(turn.parts), signatures, as_list(fields.get("thought_signatures")))
    return turn.replace(parts=(*thoughts, *parts))


def _thoughts(message: dict[str, Any], dialect: str) -> list[Part]:
    blocks = [as_dict(block) for block in as_list(message.get("thinking_blocks"))]
    thoughts = [_thinking(block, dialect) for block in blocks]
    for item in map(as_dict, as_list(message.get("reasoning_items"))):
        entries = [as_dict(entry).get("text") for entry in as_list(item.get("summary"))]
        text = "\n\n".join(entry for entry in entries if isinstance(entry, str))
        origin = Origin(dialect="openai-responses", block=item, item=str(item.get("id") or "item"))
        thoughts.append(Thinking(text, "summary" if text else "hidden", origin=origin))
    return [part for part in thoughts if part is not None]


def _thinking(block: dict[str, Any], dialect: str) -> Part | None:
    """An Anthropic thinking block, in the form of the dialect that the request is sent in."""
    text, converse = str(block.get("thinking") or ""), dialect == "bedrock-converse"
    match block.get("type"):
        case "redacted_thinking":
            data = block.get("data")
            wire_block = {"reasoningContent": {"redactedContent": data}} if converse else block
            seal = "reasoningContent.redactedContent" if converse else "data"
        case "thinking":
            inner = {"text": text, "signature": block.get("signature")}
            wire_block = {"reasoningContent": {"reasoningText": inner}} if converse else block
            seal = "reasoningContent.reasoningText.signature" if converse else "signature"
        case _:
            return None
    source = "bedrock-converse" if converse else "anthropic"
    sealed = bool(block.get("signature") or block.get("data"))
    origin = Origin(dialect=source, block=wire_block, seals=(seal,) if sealed else ())
    return Thinking(text, "full" if text else "hidden", origin=origin)


def _bare_call(call: dict[str, Any]) -> dict[str, Any]:
    """A tool call without the members that litellm adds."""
    left_out = ("provider_specific_fields", "index")
    bare = {name: value for name, value in call.items() if name not in left_out}
    if isinstance(bare.get("id"), str):
        bare["id"] = bare["id"].partition(SEAL_IN_ID)[0]
    return bare


def _signature_of(call: dict[str, Any], dialect: str) -> str | None:
    signature = as_dict(call.get("provider_specific_fields")).get("thought_signature")
    if signature is None and dialect == "gemini":
        # Gemini's own OpenAI-compatible API has it here, and so do the programs that were written for it.
        google = as_dict(as_dict(call.get("extra_content")).get("google"))
        signature = google.get("thought_signature")
    hidden = str(call.get("id") or "").partition(SEAL_IN_ID)[2]
    return signature if isinstance(signature, str) else hidden or None


def _signed(parts: list[Part], of_calls: list[str | None], of_all: list[Any]) -> list[Part]:
    """The parts, with Gemini's signatures on the parts that they belong to."""
    calls = iter(of_calls)
    signed_parts: list[Part] = []
    for part in parts:
        signature = next(calls, None) if isinstance(part, ToolCall) else None
        signed_parts.append(_signed_call(part, signature) if isinstance(part, ToolCall) else part)
    if of_all and not of_calls and signed_parts and isinstance(signed_parts[-1], Text):
        block = {"text": signed_parts[-1].text, "thoughtSignature": of_all[-1]}
        signed_parts[-1] = signed_parts[-1].replace(origin=_gemini(block))
    return signed_parts


def _signed_call(call: ToolCall, signature: str | None) -> ToolCall:
    if signature is None:
        return call
    function = {"id": call.id, "name": call.name, "args": input_of(call)}
    block = {"functionCall": function, "thoughtSignature": signature}
    return call.replace(origin=_gemini(block))


def _gemini(block: dict[str, Any]) -> Origin:
    return Origin(dialect="gemini", block=block, seals=("thoughtSignature",))
