"""Facts of programs about an answer besides its parts: words for the finish reason, and for levels of reasoning -> ours."""

from __future__ import annotations

from typing import Any

from innervoice.canon.notes import Note
from innervoice.canon.parts import Part
from innervoice.canon.reasoning import Reasoning
from innervoice.canon.response import Failure, Response
from innervoice.canon.usage import Usage
from innervoice.canon.words import finish_reason_of
from innervoice.errors import UsageError
from innervoice.sources.native_turns import Author

__all__ = ["answer_from", "as_effort"]

_UNSAID = {"", "unknown", "other"}
"""Words for an unknown reason."""


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
    """An answer whose parts are known; an unknown finish reason is noted, and treated as a normal stop."""
    word = (reason or "").lower().replace("-", "_")
    finish_reason = None if word in _UNSAID else finish_reason_of(word)
    if finish_reason is None and word not in _UNSAID:
        finish_reason, notes = "stop", (*notes, Note("unknown_finish_reason", reason))
    return Response(
        parts=parts,
        provider=author.provider,
        model=author.model,
        id=id,
        ended=ended,
        finish_reason=finish_reason,
        wire_finish_reason=reason or None,
        usage=usage or Usage(),
        error=error,
        notes=notes,
    )


def as_effort(word: Any) -> Reasoning | None:
    """A level of reasoning, as a program wrote it; None for an unknown word."""
    try:
        return Reasoning.from_any(word.lower()) if isinstance(word, str) else None
    except UsageError:
        return None
