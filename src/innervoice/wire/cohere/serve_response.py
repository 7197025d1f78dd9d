"""An answer -> a response of Cohere's chat API, whole or as the events of a stream.

The stream is the whole message cut to pieces: the plan, the content block by block, the calls. A recorded
stream ends with `[DONE]` behind `message-end`, so ours does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, Thinking, ToolCall
from innervoice.canon.response import Response
from innervoice.canon.usage import Usage
from innervoice.frames.frame import Frame
from innervoice.wire.cohere.write import write_assistant
from innervoice.wire.json_access import as_dict, as_list
from innervoice.wire.refusals import Refusal
from innervoice.wire.serve_response import own_part, own_word, pieces
from innervoice.wire.write import block_of, wholes

__all__ = [
    "counted", "finish_word", "write_answer", "write_error", "write_stream", "write_stream_error",
]  # fmt: skip

_DIALECT = "cohere"
_NO_ID = "00000000-0000-0000-0000-000000000000"
_WORDS = {
    "stop": "COMPLETE",
    "length": "MAX_TOKENS",
    "tool_calls": "TOOL_CALL",
    "content_filter": "ERROR_TOXIC",
    "error": "ERROR",
}


def write_answer(answer: Response) -> dict[str, Any]:
    """The body of a response."""
    body = {
        "id": answer.id or _NO_ID,
        "finish_reason": finish_word(answer),
        "message": _message(answer),
    }
    usage = counted(answer.usage)
    return {**body, "usage": usage} if usage else body


def write_stream(answer: Response, size: int) -> Iterator[Frame]:
    """The events of a response."""
    for event in _events(write_answer(answer), size):
        yield Frame(dump_json(event), event["type"])
    yield Frame(b"[DONE]")


def write_error(refusal: Refusal) -> dict[str, Any]:
    """The body of an error: Cohere has no types of them."""
    return {"id": _NO_ID, "message": refusal.text}


def write_stream_error(refusal: Refusal) -> Frame:
    """An error in the middle of a stream ends the message."""
    delta = {"finish_reason": "ERROR", "error": refusal.text}
    return Frame(dump_json({"type": "message-end", "delta": delta}), "message-end")


# ---- the message -----------------------------------------------------------------------------------


def _message(answer: Response) -> dict[str, Any]:
    parts = [own for part in wholes(answer.parts) if (own := _own(part)) is not None]
    message = write_assistant(Message("assistant", tuple(parts)))
    plans = [
        part.text
        for part in parts
        if isinstance(part, Thinking) and "tool_plan" in as_dict(block_of(part))
    ]
    if plans:
        message["tool_plan"] = "".join(plans)
    calls = [part for part in parts if isinstance(part, ToolCall)]
    for number, call in enumerate(calls):
        message["tool_calls"][number] = block_of(call) or message["tool_calls"][number]
    is_ours = answer.origin is not None and answer.origin.dialect == _DIALECT
    return {**message, **(as_dict(answer.origin.block) if answer.origin and is_ours else {})}


def _own(part: Part) -> Part | None:
    """A part as this dialect can write it: with a block of its own, or with none."""
    own = own_part(part, _DIALECT)
    if isinstance(own, Thinking) and block_of(own) is None:
        block = {"type": "thinking", "thinking": own.text}
        return own.replace(origin=Origin(dialect=_DIALECT, block=block)) if own.text else None
    return own


def finish_word(answer: Response) -> str:
    usual = _WORDS["tool_calls" if answer.tool_calls else "stop"]
    return own_word(answer, _DIALECT) or _WORDS.get(answer.finish_reason or "", usual)


def counted(usage: Usage) -> dict[str, Any]:
    counts = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    billed = {name: count for name, count in counts.items() if count is not None}
    if not billed:
        return {}
    tokens = dict(billed)
    if usage.reasoning_tokens is not None:
        tokens["reasoning_tokens"] = usage.reasoning_tokens
    written: dict[str, Any] = {"billed_units": billed, "tokens": tokens}
    if usage.cached_input_tokens is not None:
        written["cached_tokens"] = usage.cached_input_tokens
    return written


# ---- the stream ------------------------------------------------------------------------------------


def _events(body: dict[str, Any], size: int) -> Iterator[dict[str, Any]]:
    message = body["message"]
    nothing = {
        "role": "assistant",
        "content": [],
        "tool_plan": "",
        "tool_calls": [],
        "citations": [],
    }
    yield {"type": "message-start", "id": body["id"], "delta": {"message": nothing}}
    for piece in pieces(message.get("tool_plan"), size):
        yield {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": piece}}}
    for index, block in enumerate(as_list(message.get("content"))):
        yield from _content_events(index, block, size)
    for index, citation in enumerate(as_list(message.get("citations"))):
        yield _event("citation-start", index, citations=citation)
        yield {"type": "citation-end", "index": index}
    for index, call in enumerate(as_list(message.get("tool_calls"))):
        yield from _call_events(index, call, size)
    delta = {name: body[name] for name in ("finish_reason", "usage") if name in body}
    yield {"type": "message-end", "delta": delta}


def _event(kind: str, index: int, **message: Any) -> dict[str, Any]:
    return {"type": kind, "index": index, "delta": {"message": message}}


def _content_events(index: int, block: dict[str, Any], size: int) -> Iterator[dict[str, Any]]:
    kind = "text" if block.get("type") == "text" else "thinking"
    member = "value" if "value" in block else kind
    if not isinstance(block.get(member), str):
        yield _event("content-start", index, content=block)
    else:
        yield _event("content-start", index, content={**block, member: ""})
        for piece in pieces(block[member], size):
            yield _event("content-delta", index, content={kind: piece})
    yield {"type": "content-end", "index": index}


def _call_events(index: int, call: dict[str, Any], size: int) -> Iterator[dict[str, Any]]:
    function = as_dict(call.get("function"))
    begun = {**call, "function": {**function, "arguments": ""}}
    yield _event("tool-call-start", index, tool_calls=begun)
    for piece in pieces(function.get("arguments"), size):
        yield _event("tool-call-delta", index, tool_calls={"function": {"arguments": piece}})
    yield {"type": "tool-call-end", "index": index}
