"""What Mistral's chat API refuses about reasoning: as chat hosts do, and every member it does not know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.cards import Ask
from innervoice.wire.chat import rules as chat
from innervoice.wire.shapes import as_dict, as_list

__all__ = ["problems"]

_UNKNOWN = ("reasoning", "reasoning_content", "reasoning_details", "thinking", "stream_options")


def problems(body: dict[str, Any], ask: Ask) -> Iterator[str]:
    """Why the API would refuse a body."""
    yield from chat.problems(body, ask)
    for holder in (body, *map(as_dict, as_list(body.get("messages")))):
        for name in _UNKNOWN:
            if name in holder:
                yield f"{name}: Extra inputs are not permitted"
