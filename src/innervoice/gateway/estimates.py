"""Estimates of token counts, for requests and answers whose provider has not counted them.

An estimate counts one token for four bytes of text: four letters of English and code, and fewer of other scripts, which also cost more
tokens. Where the true count is unknown, the estimate is rather too high: a client then shortens its history a little early, not too late.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.parts import Part, Text, Thinking, ToolCall
from innervoice.canon.response import Response
from innervoice.canon.usage import Usage
from innervoice.canon.words import CACHE_MARKS
from innervoice.wire.dialects import DIALECTS, dialect_named
from innervoice.wire.json_access import as_count, as_dict, as_text

__all__ = ["allowed_output", "estimate", "estimated_usage", "unfinished_usage"]

_BYTES_PER_TOKEN = 4
_FILE_TOKENS = 1600
"""An image or another file. The largest image costs about 1,600 tokens at Anthropic, 1,100 at OpenAI (high detail, 1024 pixels) and
1,120 at Gemini; the size of a file in bytes says nothing of this, and the pages of a PDF cannot be counted without reading it."""
_MESSAGE_TOKENS = 4
"""The tokens around a message: its role, its beginning and its end."""

_READ = (
    "system", "systemInstruction", "system_instruction", "instructions", "messages", "contents", "input", "prompt", "tools",
    "toolConfig", "documents", "response_format", "output_config", "outputConfig", "format", "text", "generateContentRequest",
)  # fmt: skip
"""The members of a body, in any dialect, that a model reads."""
_UNREAD = frozenset({
    *(name for dialect in DIALECTS for name in dialect_named(dialect).seals if name != "data"), *CACHE_MARKS,
    "id", "call_id", "tool_use_id", "tool_call_id", "toolUseId", "tool_plan_id", "image_url", "file_data", "fileUri", "file_uri",
    "file_id", "url", "bytes", "media_type", "mimeType", "mime_type", "role", "type",
})  # fmt: skip
"""Members that hold seals, marks, names of calls, files, or constants of the API: a model reads none of their characters."""
_JSON = frozenset({
    "args", "arguments", "parameters", "parametersJsonSchema", "parameters_json_schema", "input_schema", "inputSchema", "schema",
    "response", "json", "custom",
})  # fmt: skip
"""Members whose names a model reads as well: schemas, arguments and results."""
_OUTPUT_LIMITS = (
    "max_completion_tokens",
    *dict.fromkeys(dialect_named(name).limit for name in DIALECTS),
)
_LIMIT_HOLDERS = ("generationConfig", "generation_config", "inferenceConfig", "options")
_FILES = frozenset({"image", "image_url", "input_image", "document", "file", "input_file", "input_audio", "video", "audio"})  # fmt: skip
"""Types of blocks that hold a file, as their type or as the name of their member."""
_FILE_MEMBERS = frozenset({"inlineData", "inline_data", "fileData", "file_data", "image", "video", "audio", "document"})  # fmt: skip
_BINARY_TYPES = frozenset({"base64", "redacted_thinking", "reasoning.encrypted"})
_BINARY_SIGNS = frozenset({"mimeType", "mime_type", "format"})


def estimate(body: Mapping[str, Any]) -> int:
    """About how many tokens a request has: its system prompt, tools and messages, in any dialect. Never 0; more text never counts as fewer tokens."""
    size = sum(_size(body[name], name) for name in _READ if name in body)
    return max(1, -(-size // _BYTES_PER_TOKEN))


def allowed_output(member: Callable[[str], bytes | None]) -> int | None:
    """The limit on the answer's tokens that a body of any dialect sets, if any; `member` returns a member of the body as JSON."""
    holders = [as_dict(load_json(member(name) or b"null")) for name in _LIMIT_HOLDERS]
    values = [load_json(member(name) or b"null") for name in _OUTPUT_LIMITS]
    values += [holder.get(name) for holder in holders for name in _OUTPUT_LIMITS]
    return next((count for value in values if (count := as_count(value))), None)


def estimated_usage(response: Response, request_tokens: int) -> Usage:
    """The token counts of an answer; estimates where its provider sent none. `request_tokens` is the estimate for the request."""
    usage = response.usage
    if usage.total_tokens is not None:
        return usage
    return Usage(
        input_tokens=usage.input_tokens or request_tokens,
        output_tokens=usage.output_tokens or _answer_tokens(response),
        reasoning_tokens=usage.reasoning_tokens,
        cached_input_tokens=usage.cached_input_tokens,
    )


def unfinished_usage(response: Response, request_tokens: int) -> Usage:
    """The counts of an answer that was cut off: at least the tokens that were received, though some providers count only the beginning until the end."""
    usage, written = estimated_usage(response, request_tokens), _answer_tokens(response)
    return usage.replace(output_tokens=written) if written > (usage.output_tokens or 0) else usage


def _answer_tokens(response: Response) -> int:
    texts = dump_json([_text_of(part) for part in response.parts])
    return -(-len(texts) // _BYTES_PER_TOKEN)


def _text_of(part: Part) -> str:
    match part:
        case Text() | Thinking():
            return part.text
        case ToolCall():
            return part.name + part.arguments
        case _:
            return ""


def _size(value: Any, name: str) -> int:  # noqa: PLR0911 - one for each kind of value
    """The bytes of a value that a model reads, by the member that holds it; a file counts as text of the same cost."""
    match value:
        case None:
            return 0
        case str():
            return len(value.encode("utf-8", "surrogatepass"))
        case dict() | list() if name in _JSON or (name == "input" and isinstance(value, dict)):
            # `input` holds the arguments of a call; the conversation of that name is a list or a text.
            return len(dump_json(value))
        case list() if name == "images":
            return len(value) * _FILE_TOKENS * _BYTES_PER_TOKEN
        case list():
            return sum(_size(item, "") for item in value)
        case dict():
            return _block_size(value)
        case _:
            return len(str(value))


def _block_size(block: dict[str, Any]) -> int:
    tokens = (_FILE_TOKENS if _is_file(block) else 0) + (_MESSAGE_TOKENS if "role" in block else 0)
    size = tokens * _BYTES_PER_TOKEN
    for name, value in block.items():
        if name in _UNREAD or (name == "data" and _is_binary(value, block)):
            continue
        size += _size(value, name)
    return size


def _is_file(block: dict[str, Any]) -> bool:
    """Whether a block is a file that is not text itself."""
    if as_text(block.get("type")) not in _FILES and block.keys().isdisjoint(_FILE_MEMBERS):
        return False
    document = as_dict(block.get("document"))
    source = as_dict(document.get("source", block.get("source")))
    is_text = source.get("type") in ("text", "content") or not source.keys().isdisjoint(
        ("text", "content")
    )
    return not is_text and "data" not in document


def _is_binary(value: Any, block: dict[str, Any]) -> bool:
    """Whether `data` holds a file or a seal; in documents it may be text."""
    kind = as_text(block.get("type"))
    signed = kind in _BINARY_TYPES or not block.keys().isdisjoint(_BINARY_SIGNS)
    return isinstance(value, str) and (signed or ("media_type" in block and kind != "text"))
