"""What the dialects share about how an answer ends and what errors look like."""

from __future__ import annotations

from typing import Any

from innervoice.canon.parts import Opaque, Part
from innervoice.canon.response import Response
from innervoice.wire.refusals import Refusal

__all__ = ["openai_error", "own_part", "own_word"]


def own_part(part: Part, dialect: str) -> Part | None:
    """A part without the block of another dialect; None for a foreign opaque block."""
    origin = part.origin
    if origin is None or origin.dialect == dialect:
        return part
    if isinstance(part, Opaque) and origin.dialect is not None:
        return None
    return part.replace(origin=origin.replace(block=None, seals=()))


def own_word(answer: Response, dialect: str) -> str | None:
    """The finish reason as received, if it was received in this dialect."""
    came_from = answer.origin.dialect if answer.origin else None
    return answer.wire_finish_reason if came_from in (None, dialect) else None


def openai_error(refusal: Refusal) -> dict[str, Any]:
    """The body of an error as OpenAI and related APIs write it."""
    usual = "invalid_request_error"
    if refusal.status >= 500:
        usual = "server_error"
    elif refusal.status == 429:
        usual = "requests"
    error = {
        "message": refusal.text,
        "type": refusal.type or usual,
        "param": refusal.param,
        "code": refusal.code,
    }
    return {"error": error}
