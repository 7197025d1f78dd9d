"""An answer -> a response, whole or as the events of a stream.

Items go out as they came. A part without an item of this dialect gets one: reasoning with its text as a
summary or as content, a message, or a call. Parts that share an item are entries of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.parts import Opaque, Part, Text, Thinking, ToolCall
from innervoice.canon.response import Response
from innervoice.canon.usage import Usage
from innervoice.frames.frame import Frame
from innervoice.wire.refusals import Refusal
from innervoice.wire.responses.events import events_of
from innervoice.wire.responses.read import INCOMPLETE
from innervoice.wire.serve_response import openai_error, own_word
from innervoice.wire.write import wholes

__all__ = ["response_body", "write_answer", "write_error", "write_stream", "write_stream_error"]

_DIALECT = "openai-responses"
_CREATED = 1_767_225_600
"""The first second of 2026: the wire wants a time, and we know none."""
_STATUSES = ("completed", "incomplete", "failed", "cancelled")
_REASONS = {"length": "max_output_tokens", "content_filter": "content_filter", "pause": "steered"}


def write_answer(answer: Response) -> dict[str, Any]:
    """The body of a response."""
    return response_body(answer, _output(answer))


def response_body(answer: Response, output: list[dict[str, Any]]) -> dict[str, Any]:
    """The body around the items; members that echo the request have the API's defaults."""
    status, reason = ending(answer)
    return {
        "id": answer.id or "resp_0",
        "object": "response",
        "created_at": _CREATED,
        "status": status,
        "error": failure_of(answer) if status == "failed" else None,
        "incomplete_details": {"reason": reason} if reason else None,
        "instructions": None,
        "max_output_tokens": None,
        "metadata": {},
        "model": answer.model or "",
        "output": output,
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None},
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": counted(answer.usage),
    }


def write_stream(answer: Response, size: int) -> Iterator[Frame]:
    """The events of a response."""
    for number, event in enumerate(events_of(write_answer(answer), size)):
        yield Frame(dump_json({**event, "sequence_number": number}), event["type"])


def write_error(refusal: Refusal) -> dict[str, Any]:
    """The body of an error."""
    return openai_error(refusal)


def write_stream_error(refusal: Refusal) -> Frame:
    """An error in the middle of a stream; its sequence number is unknown here, so it is 0."""
    event = {
        "type": "error",
        "code": refusal.code,
        "message": refusal.text,
        "param": refusal.param,
        "sequence_number": 0,
    }
    return Frame(dump_json(event), "error")


# ---- the response ----------------------------------------------------------------------------------


def ending(answer: Response) -> tuple[str, str | None]:
    """The status, and the reason of one that is incomplete."""
    word = own_word(answer, _DIALECT)
    if word in INCOMPLETE:
        return "incomplete", word
    if word in _STATUSES:
        return word, None
    if reason := _REASONS.get(answer.finish_reason or ""):
        return "incomplete", reason
    return "failed" if answer.finish_reason == "error" else "completed", None


def failure_of(answer: Response) -> dict[str, Any]:
    error = answer.error
    code = error.code if error and isinstance(error.code, str) else "server_error"
    message = (error and error.message) or "The model failed to generate a response."
    return {"code": code, "message": message}


def counted(usage: Usage) -> dict[str, Any] | None:
    """The counts; the details are there whenever anything is, for the API always has them."""
    known = (usage.input_tokens, usage.output_tokens)
    if known == (None, None):
        return None
    read, written = (count or 0 for count in known)
    cached = usage.cached_input_tokens or 0
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
        "total_tokens": read + written,
    }


# ---- items -----------------------------------------------------------------------------------------


def _output(answer: Response) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    # By the name that parts of one kind share; None: the item came whole.
    made: dict[tuple[str, str], dict[str, Any] | None] = {}
    refused = answer.finish_reason == "refusal"
    suffix = (answer.id or "resp_0").removeprefix("resp_")
    for part in wholes(answer.parts):
        name, block = _own(part)
        key = (name, part.type)
        if block is not None:
            items.append(block)
            made.setdefault(key, None)
        elif name and key in made:
            _extend(made[key], part, refused=refused)
        elif (item := _made(part, name, f"{suffix}_{len(items)}")) is not None:
            _extend(item, part, refused=refused)
            items.append(item)
            made[key] = item
    return items


def _own(part: Part) -> tuple[str, dict[str, Any] | None]:
    """The item of this dialect that a part is of: its name, and all of it where the part has it."""
    origin = part.origin
    is_ours = origin is not None and origin.dialect == _DIALECT
    if isinstance(part, Opaque):
        block = part.value if is_ours or origin is None else None
    else:
        block = origin.block if origin and is_ours else None
    whole = block if isinstance(block, dict) and "type" in block else None
    return (origin.item if origin and is_ours else None) or "", whole


def _made(part: Part, name: str, suffix: str) -> dict[str, Any] | None:
    """An item for a part that has none, still without its text."""
    status = "completed" if getattr(part, "complete", True) else "incomplete"
    match part:
        case Thinking():
            return {"type": "reasoning", "id": name or f"rs_{suffix}", "summary": []}
        case Text():
            head = {"type": "message", "id": name or f"msg_{suffix}", "role": "assistant"}
            return {**head, "status": status, "content": []}
        case ToolCall():
            call = {"call_id": part.id, "name": part.name, "arguments": part.arguments or "{}"}
            return {"type": "function_call", "id": f"fc_{suffix}", **call, "status": status}
        case _:
            return None


def _extend(item: dict[str, Any] | None, part: Part, *, refused: bool) -> None:
    """Adds the entry of a part to an item that was created here; a received item has it already."""
    if item is None:
        return
    match part:
        case Thinking(form="summary") if part.text:
            item["summary"].append({"type": "summary_text", "text": part.text})
        case Thinking() if part.text:
            entry = {"type": "reasoning_text", "text": part.text}
            item.setdefault("content", []).append(entry)
        case Text() if refused:
            item["content"].append({"type": "refusal", "refusal": part.text})
        case Text():
            entry = {"type": "output_text", "text": part.text}
            item["content"].append({**entry, "annotations": [], "logprobs": []})
        case _:
            pass
