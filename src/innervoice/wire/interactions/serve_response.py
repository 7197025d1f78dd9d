"""How an answer of the Interactions API ends: its status, its counts, and the errors in its place."""

from __future__ import annotations

from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.response import FinishReason, Response
from innervoice.canon.usage import Usage
from innervoice.frames.frame import Frame
from innervoice.wire.refusals import Refusal
from innervoice.wire.serve_response import own_word

__all__ = ["DONE", "counted", "error_of", "status_of", "write_error", "write_stream_error"]

DONE = Frame(b"[DONE]", "done")
"""The last frame of every stream."""
_DIALECT = "gemini-interactions"
_STATUSES: dict[FinishReason | None, str] = {
    "length": "incomplete",
    "content_filter": "incomplete",
    "tool_calls": "requires_action",
    "pause": "requires_continuation",
    "error": "failed",
}
# invalid_request, resource_exhausted and gateway_timeout are Google's; the others follow them.
_CODES = {
    401: "unauthenticated",
    403: "permission_denied",
    404: "not_found",
    409: "aborted",
    429: "resource_exhausted",
    500: "internal",
    503: "unavailable",
    504: "gateway_timeout",
    529: "unavailable",
}


def error_of(refusal: Refusal) -> dict[str, Any]:
    """What is said of a refusal: a sentence and a word."""
    usual = "invalid_request" if refusal.status < 500 else "internal"
    is_own = refusal.code == usual or refusal.code in _CODES.values()
    code = refusal.code if is_own else _CODES.get(refusal.status, usual)
    return {"message": refusal.text, "code": code}


def write_error(refusal: Refusal) -> dict[str, Any]:
    """The body of a refusal."""
    return {"error": error_of(refusal)}


def write_stream_error(refusal: Refusal) -> Frame:
    """An error in the middle of a stream."""
    return Frame(dump_json({"error": error_of(refusal), "event_type": "error"}), "error")


def status_of(answer: Response) -> str:
    """The status that an answer ends with."""
    return own_word(answer, _DIALECT) or _STATUSES.get(answer.finish_reason, "completed")


def counted(usage: Usage) -> dict[str, int] | None:
    """The counts; the output is counted without thoughts. None if nothing is known."""
    read, written, thought = usage.input_tokens, usage.output_tokens, usage.reasoning_tokens
    if read is None and written is None:
        return None
    said = max((written or 0) - (thought or 0), 0)
    return {
        "total_tokens": (read or 0) + said + (thought or 0),
        "total_input_tokens": read or 0,
        "total_cached_tokens": usage.cached_input_tokens or 0,
        "total_output_tokens": said,
        "total_tool_use_tokens": 0,
        "total_thought_tokens": thought or 0,
    }
