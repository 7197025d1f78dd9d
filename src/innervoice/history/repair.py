"""A history and a target -> the smallest change that makes the history acceptable there.

The input is never changed. A call that was never answered gets a result that says so, because removing it
would change a turn that its model may have signed; a result without a call is removed; and what the plan
would not send is left out. A history that needs nothing comes back equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from innervoice.canon.messages import Message, tool_result
from innervoice.canon.parts import Part, ToolCall, ToolResult
from innervoice.canon.request import Request
from innervoice.history.plan import Planner
from innervoice.settling import Settled

__all__ = ["repair"]

UNANSWERED = "This call was interrupted and has no result."


def repair(
    messages: Sequence[Message], target: str, dialect: str | None = None, **settings: Any
) -> list[Message]:
    """The history, acceptable for a target, `provider/model`; `settings` are other fields of a `Request`."""
    whole = _with_results(_without_strays(messages))
    request = Request(target, tuple(whole), dialect=dialect, mode="passthrough", **settings)
    return [message for message in Planner(Settled(request)).plan().messages if message.parts]


def _without_strays(messages: Sequence[Message]) -> list[Message]:
    called: set[str] = set()
    kept: list[Message] = []
    for message in messages:
        parts: list[Part] = []
        for part in message.parts:
            if isinstance(part, ToolCall):
                called.add(part.id)
            if not isinstance(part, ToolResult) or part.call_id in called:
                parts.append(part)
        if len(parts) == len(message.parts):
            kept.append(message)
        elif parts:
            kept.append(message.but(parts=tuple(parts)))
    return kept


def _with_results(messages: list[Message]) -> list[Message]:
    answered = {
        part.call_id
        for message in messages
        for part in message.parts
        if isinstance(part, ToolResult)
    }
    whole: list[Message] = []
    for number, message in enumerate(messages):
        whole.append(message)
        if number == len(messages) - 1:
            break
        missing = [call for call in message.tool_calls if call.id not in answered]
        whole += [tool_result(call.id, UNANSWERED, error=True) for call in missing]
    return whole
