"""The body around the items of a response: its status, its counts, and its errors."""

from __future__ import annotations

from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.response import Response
from innervoice.canon.usage import Usage
from innervoice.frames.frame import Frame
from innervoice.wire.refusals import Refusal
from innervoice.wire.responses.read import INCOMPLETE
from innervoice.wire.serve_response import openai_error, own_word

__all__ = ["response_body", "write_error", "write_stream_error"]

_DIALECT = "openai-responses"
_CREATED = 1_767_225_600
"""The first second of 2026: the API requires a time, and none is known."""
_STATUSES = ("completed", "incomplete", "failed", "cancelled")
_REASONS = {"length": "max_output_tokens", "content_filter": "content_filter", "pause": "steered"}


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
    """The counts; the details are always included, as in the API."""
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
