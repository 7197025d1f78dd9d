"""Turns SDK objects and LangChain messages back into the JSON of the wire format.

Objects of the official SDKs can dump themselves. A LangChain message is read as the message of
the dialect that its content looks like.
"""

from __future__ import annotations

from base64 import b64encode
from enum import Enum
from typing import Any

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.errors import DecodeError
from innervoice.wire.json_access import as_text

__all__ = ["bytes_of", "json_of"]

_BLOCKS = {"thinking", "redacted_thinking", "tool_use", "reasoning", "reasoning_content", "text"}


def bytes_of(chunk: Any) -> bytes | None:
    """The bytes of a chunk of text or bytes; None if it is an object."""
    if isinstance(chunk, str):
        return chunk.encode("utf-8", "surrogatepass")
    return bytes(chunk) if isinstance(chunk, (bytes, bytearray, memoryview)) else None


def json_of(value: Any) -> Any:
    """The JSON value of a dict, an SDK's object or a LangChain message."""
    if isinstance(value, dict) and ("chunk" in value or "bytes" in value):
        return _opened(value)
    if value is None or isinstance(value, (dict, list, str, int, float, bool)):
        return _plain(value)
    if hasattr(value, "additional_kwargs") and hasattr(value, "content"):
        return _from_langchain(value)
    for name, options in (
        ("model_dump", {"by_alias": True, "exclude_unset": True, "warnings": False}),
        ("model_dump", {"by_alias": True, "exclude_unset": True}),
        ("model_dump", {}),
        ("to_dict", {}),
        ("dict", {}),
    ):
        dump = getattr(value, name, None)
        if callable(dump):
            try:
                dumped = dump(**options)
            except TypeError:
                continue
            if isinstance(dumped, dict):
                return _unwrapped(_plain(dumped))
    raise DecodeError(
        f"expected bytes, text, a dict or an SDK's object, not {type(value).__name__}"
    )


def _opened(event: dict[str, Any]) -> Any:
    """The message in an event of botocore's InvokeModelWithResponseStream; other values as they are."""
    from innervoice.frames.eventstream import opened_chunk  # noqa: PLC0415 - only Bedrock sends it

    plain = _plain(event)
    inner = plain.get("chunk")
    opened = opened_chunk(inner if isinstance(inner, dict) else plain)
    try:
        return plain if opened is None else load_json(opened)
    except ValueError:
        return plain


def _unwrapped(event: dict[str, Any]) -> dict[str, Any]:
    """The chunk inside an SDK's event: mistralai puts it under `data`, openai's helper under `chunk`."""
    inner = event.get("chunk") if event.get("type") == "chunk" else event.get("data")
    return inner if isinstance(inner, dict) and "choices" in inner else event


def _plain(value: Any) -> Any:
    """The value as JSON: bytes as base64, enumerations as their value."""
    match value:
        case Enum():
            return value.value
        case None | str() | int() | float():
            plain: Any = value
        case dict():
            plain = {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            plain = [_plain(item) for item in value]
        case bytes() | bytearray():
            plain = b64encode(value).decode()
        case _:
            plain = value.isoformat() if hasattr(value, "isoformat") else json_of(value)
    return plain


# ---- LangChain -----------------------------------------------------------------------------------


def _from_langchain(message: Any) -> dict[str, Any]:
    content = _plain(message.content)
    extra = _plain(getattr(message, "additional_kwargs", None) or {})
    metadata = _plain(getattr(message, "response_metadata", None) or {})
    reason = (
        metadata.get("finish_reason") or metadata.get("stop_reason") or metadata.get("done_reason")
    )
    model = metadata.get("model_name") or metadata.get("model")
    calls = _plain(getattr(message, "tool_calls", None) or [])
    usage = _plain(getattr(message, "usage_metadata", None) or {})
    if isinstance(extra.get("reasoning"), dict):  # an item of a response next to the content
        content = [extra["reasoning"], *(content if isinstance(content, list) else [content])]
    if isinstance(content, list) and any(_is_item(block) for block in content):
        return _as_response(content, calls, model, usage)
    if isinstance(content, list) and any(_kind(block) in _BLOCKS - {"text"} for block in content):
        return _as_anthropic(content, calls, model, reason, usage)
    blocks = [
        {
            "id": call.get("id"),
            "type": "function",
            "function": {
                "name": call.get("name"),
                "arguments": dump_json(call.get("args") or {}).decode(),
            },
        }
        for call in calls
    ]
    chat = {**extra, "role": "assistant", "content": content}
    if blocks:
        chat["tool_calls"] = blocks
    return {
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": chat,
                "finish_reason": reason or ("tool_calls" if blocks else "stop"),
            }
        ],
        "usage": {
            "prompt_tokens": usage.get("input_tokens"),
            "completion_tokens": usage.get("output_tokens"),
            "completion_tokens_details": {
                "reasoning_tokens": (usage.get("output_token_details") or {}).get("reasoning")
            },
        },
    }


def _kind(block: Any) -> Any:
    return block.get("type") if isinstance(block, dict) else None


def _is_item(block: Any) -> bool:
    """Whether a block is an item of OpenAI's Responses, or LangChain's standard form of one."""
    match block:
        case {"type": "function_call"} | {"type": "reasoning", "summary": list()}:
            return True
        case {"type": "reasoning"}:
            extras: Any = block.get("extras") or {}
            sealed = block.get("encrypted_content") or extras.get("encrypted_content")
            return bool(sealed) or str(block.get("id")).startswith("rs_")
        case _:
            return False


def _as_response(
    content: list[Any], calls: list[Any], model: Any, usage: dict[str, Any]
) -> dict[str, Any]:
    items = [_item(block) for block in content if block != ""]
    call_ids = {as_text(item.get("call_id")) for item in items}
    items += [
        {
            "type": "function_call",
            "call_id": call.get("id"),
            "name": call.get("name"),
            "arguments": dump_json(call.get("args") or {}).decode(),
        }
        for call in calls
        if as_text(call.get("id")) not in call_ids
    ]
    details = usage.get("output_token_details") or {}
    return {
        "object": "response",
        "status": "completed",
        "model": model,
        "output": items,
        "usage": {
            "input_tokens": usage.get("input_tokens"),
            "output_tokens": usage.get("output_tokens"),
            "output_tokens_details": {"reasoning_tokens": details.get("reasoning")},
        },
    }


def _item(block: Any) -> Any:
    match block:
        case str(text) | {"type": "text", "text": str(text)}:
            content = {"type": "output_text", "text": text}
            return {"type": "message", "role": "assistant", "content": [content]}
        case {"type": "reasoning", "reasoning": str(text), **rest}:
            extras: Any = rest.pop("extras", None) or {}
            summary = [{"type": "summary_text", "text": text}] if text else []
            return {**rest, **extras, "type": "reasoning", "summary": summary}
        case dict():
            return block
        case _:
            return {"type": "odd", "value": block}


def _as_anthropic(
    content: list[Any], calls: list[Any], model: Any, reason: Any, usage: dict[str, Any]
) -> dict[str, Any]:
    blocks = [_block(block) for block in content]
    call_ids = {as_text(block.get("id")) for block in blocks if _kind(block) == "tool_use"}
    blocks += [
        {
            "type": "tool_use",
            "id": call.get("id"),
            "name": call.get("name"),
            "input": call.get("args") or {},
        }
        for call in calls
        if as_text(call.get("id")) not in call_ids
    ]
    return {
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": reason or ("tool_use" if calls else "end_turn"),
        "usage": {
            "input_tokens": usage.get("input_tokens"),
            "output_tokens": usage.get("output_tokens"),
        },
    }


def _block(block: Any) -> Any:
    """LangChain's standard reasoning block, or Bedrock's, as a thinking block."""
    match block:
        case str(text):
            return {"type": "text", "text": text}
        case {"type": "reasoning", "reasoning": str(text)}:
            signature = (block.get("extras") or {}).get("signature")
            made = {"type": "thinking", "thinking": text}
            return {**made, "signature": signature} if signature else made
        case {"type": "reasoning_content", "reasoning_content": {"text": str(text), **rest}}:
            made = {"type": "thinking", "thinking": text}
            return {**made, "signature": rest["signature"]} if rest.get("signature") else made
        case _:
            return block
