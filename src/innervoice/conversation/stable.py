"""The content of a request that stays the same while a conversation grows: without Claude Code's billing line, and without cache marks.

Clients move cache marks with every request. Claude Code begins its system prompt with a line for Anthropic's accounting whose number may differ in
every request; Anthropic removes it, so that it is in no cache and in no signature. Neither belongs to what is compared, here and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.messages import Message
from innervoice.canon.parts import Part, Text
from innervoice.canon.request import Request
from innervoice.canon.words import BILLING_LINE, CACHE_MARKS

__all__ = [
    "SYSTEM_MEMBERS",
    "billing_line_in",
    "has_cache_mark",
    "is_billed",
    "is_billed_otherwise",
    "is_cache_point",
    "stable_value",
    "unbilled",
    "unbilled_json",
    "unbilled_request",
    "unbilled_system",
    "unbilled_text",
    "unmarked",
    "unmarked_json",
    "unmarked_message",
    "with_billing_line",
]

SYSTEM_MEMBERS = ("system", "systemInstruction", "system_instruction", "instructions")
"""The members of a body that hold its system prompt, where that is no message."""
_MARK, _POINT = CACHE_MARKS
_MARK_BYTES = f'"{_MARK}"'.encode()
"""As the name of a member; in a text its quotes would be escaped."""
_MARKED = re.compile(rb",\s*%s\s*:\s*\{[^{}]*\}" % _MARK_BYTES)
_LINE_BYTES = BILLING_LINE.encode()
_LINE = re.compile(rb'%s(?:[^"\\]|\\[^n])*' % re.escape(_LINE_BYTES))


# ---- the billing line ------------------------------------------------------------------------------


def unbilled_text(text: str) -> str:
    """A text of a system prompt without the billing line that it begins with."""
    return text.partition("\n")[2] if text.startswith(BILLING_LINE) else text


def is_billed(request: Request) -> bool:
    """True for a request whose system prompt begins with a billing line."""
    return (request.system or "").startswith(BILLING_LINE) or any(map(_is_billed, request.messages))


def is_billed_otherwise(request: Request) -> bool:
    """True for a request whose billing line version 0.2.1 did not tell from the rest of its system prompt."""
    texts = [part.text for one in request.messages if one.role == "system" for part in one.parts if isinstance(part, Text)]  # fmt: skip
    is_more = any(unbilled_text(text) not in ("", text) for text in texts)
    return is_more or (request.system or "").startswith(BILLING_LINE)


def unbilled_request(request: Request) -> Request:
    """A request without the billing line; the same object if it has none."""
    if not is_billed(request):
        return request
    system = unbilled_text(request.system) or None if request.system else request.system
    fitted = ((message, unbilled(message)) for message in request.messages)
    messages = tuple(one for message, one in fitted if one.parts or not message.parts)
    return request.replace(system=system, messages=messages)


def _is_billed(message: Message) -> bool:
    return message.role == "system" and any(map(_begins_with_line, message.parts))


def unbilled(message: Message) -> Message:
    """A system message without its billing line; the same object if it has none."""
    if not _is_billed(message):
        return message
    parts = (_unbilled_part(part) for part in message.parts)
    return message.replace(parts=tuple(part for part in parts if part is not None))


def _begins_with_line(part: Part) -> bool:
    return isinstance(part, Text) and part.text.startswith(BILLING_LINE)


def _unbilled_part(part: Part) -> Part | None:
    if not isinstance(part, Text) or not _begins_with_line(part):
        return part
    text, origin = unbilled_text(part.text), part.origin
    if not text.strip():
        return None
    if origin is not None and isinstance(origin.block, dict):
        origin = origin.replace(block={**origin.block, "text": text})
    return part.replace(text=text, origin=origin)


def unbilled_system(system: Any) -> Any:
    """A system prompt of the Messages API, a text or blocks, without its billing line."""
    if isinstance(system, str):
        return unbilled_text(system)
    if not isinstance(system, list):
        return system
    blocks = (_unbilled_block(block) for block in system)
    return [block for block in blocks if block is not None]


def _unbilled_block(block: Any) -> Any:
    text = block.get("text") if isinstance(block, dict) else None
    if not isinstance(text, str) or not text.startswith(BILLING_LINE):
        return block
    rest = unbilled_text(text)
    return {**block, "text": rest} if rest.strip() else None


def unbilled_json(data: bytes) -> bytes:
    """A system prompt as JSON without the billing lines that its texts begin with."""
    for start, end in reversed(_lines_in(data)):
        data = data[:start] + data[end:].removeprefix(b"\\n")
    return data


def billing_line_in(data: bytes) -> str | None:
    """The billing line in a system prompt as JSON; None if there is none."""
    places = _lines_in(data)
    return str(load_json(b'"%s"' % data[slice(*places[0])])) if places else None


def with_billing_line(data: bytes, line: str) -> tuple[bytes, int]:
    """A system prompt as JSON with this line in place of its own, and how many it had."""
    places, written = _lines_in(data), dump_json(line)[1:-1]
    for start, end in reversed(places):
        data = data[:start] + written + data[end:]
    return data, len(places)


def _lines_in(data: bytes) -> list[tuple[int, int]]:
    """Where the texts of a JSON value begin with such a line; a quote inside a text has a backslash before it."""
    if _LINE_BYTES not in data:
        return []
    return [
        match.span()
        for match in _LINE.finditer(data)
        if (before := data[max(0, match.start() - 2) : match.start()])[-1:] == b'"'
        and before[:1] != b"\\"
    ]


# ---- cache marks -----------------------------------------------------------------------------------


def has_cache_mark(data: bytes) -> bool:
    """True for JSON that may have a cache mark."""
    return _MARK_BYTES in data


def unmarked_json(data: bytes) -> bytes:
    """JSON without cache marks, to compare it: members of that name in the arguments of a call are left out too."""
    return _MARKED.sub(b"", data) if _MARK_BYTES in data else data


def unmarked(members: Mapping[str, Any]) -> dict[str, Any]:
    """The members of a tool or of a block without its cache mark."""
    return {name: item for name, item in members.items() if name != _MARK}


def is_cache_point(value: Any) -> bool:
    """True for a block or a tool that is only a cache mark, as Converse has it."""
    return isinstance(value, dict) and value.keys() == {_POINT}


def unmarked_message(message: Any) -> Any:
    """A message as JSON without its cache marks and those of its blocks; what is inside arguments stays."""
    if not isinstance(message, dict):
        return message
    content = message.get("content")
    blocks = {"content": list(map(unmarked_message, content))} if isinstance(content, list) else {}
    return unmarked({**message, **blocks})


# ---- both ------------------------------------------------------------------------------------------


def stable_value(value: Any) -> Any:
    """JSON without cache marks and with texts in one notation."""
    if isinstance(value, dict):
        plain = {name: stable_value(item) for name, item in value.items() if name != _MARK}
        if isinstance(plain.get("content"), str) and plain["content"]:
            plain["content"] = [{"type": "text", "text": plain["content"]}]
        return plain
    if isinstance(value, list):
        return [stable_value(item) for item in value if not is_cache_point(item)]
    return value
