"""How an answer of Anthropic's Messages API ends: its reasons, its counts, and its errors."""

from __future__ import annotations

from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.response import FinishReason, Response
from innervoice.canon.usage import Usage
from innervoice.frames.frame import Frame
from innervoice.wire.refusals import Refusal
from innervoice.wire.serve_response import own_word

__all__ = [
    "counted_input", "counted_output", "stop_reason", "write_error", "write_stream_error",
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


def stop_reason(answer: Response) -> str | None:
    return own_word(answer, _DIALECT) or _WORDS.get(answer.finish_reason)


def counted_input(usage: Usage) -> dict[str, Any]:
    """The input token counts; the API counts cached tokens separately."""
    cached = usage.cached_input_tokens
    plain = {"input_tokens": (usage.input_tokens or 0) - (cached or 0)}
    return plain if cached is None else {**plain, "cache_read_input_tokens": cached}


def counted_output(usage: Usage) -> dict[str, Any]:
    """The tokens of the answer, thinking included."""
    output = {"output_tokens": usage.output_tokens or 0}
    thought = usage.reasoning_tokens
    if thought is None:
        return output
    return {**output, "output_tokens_details": {"thinking_tokens": thought}}


# ---- blocks ---------------------------------------------------------------------------------------
