"""The body of a Messages request -> a request, and an answer -> what the API sends."""

from __future__ import annotations

from typing import Any

from innervoice.canon.messages import Message
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, Text
from innervoice.canon.request import Request
from innervoice.wire.anthropic.media import read_media
from innervoice.wire.anthropic.read import AnthropicReader
from innervoice.wire.anthropic.serve_response import (
    write_error,
    write_stream_error,
)
from innervoice.wire.json_access import as_dict, as_text
from innervoice.wire.protocol import Context
from innervoice.wire.serve_request import (
    UserContent,
    assistant_turn,
    checked_messages,
    claude_setting,
    request_of,
    schema_format,
    with_role,
    without,
)

__all__ = ["read_request", "write_error", "write_stream_error"]


def _read_block(block: dict[str, Any]) -> Part | None:
    """A file, or a block whose texts the model reads: a search result, or a document in pieces."""
    match block:
        case {"type": "search_result", "content": list(pieces)}:
            pass
        case {"type": "document", "source": {"type": "content", "content": list(pieces)}}:
            pass
        case _:
            return read_media(block)
    texts = [text for piece in pieces if (text := as_text(as_dict(piece).get("text")))]
    return Text("\n\n".join(texts), origin=Origin(dialect="anthropic", block=block))


_CONTENT = UserContent("anthropic", _read_block)
_OPTIONS = ("max_tokens", "temperature", "top_p", "tools", "stream")
_CHOICES: dict[Any, str] = {"auto": "auto", "none": "none", "any": "required"}


def read_request(body: dict[str, Any]) -> Request:
    """Reads a body."""
    messages = [_message(message) for message in checked_messages(body.get("messages"), "messages")]
    read = {"model", "messages", "stop_sequences", "tool_choice", "system", *_OPTIONS}
    known = {name: body.get(name) for name in _OPTIONS}
    known["stop"] = body.get("stop_sequences")
    known["tool_choice"], known["parallel_tool_calls"] = _choice(body.get("tool_choice"))
    elsewhere: dict[str, Any] = {}
    if isinstance(body.get("system"), str):
        known["system"] = body["system"]
    else:
        messages = _CONTENT.system(body.get("system")) + messages
    known["reasoning"], beside = claude_setting(body, elsewhere)
    form = as_dict(beside["output_config"].get("format"))
    if form.get("type") == "json_schema":
        known["response_format"] = schema_format(form.get("schema"))
        beside["output_config"] = without(beside["output_config"], "format")
    left = {name: members for name, members in beside.items() if members}
    read |= beside.keys() - left.keys()
    return request_of({**body, **left}, "anthropic", messages, known, read, elsewhere=elsewhere)


def _choice(choice: Any) -> tuple[Any, bool | None]:
    """Which tools the model may or must call, and whether several at once."""
    single = as_dict(choice).get("disable_parallel_tool_use")
    parallel = not single if isinstance(single, bool) else None
    given = without(choice, "disable_parallel_tool_use") if parallel is not None else choice
    match given:
        case {"type": str(kind)} if len(given) == 1 and kind in _CHOICES:
            return _CHOICES[kind], parallel
        case {"type": "tool", "name": str(name)} if len(given) == 2 and name not in _CHOICES:
            return name, parallel
        case _:
            return choice, None


def _message(message: dict[str, Any]) -> Message:
    content, role = message.get("content"), message.get("role")
    if role == "assistant":
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        return assistant_turn(AnthropicReader(Context()), {"type": "message", "content": blocks})
    parts: list[Part] = []
    for block in content if isinstance(content, list) else [content] if content else []:
        match block:
            case {"type": "tool_result", "tool_use_id": call_id, **rest}:
                failed = rest.get("is_error") is True
                # Content that seals are bound to must stay as it was sent the first time, so `false` is not left out.
                written = {"content", "is_error"} if failed else {"content"}
                more = block if rest.keys() - written else None
                parts.append(
                    _CONTENT.result(call_id, rest.get("content"), error=failed, block=more)
                )
            case _:
                parts.append(_CONTENT.part(block))
    beside = without(message, "role", "content")
    if role == "system":
        return with_role("system", tuple(parts), "anthropic", {"role": "system", **beside})
    return with_role("user", tuple(parts), "anthropic", beside)
