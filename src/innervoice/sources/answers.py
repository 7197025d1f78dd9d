"""What sources say of an answer beside its parts: times, and words for the reason of its end -> ours."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from innervoice.canon.notes import Note
from innervoice.canon.parts import Part
from innervoice.canon.reasoning import Reasoning
from innervoice.canon.response import Failure, FinishReason, Response
from innervoice.canon.usage import Usage
from innervoice.errors import DecodeError, UsageError
from innervoice.sources.native_turns import Author

__all__ = [
    "answer_from",
    "as_effort",
    "first_words",
    "from_iso",
    "from_millis",
    "not_too_deep",
    "seconds_of",
]

Given = ParamSpec("Given")
Result = TypeVar("Result")

_REASONS: dict[str, FinishReason] = {
    # OpenAI's words, those of the AI SDK (opencode) and of inspect, and those of providers that traces repeat
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "completed": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "max_output_tokens": "length",
    "tool_calls": "tool_calls",
    "tool_call": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "refusal": "refusal",
    "pause": "pause",
    "pause_turn": "pause",
    "error": "error",
}
_UNSAID = {"", "unknown", "other"}
"""Words that say that the reason is not known."""
_TITLE = 80


def answer_from(
    author: Author,
    parts: tuple[Part, ...],
    *,
    id: str | None = None,  # noqa: A002 - the plain word
    ended: bool = True,
    reason: str | None = None,
    usage: Usage | None = None,
    error: Failure | None = None,
    notes: tuple[Note, ...] = (),
) -> Response:
    """An answer whose parts are known; an unknown reason for its end is noted, and treated as a normal stop."""
    word = (reason or "").lower().replace("-", "_")
    known = _REASONS.get(word)
    if known is None and word not in _UNSAID:
        known, notes = "stop", (*notes, Note("unknown_finish_reason", reason))
    return Response(
        parts=parts,
        provider=author.provider,
        model=author.model,
        id=id,
        ended=ended,
        finish_reason=known,
        wire_finish_reason=reason or None,
        usage=usage or Usage(),
        error=error,
        notes=notes,
    )


def from_iso(value: Any) -> float | None:
    """Seconds since 1970 of a time in ISO 8601; None for anything else, and for a time without a zone."""
    if not isinstance(value, str):
        return None
    try:
        time = datetime.fromisoformat(value)
        return time.timestamp() if time.tzinfo else None
    except (ValueError, OverflowError):
        return None


def from_millis(value: Any) -> float | None:
    """Seconds since 1970 of a number of milliseconds."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value / 1000 if abs(value) < 1e15 and math.isfinite(value) else None


def seconds_of(value: Any) -> float | None:
    """A duration in seconds, or None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 <= value < 1e9 else None


def as_effort(word: Any) -> Reasoning | None:
    """A level of reasoning, as a program wrote it; None for a word that is not one of ours."""
    try:
        return Reasoning.from_any(word.lower()) if isinstance(word, str) else None
    except UsageError:
        return None


def not_too_deep(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Raises `DecodeError` for JSON that is nested deeper than Python can follow."""

    @wraps(function)
    def checked(*args: Given.args, **options: Given.kwargs) -> Result:
        try:
            return function(*args, **options)
        except RecursionError:
            raise DecodeError("the JSON is nested too deeply") from None

    return checked


def first_words(text: str) -> str:
    """A title: the first line of a text that says something, cut."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= _TITLE else f"{line[: _TITLE - 1].rstrip()}…"
