"""LangChain messages <-> our messages, and an AIMessage of any integration -> a response.

A message of `ChatInnervoice` is restored exactly, so that the plan can send its blocks back to their provider and leave them out
for others. From other integrations everything that they kept is read: blocks with signatures, items, reasoning fields, and
markup in the text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from innervoice.bridges.langchain.ai_message import answer_message
from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message, system, tool_result, user
from innervoice.canon.notes import Note
from innervoice.canon.parts import Media, Opaque, Part, Text, ToolCall, ToolResult
from innervoice.canon.response import FinishReason, Response
from innervoice.canon.storage import from_json
from innervoice.canon.usage import Usage
from innervoice.catalog.lookup import host_in_langchain
from innervoice.decoding import decode
from innervoice.errors import DecodeError, UsageError
from innervoice.sources.langchain import CONTENT, from_object, read_langchain
from innervoice.sources.langchain.blocks import (
    KEY,
    is_withdrawn,
    parts_of,
    plain_block,
    plain_part,
)

__all__ = ["from_innervoice", "read", "to_innervoice"]

_CALLS = ("tool_call", "tool_call_chunk", "invalid_tool_call")


def to_innervoice(value: Any) -> Any:
    """A LangChain message as one of ours; a list of them as a list."""
    if isinstance(value, BaseMessage):
        return _message(value)
    return [_message(message) for message in value]


def from_innervoice(value: Response | Message | Iterable[Message]) -> Any:
    """A response or a message as a LangChain message; a history as a list of them.

    A message with several tool results becomes several messages.
    """
    if isinstance(value, Response):
        return answer_message(value)
    if isinstance(value, Message):
        written = _written(value)
        return written[0] if len(written) == 1 else written
    return [message for turn in value for message in _written(turn)]


def read(message: AIMessage) -> Response:
    """An AIMessage as a response, whichever integration wrote it."""
    if not isinstance(message, AIMessage):
        raise UsageError(f"read takes an AIMessage, not {type(message).__name__}")
    metadata = message.response_metadata
    response = _restored(message) if isinstance(metadata.get(KEY), dict) else _foreign(message)
    usage = _usage(message)
    return response if usage == Usage() else response.replace(usage=usage)


# ---- assistant messages --------------------------------------------------------------------------


def _restored(message: AIMessage) -> Response:
    """A message of `ChatInnervoice`."""
    metadata = message.response_metadata
    state = metadata[KEY]
    ended = bool(state.get("ended"))
    notes = metadata.get("notes") or ()
    return Response(
        parts=tuple(_parts(message, state, ended=ended)),
        provider=metadata.get("model_provider"),
        model=metadata.get("model_name"),
        id=metadata.get("id"),
        ended=ended,
        finish_reason=cast("FinishReason | None", metadata.get("finish_reason")),
        wire_finish_reason=state.get("finish_reason"),
        notes=tuple(Note(**note) for note in notes),
        origin=_stored_message(state).origin,
    )


def _parts(message: AIMessage, state: dict[str, Any], *, ended: bool) -> list[Part]:
    """The parts in their original order; blocks that were added later stay where they are."""
    calls = {call["id"]: call for call in [*message.tool_calls, *message.invalid_tool_calls]}
    calls_before: dict[str, Any] = state.get("calls") or {}
    content = message.content if isinstance(message.content, list) else [message.content]
    numbered: list[tuple[int | None, Part]] = []
    for block in content:
        if is_withdrawn(block) or block == "":
            continue
        name = block.get("id") if isinstance(block, dict) and block.get("type") in _CALLS else None
        block_parts = parts_of(block, calls.get(name)) or _kept_call(calls_before, name, calls)
        numbered += block_parts or [(None, plain_part(block, complete=ended))]
    call_ids = {part.id for _, part in numbered if isinstance(part, ToolCall)}
    for name, call in calls.items():
        if name not in call_ids:
            block_parts = _kept_call(calls_before, name, calls)
            numbered += block_parts or [(None, plain_part({**call, "type": "tool_call"}))]
    if all(at is not None for at, _ in numbered):
        numbered.sort(key=lambda item: item[0] or 0)
    return [part for _, part in numbered]


def _kept_call(
    stored_calls: dict[str, Any], name: Any, calls: dict[Any, Any]
) -> list[tuple[int, Part]]:
    """A tool call whose block lost its extras, which happens in some ways of streaming."""
    if name not in stored_calls:
        return []
    stored = {"type": "tool_call", "id": name, "extras": {KEY: stored_calls[name]}}
    return parts_of(stored, calls.get(name))


def _stored_message(state: dict[str, Any]) -> Message:
    """The stored facts about the message itself."""
    stored = {"type": "message", "role": "assistant", "origin": state.get("origin")}
    message: Message = from_json(dump_json(stored))
    return message


def _foreign(message: AIMessage) -> Response:
    """A message of another integration."""
    metadata = message.response_metadata
    name = metadata.get("model_provider")
    host = host_in_langchain(name) if isinstance(name, str) else None
    provider = host.id if host else name if isinstance(name, str) else None
    model = metadata.get("model_name") or metadata.get("model")
    try:
        response = decode(message, provider=provider, model=model)
    except DecodeError:  # an empty message, or only tool calls
        response = Response(provider=provider, model=model, ended=True)
    if isinstance(message.content, str) and not message.tool_calls:
        return response
    (turn,) = read_langchain([from_object(_native(message))])
    # Only `decode` finds markup in the text; `read_langchain` reads blocks more exactly.
    parts = turn.parts
    if isinstance(message.content, str):
        spoken = [part for part in response.parts if not isinstance(part, ToolCall)]
        parts = (*spoken, *turn.tool_calls)
    return response.replace(parts=tuple(_owned(part, provider, model) for part in parts))


def _owned(part: Part, provider: str | None, model: str | None) -> Part:
    """A sealed part, with the provider and model that it came from."""
    origin = part.origin
    if origin is None or not origin.seals or origin.provider is not None:
        return part
    return part.replace(origin=origin.replace(provider=provider, model=model))


def _native(message: AIMessage) -> AIMessage:
    """A message without copies of its tool calls, and with Google's reasoning in the form of Google's integration."""
    if isinstance(message.content, str):
        return message
    content = [
        _unwrapped(block, message.response_metadata.get("model_provider"))
        for block in message.content
        if not isinstance(block, dict) or block.get("type") not in _CALLS
    ]
    return message.model_copy(update={"content": content})


def _unwrapped(block: Any, provider: Any) -> Any:
    google = isinstance(provider, str) and provider.startswith(("google", "gemini", "vertex"))
    match block:
        case {"type": "non_standard", "value": dict(value)}:
            return value
        case {"type": "reasoning", "reasoning": str(text)} if google:
            signature = (block.get("extras") or {}).get("signature")
            return {"type": "thinking", "thinking": text, "signature": signature}
        case _:
            return block


def _usage(message: AIMessage) -> Usage:
    counts: Any = message.usage_metadata or {}
    details = counts.get("output_token_details") or {}
    return Usage(
        input_tokens=counts.get("input_tokens"),
        output_tokens=counts.get("output_tokens"),
        reasoning_tokens=details.get("reasoning"),
        cached_input_tokens=(counts.get("input_token_details") or {}).get("cache_read"),
    )


# ---- other messages ------------------------------------------------------------------------------


def _message(message: BaseMessage) -> Message:
    match message:
        case AIMessage():
            return read(message).message
        case ToolMessage():
            failed = message.status == "error"
            return tool_result(message.tool_call_id, _content(message.content), error=failed)
        case SystemMessage():
            return system(str(message.text))
        case HumanMessage():
            return user(_content(message.content))
        case ChatMessage(role="user" | "human"):
            return user(_content(message.content))
        case ChatMessage(role="system" | "developer"):
            return system(str(message.text))
        case ChatMessage(role="assistant" | "ai"):
            return Message("assistant", tuple(_content([message.content])))
        case _:
            raise UsageError(
                f"expected a human, AI, system or tool message, not {type(message).__name__}"
            )


def _content(content: Any) -> Any:
    """Text unchanged; blocks as parts."""
    if isinstance(content, str):
        return content
    return [_part(block) for block in content]


def _part(block: Any) -> Part:
    """A content block of a user or tool message; a provider's own block becomes `Opaque`."""
    match block:
        case str(text):
            return Text(text)
        case {"type": "text", "text": str(text), **rest} if rest.keys() <= {"id", "index"}:
            return Text(text)
        case {"type": "text-plain", "text": str(text)}:
            return Text(text)
        case {"type": "image_url", "image_url": {"url": str(url)} | str(url)}:
            return _media(None, url)
        case {"type": "image" | "audio" | "video" | "file", "base64": str(data)}:
            return Media(block.get("mime_type"), data)
        case {"type": "image" | "audio" | "video" | "file", "url": str(url)}:
            return _media(block.get("mime_type"), url)
        case {"type": "non_standard", "value": value}:
            return Opaque(value)
        case {"type": "text" | "image"}:
            return CONTENT.part(block)  # in a provider's form, which others refuse
        case _:
            return Opaque(block)


def _media(mime: str | None, url: str) -> Media:
    """The file behind a URL; a data URL contains it."""
    head, comma, data = url.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        return Media(head[5:-7] or mime, data)
    return Media(mime, url=url)


# ---- our messages -> LangChain -------------------------------------------------------------------


def _written(message: Message) -> list[BaseMessage]:
    if message.role == "assistant":
        return [answer_message(_as_response(message))]
    if message.role == "system":
        return [SystemMessage(message.text)]
    results: list[BaseMessage] = [
        ToolMessage(
            _content_of([part.content] if isinstance(part.content, str) else part.content),
            tool_call_id=part.call_id,
            status="error" if part.error else "success",
        )
        for part in message.parts
        if isinstance(part, ToolResult)
    ]
    spoken = [part for part in message.parts if not isinstance(part, ToolResult)]
    return [*results, HumanMessage(_content_of(spoken))] if spoken or not results else results


def _as_response(message: Message) -> Response:
    """A message of the model as a response."""
    origin = message.origin or next((part.origin for part in message.parts if part.origin), None)
    return Response(
        parts=message.parts,
        provider=origin.provider if origin else None,
        model=origin.model if origin else None,
        ended=True,
        origin=message.origin,
    )


def _content_of(content: Iterable[Part | str]) -> Any:
    """A single text as a string, anything else as blocks."""
    items = list(content)
    match items:
        case [str(text)] | [Text(text=text)]:
            return text
        case _:
            return [_block(item) for item in items]


def _block(item: Part | str) -> Any:
    if isinstance(item, str):
        return item
    is_block = isinstance(item, Opaque) and isinstance(item.value, dict)
    return item.value if isinstance(item, Opaque) and is_block else plain_block(item)
