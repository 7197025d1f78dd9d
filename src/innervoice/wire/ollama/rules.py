"""What Ollama's chat API refuses about reasoning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.target import Target
from innervoice.wire.refusals import NO_HEADERS, Headers, Refusal
from innervoice.wire.rules import refused

__all__ = ["problems"]

_WORDS = (True, False, "low", "medium", "high", "max")


def problems(
    body: dict[str, Any], target: Target, headers: Headers = NO_HEADERS
) -> Iterator[Refusal]:
    """Why the API would refuse a body."""
    think = body.get("think")
    if think is not None and think not in _WORDS:
        yield refused(
            f'invalid think value: "{think}" (must be "high", "medium", "low", "max", true, or false)'
        )
    elif think and target.row.control == "none":
        yield refused(f'"{target.model}" does not support thinking')
