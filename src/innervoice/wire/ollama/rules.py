"""What Ollama's chat API refuses about reasoning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.cards import Ask

__all__ = ["problems"]

_WORDS = (True, False, "low", "medium", "high", "max")


def problems(body: dict[str, Any], ask: Ask) -> Iterator[str]:
    """Why the API would refuse a body."""
    think = body.get("think")
    if think is not None and think not in _WORDS:
        yield f'invalid think value: "{think}" (must be "high", "medium", "low", "max", true, or false)'
