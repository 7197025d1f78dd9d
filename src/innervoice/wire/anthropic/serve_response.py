"""An answer -> Anthropic's Messages API: a whole message, or the events of a stream.

Rules, after https://platform.claude.com/docs/en/build-with-claude/streaming (read 2026-11-15) and recordings:

  1. A signature is one delta, the last of its block. Thinking with empty text has no other.
  2. `redacted_thinking`, and whatever is not text, thinking or a client's call, is whole in its start event.
  3. The start of a message counts its input, and the delta at its end counts everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.parts import Part, Thinking
from innervoice.canon.response import FinishReason, Response
from innervoice.canon.usage import Usage
from innervoice.frames.frame import Frame
from innervoice.wire.anthropic.write import write_part
from innervoice.wire.refusals import Refusal
from innervoice.wire.serve_response import own_part, own_word, pieces
from innervoice.wire.write import block_of, wholes

__all__ = [
    "counted_input", "counted_output", "stop_reason", "write_answer", "write_error", "write_stream", "write_stream_error",
]  # fmt: skip

_DIALECT = "anthropic"
_WORDS: dict[FinishReason | None, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
    "refusal": "refusal",
    "pause": "pause_turn",
    "error": "end_turn",  # the API has no word for it: it sends an error instead of a message
}
_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def write_answer(answer: Response) -> dict[str, Any]:
    """The body of a whole answer."""
    return {
        **_begun(answer),
        "content": _blocks(answer),
        "stop_reason": stop_reason(answer),
        "usage": {**counted_input(answer.usage), **counted_output(answer.usage)},
    }


def write_stream(answer: Response, size: int) -> Iterator[Frame]:
    """The same answer as a stream, its texts in deltas of `size` characters."""
    read, written = counted_input(answer.usage), counted_output(answer.usage)
    # Some token is out before the first event: the API says 1 here, or little more.
    message = {**_begun(answer), "usage": {**read, "output_tokens": 1}}
    yield _event("message_start", message=message)
    yield _event("ping")
    for index, block in enumerate(_blocks(answer)):
        begun, deltas = _unfolded(block, size)
        yield _event("content_block_start", index=index, content_block=begun)
        for delta in deltas:
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    end = {"stop_reason": stop_reason(answer), "stop_sequence": None}
    yield _event("message_delta", delta=end, usage={**read, **written})
    yield _event("message_stop")


def write_error(refusal: Refusal) -> dict[str, Any]:
    """The body of a refusal."""
    usual = "invalid_request_error" if refusal.status < 500 else "api_error"
    kind = refusal.type or _ERRORS.get(refusal.status, usual)
    error: dict[str, Any] = {"type": kind, "message": refusal.text}
    if isinstance(refusal.code, str):
        error["details"] = {"error_code": refusal.code}
    return {"type": "error", "error": error, "request_id": None}


def write_stream_error(refusal: Refusal) -> Frame:
    """An error in the middle of a stream."""
    return Frame(dump_json(write_error(refusal)), "error")


def _event(kind: str, **members: Any) -> Frame:
    return Frame(dump_json({"type": kind, **members}), kind)


def _begun(answer: Response) -> dict[str, Any]:
    """A message before its first block."""
    return {
        "id": answer.id or "",
        "type": "message",
        "role": "assistant",
        "model": answer.model or "",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def stop_reason(answer: Response) -> str | None:
    return own_word(answer, _DIALECT) or _WORDS.get(answer.finish_reason)


def counted_input(usage: Usage) -> dict[str, Any]:
    """The input token counts; the API counts cached tokens separately."""
    cached = usage.cached_input_tokens
    plain = {"input_tokens": (usage.input_tokens or 0) - (cached or 0)}
    return plain if cached is None else {**plain, "cache_read_input_tokens": cached}


def counted_output(usage: Usage) -> dict[str, Any]:
    """What the answer cost, thinking included."""
    output = {"output_tokens": usage.output_tokens or 0}
    thought = usage.reasoning_tokens
    if thought is None:
        return output
    return {**output, "output_tokens_details": {"thinking_tokens": thought}}


# ---- blocks ---------------------------------------------------------------------------------------


def _blocks(answer: Response) -> list[Any]:
    blocks = map(_block, wholes(answer.parts))
    return [block for block in blocks if block is not None]


def _block(part: Part) -> Any:
    """A block of this dialect unchanged; any other part in the plain form, if the dialect has one for it."""
    own = own_part(part, _DIALECT)
    if isinstance(own, Thinking) and not isinstance(block_of(own), dict):
        return {"type": "thinking", "thinking": own.text, "signature": ""}
    return write_part(own) if own else None


def _unfolded(block: Any, size: int) -> tuple[Any, list[dict[str, Any]]]:
    """What of a block its start event has, and the deltas that bring the rest."""
    match block:
        case {"type": "text", "text": str(text)}:
            begun, deltas = {**block, "text": ""}, _deltas("text_delta", "text", text, size)
            cited = block.get("citations")
            if isinstance(cited, list):
                begun["citations"] = []
                deltas += [{"type": "citations_delta", "citation": citation} for citation in cited]
            return begun, deltas
        case {"type": "thinking", "thinking": str(text)}:
            begun, deltas = (
                {**block, "thinking": ""},
                _deltas("thinking_delta", "thinking", text, size),
            )
            signature = block.get("signature")
            if isinstance(signature, str) and signature:
                begun["signature"] = ""
                deltas.append({"type": "signature_delta", "signature": signature})
            return begun, deltas
        case {"type": "tool_use", "input": value}:
            # Without arguments there is no delta, not one with an empty object.
            text = "" if value == {} else dump_json(value).decode()
            deltas = _deltas("input_json_delta", "partial_json", text, size)
            return {**block, "input": {}}, deltas
        case _:
            return block, []


def _deltas(kind: str, member: str, text: str, size: int) -> list[dict[str, Any]]:
    return [{"type": kind, member: piece} for piece in pieces(text, size)]
