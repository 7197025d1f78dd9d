"""How an answer of Bedrock's Converse ends: its reasons, its counts, and its errors.

The type of an error is in a header, or in the name of its frame; the body has only the message.
"""

from __future__ import annotations

from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.response import FinishReason, Response
from innervoice.canon.usage import Usage
from innervoice.frames.frame import Frame
from innervoice.wire.refusals import Refusal
from innervoice.wire.serve_response import own_word

__all__ = [
    "METRICS", "counted", "error_headers", "stop_reason", "write_error", "write_stream_error",
]  # fmt: skip

_DIALECT = "bedrock-converse"
_WORDS: dict[FinishReason | None, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "content_filtered",
    "refusal": "refusal",
    "pause": "end_turn",  # the API has no word for it
    "error": "malformed_model_output",
}
_ERRORS = {
    400: "ValidationException",
    401: "AccessDeniedException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    424: "ModelErrorException",
    429: "ThrottlingException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
    529: "ServiceUnavailableException",
}
# A stream has only these.
_STREAM_ERRORS = (
    "internalServerException",
    "modelStreamErrorException",
    "validationException",
    "throttlingException",
    "serviceUnavailableException",
)
METRICS = {"latencyMs": 0}  # there is no clock here


def write_error(refusal: Refusal) -> dict[str, Any]:
    """The body of a refusal; its type is in a header."""
    return {"message": refusal.text}


def error_headers(refusal: Refusal) -> dict[str, str]:
    """The type of a refusal; botocore reads it only from this header."""
    return {"x-amzn-errortype": _error_type(refusal)}


def _error_type(refusal: Refusal) -> str:
    usual = "ValidationException" if refusal.status < 500 else "InternalServerException"
    return refusal.type or _ERRORS.get(refusal.status, usual)


def write_stream_error(refusal: Refusal) -> Frame:
    """An error in the middle of a stream."""
    kind = _error_type(refusal)
    name = kind[:1].lower() + kind[1:]
    if name not in _STREAM_ERRORS:
        name = "modelStreamErrorException"
    return Frame(dump_json(write_error(refusal)), name, failed=True)


def stop_reason(answer: Response) -> str | None:
    return own_word(answer, _DIALECT) or _WORDS.get(answer.finish_reason)


def counted(usage: Usage) -> dict[str, int]:
    """The counts; tokens read from the cache are not input here, but are in the total."""
    read, written, cached = (
        usage.input_tokens or 0,
        usage.output_tokens or 0,
        usage.cached_input_tokens,
    )
    counts = {
        "inputTokens": read - (cached or 0),
        "outputTokens": written,
        "totalTokens": read + written,
    }
    return counts if cached is None else {**counts, "cacheReadInputTokens": cached}


# ---- blocks ---------------------------------------------------------------------------------------
