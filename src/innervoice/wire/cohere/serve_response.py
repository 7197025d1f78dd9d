"""How an answer of Cohere's chat API ends: its reasons, its counts, and its errors."""

from __future__ import annotations

from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.response import Response
from innervoice.canon.usage import Usage
from innervoice.frames.frame import Frame
from innervoice.wire.refusals import Refusal
from innervoice.wire.serve_response import own_word

__all__ = [
    "counted", "finish_word", "write_error", "write_stream_error",
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


def write_error(refusal: Refusal) -> dict[str, Any]:
    """The body of an error: Cohere's errors have no types."""
    return {"id": _NO_ID, "message": refusal.text}


def write_stream_error(refusal: Refusal) -> Frame:
    """An error in the middle of a stream ends the message."""
    delta = {"finish_reason": "ERROR", "error": refusal.text}
    return Frame(dump_json({"type": "message-end", "delta": delta}), "message-end")


# ---- the message -----------------------------------------------------------------------------------


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
