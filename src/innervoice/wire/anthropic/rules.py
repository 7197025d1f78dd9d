"""What the Messages API refuses about reasoning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.cards import Ask
from innervoice.wire.rules import claude, claude_is_on, company, is_forced, last_turn

__all__ = ["problems"]

_NAMES = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "stop": "stop_sequences",
}


def problems(body: dict[str, Any], ask: Ask) -> Iterator[str]:
    """Why the API would refuse a body."""
    limit = body.get("max_tokens")
    if not isinstance(limit, int) or limit < 1:
        yield "max_tokens: Field required"
    on = claude_is_on(body, ask)
    yield from claude(body, ask, limit)
    yield from company(body, ask, _NAMES, on=on)
    if on and is_forced(body.get("tool_choice")) and not ask.forced_tools:
        yield "Thinking may not be enabled when tool_choice forces tool use."
    yield from last_turn(body.get("messages"), ask)
