"""How an answer of Ollama's /api/chat ends: its reasons, and its errors."""

from __future__ import annotations

from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.response import Response
from innervoice.frames.frame import Frame
from innervoice.wire.refusals import Refusal
from innervoice.wire.serve_response import own_word

__all__ = [
    "finish_word", "write_error", "write_stream_error",
]  # fmt: skip

_DIALECT = "ollama"
_CREATED = "2026-01-01T00:00:00Z"
"""The API requires a time, and none is known."""


def write_error(refusal: Refusal) -> dict[str, Any]:
    """The body of an error: only a text."""
    return {"error": refusal.text}


def write_stream_error(refusal: Refusal) -> Frame:
    """An error in the middle of a stream: a line like the body of an error."""
    return Frame(dump_json(write_error(refusal)))


def finish_word(answer: Response) -> str:
    """Why the answer ended; there is no separate reason for calls."""
    usual = "length" if answer.finish_reason == "length" else "stop"
    return own_word(answer, _DIALECT) or usual
