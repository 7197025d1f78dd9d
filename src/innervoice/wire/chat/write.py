"""A request -> the body of Chat Completions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from innervoice.canon.messages import Message
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
from innervoice.canon.request import Request, Tool
from innervoice.wire.chat.reasoning import DETAILS
from innervoice.wire.json_access import as_dict, as_text
from innervoice.wire.media import (
    PICTURES,
    Accepts,
    Types,
    data_url,
    kind_of,
    media_of,
    media_of_url,
)
from innervoice.wire.write import (
    block_of,
    message_members,
    nested_tool,
    schema_members,
    wholes,
    with_members,
)

__all__ = [
    "ACCEPTS",
    "IN_RESULTS",
    "TYPES",
    "read_media",
    "write",
    "write_assistant",
    "write_call",
    "write_media",
    "write_message",
]

# ---- Files in Chat Completions: images by URL or data, PDFs and audio as data, videos where a host supports them.


ACCEPTS: Accepts = {
    "image": ("data", "url"),
    "pdf": ("data",),
    "audio": ("data",),
    "video": ("data", "url"),
}
TYPES: Types = {"image": PICTURES}
"""Of OpenAI; compatible hosts may accept others."""
IN_RESULTS = False
_FORMATS = {"mpeg": "mp3", "x-wav": "wav", "wave": "wav", "vnd.wave": "wav"}


def write_media(part: Media) -> dict[str, Any]:
    """The chunk of a file."""
    match kind_of(part):
        case "audio":
            subtype = (part.mime or "audio/wav").partition("/")[2]
            sound = {"data": part.data, "format": _FORMATS.get(subtype, subtype)}
            return {"type": "input_audio", "input_audio": sound}
        case "video":
            return {"type": "video_url", "video_url": {"url": data_url(part)}}
        case "image":
            return {"type": "image_url", "image_url": {"url": data_url(part)}}
        case _:
            file = {"filename": part.name or "document.pdf", "file_data": data_url(part)}
            return {"type": "file", "file": file}


def read_media(block: dict[str, Any], dialect: str = "openai-chat") -> Media | None:
    """The file in a chunk."""
    match block.get("type"):
        case "image_url" | "video_url" as kind:
            inner = block.get(kind)
            url = inner if isinstance(inner, str) else as_dict(inner).get("url")
            mime = "video/mp4" if kind == "video_url" else None
            return media_of_url(url, block, dialect, mime=mime)
        case "input_audio":
            sound = as_dict(block.get("input_audio"))
            form = as_text(sound.get("format")) or "wav"
            return media_of(f"audio/{form}", sound.get("data"), None, block, dialect)
        case "file":
            file = as_dict(block.get("file"))
            name = file.get("filename")
            return media_of_url(
                file.get("file_data"), block, dialect, mime="application/pdf", name=name
            )
        case _:
            return None


# ---- requests

WriteFile: TypeAlias = Callable[[Media], dict[str, Any]]

_SENT_BACK = (DETAILS, "extra_content", "prefix")
"""Members of an answer, besides its parts, that are sent back."""
_ENTRY = {"text", "summary", "signature", "data"}
"""Members that only an entry of the details has, even where a host sends no type."""


def write(
    request: Request, model: str, limit: str, write_file: WriteFile = write_media
) -> dict[str, Any]:
    """The body; relatives of chat have another form for files."""
    body: dict[str, Any] = {"model": model, "messages": []}
    if request.system is not None:
        body["messages"].append({"role": "system", "content": request.system})
    body["messages"] += [
        written for message in request.messages for written in write_message(message, write_file)
    ]
    options = {
        limit: request.max_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
    }
    body.update({name: value for name, value in options.items() if value is not None})
    if request.stop is not None:
        body["stop"] = list(request.stop)
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if request.tool_choice is not None:
        body["tool_choice"] = _choice(request.tool_choice)
    if request.parallel_tool_calls is not None and request.tools:
        body["parallel_tool_calls"] = request.parallel_tool_calls
    if request.response_format is not None:
        form = request.response_format
        members = schema_members(form)
        if (
            members
            and form["type"] == "json_schema"
            and "name" not in as_dict(form.get("json_schema"))
        ):
            form = {"type": "json_schema", "json_schema": members}
        body["response_format"] = form
    if request.stream:
        body["stream"] = True
        body["stream_options"] = {"include_usage": True}
    return body


def write_message(message: Message, write_file: WriteFile = write_media) -> list[dict[str, Any]]:
    """A message; one with several results becomes several on the wire."""
    if message.role == "assistant":
        return [write_assistant(message)]
    rest = message.origin.block if message.origin and isinstance(message.origin.block, dict) else {}
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    others: list[Part] = [part for part in message.parts if not isinstance(part, ToolResult)]
    written = [
        {"role": "tool", "tool_call_id": part.call_id, "content": _result(part, write_file), **rest}
        for part in results
    ]
    if others or (message.effort and rest and not results):
        role = "user" if message.role == "tool" else message.role
        written.append(
            {"role": role, "content": _content(others, write_file) if others else "", **rest}
        )
    return written


def _result(part: ToolResult, write_file: WriteFile) -> Any:
    if isinstance(part.content, str):
        plain = {"type": "text", "text": part.content}
        return [block] if (block := with_members(plain, part)) is not plain else part.content
    return _content(list(part.content), write_file)


def write_assistant(message: Message) -> dict[str, Any]:
    """A turn of the model."""
    parts = list(wholes(message.parts))
    received = (
        message.origin.block if message.origin and isinstance(message.origin.block, dict) else {}
    )
    written: dict[str, Any] = {"role": "assistant"}
    if any(_is_chunk(part) for part in parts):
        # Content that came as a list of chunks is sent back as one.
        written["content"] = [chunk for part in parts if (chunk := _chunk(part)) is not None]
    else:
        text = "".join(part.text for part in parts if isinstance(part, Text))
        calls = any(isinstance(part, ToolCall) for part in parts)
        written["content"] = text if text or not calls else received.get("content")
    written.update(_reasoning(parts))
    calls_written = [write_call(part) for part in parts if isinstance(part, ToolCall)]
    if calls_written:
        written["tool_calls"] = calls_written
    names = message_members(message).keys() - {"content"} or _SENT_BACK
    written.update({name: received[name] for name in received if name in names})
    return written


def _is_chunk(part: Part) -> bool:
    """Whether a part is only possible in a list of chunks."""
    value = part.value if isinstance(part, Opaque) else block_of(part)
    kind = value.get("type") if isinstance(value, dict) else None
    match part:
        case Opaque():
            return isinstance(kind, str) and not kind.startswith("reasoning.")
        case Thinking():
            return kind in ("thinking", "reasoning")
        case Text():
            return kind in ("text", "output_text")
        case _:
            return False


def _reasoning(parts: list[Part]) -> dict[str, Any]:
    """The fields in which the reasoning came."""
    fields: dict[str, Any] = {}
    for part in parts:
        block = part.value if isinstance(part, Opaque) else block_of(part)
        if not isinstance(block, dict) or isinstance(part, (Text, ToolCall)) or _is_chunk(part):
            continue
        if str(block.get("type", "")).startswith("reasoning.") or not _ENTRY.isdisjoint(block):
            fields.setdefault(DETAILS, []).append(block)
        elif isinstance(part, Thinking) and not is_inline(part):
            for name, text in block.items():
                # A field is one text; two parts are separated as in the views.
                fields[name] = f"{fields[name]}\n\n{text}" if fields.get(name) else text
    return fields


def _chunk(part: Part) -> Any:
    block = block_of(part)
    if isinstance(part, Text):
        return block if isinstance(block, dict) else {"type": "text", "text": part.text}
    if not _is_chunk(part):
        return None
    return part.value if isinstance(part, Opaque) else block


def write_call(part: ToolCall) -> dict[str, Any]:
    """A tool call of the model."""
    block = block_of(part)
    if isinstance(block, dict) and ("function" in block or "custom" in block):
        return {key: value for key, value in block.items() if key != "id"} | {"id": part.id}
    return {
        "id": part.id,
        "type": "function",
        "function": {"name": part.name, "arguments": part.arguments or "{}"},
    }


def _content(parts: list[Part], write_file: WriteFile) -> Any:
    if all(isinstance(part, Text) and part.origin is None for part in parts):
        return (
            "".join(part.text for part in parts if isinstance(part, Text))
            if len(parts) == 1
            else [{"type": "text", "text": part.text} for part in parts if isinstance(part, Text)]
        )
    chunks: list[Any] = []
    for part in parts:
        match part:
            case Text():
                plain = {"type": "text", "text": part.text}
                chunks.append(block_of(part) or with_members(plain, part))
            case Media():
                chunks.append(block_of(part) or with_members(write_file(part), part))
            case Opaque():
                chunks.append(part.value)
            case _:
                pass
    return chunks


def _tool(tool: Tool) -> Any:
    if tool.own is not None:
        return tool.own
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", **nested_tool(tool, "function", function)}


def _choice(choice: Any) -> Any:
    if not isinstance(choice, str) or choice in ("auto", "none", "required"):
        return choice
    return "required" if choice == "any" else {"type": "function", "function": {"name": choice}}
