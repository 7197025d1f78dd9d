"""How an answer of Gemini's generateContent ends: its reasons, its counts, and its errors."""

from __future__ import annotations

from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.response import FinishReason, Response
from innervoice.canon.usage import Usage
from innervoice.frames.frame import Frame
from innervoice.wire.refusals import Refusal
from innervoice.wire.serve_response import own_word

__all__ = [
    "counted", "finish_word", "write_error", "write_stream_error",
]  # fmt: skip

_DIALECT = "gemini"
_WORDS: dict[FinishReason | None, str] = {
    "stop": "STOP",
    "length": "MAX_TOKENS",
    "tool_calls": "STOP",
    "content_filter": "SAFETY",
    "refusal": "SAFETY",
    "pause": "CONTINUATION",
    "error": "OTHER",
}
_ERRORS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
    529: "UNAVAILABLE",
}
_RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"
_PLAIN = {"text", "thought"}


def write_error(refusal: Refusal) -> dict[str, Any]:
    """The body of a refusal."""
    usual = "INVALID_ARGUMENT" if refusal.status < 500 else "INTERNAL"
    kind = refusal.type or _ERRORS.get(refusal.status, usual)
    error: dict[str, Any] = {"code": refusal.status, "message": refusal.text, "status": kind}
    if wait := refusal.headers.get("retry-after"):
        # Google's clients read it here, not in the header.
        error["details"] = [{"@type": _RETRY_INFO, "retryDelay": f"{wait}s"}]
    return {"error": error}


def write_stream_error(refusal: Refusal) -> Frame:
    """An error in the middle of a stream."""
    return Frame(dump_json(write_error(refusal)), failed=True)


def finish_word(answer: Response) -> str | None:
    return own_word(answer, _DIALECT) or _WORDS.get(answer.finish_reason)


def counted(usage: Usage) -> dict[str, int]:
    """The counts; candidates are counted without thoughts."""
    output, thought = usage.output_tokens, usage.reasoning_tokens
    counts = {
        "promptTokenCount": usage.input_tokens,
        "candidatesTokenCount": None if output is None else output - (thought or 0),
        "thoughtsTokenCount": thought,
        "cachedContentTokenCount": usage.cached_input_tokens,
        "totalTokenCount": usage.total_tokens,
    }
    return {name: count for name, count in counts.items() if count is not None}


# ---- parts ----------------------------------------------------------------------------------------
