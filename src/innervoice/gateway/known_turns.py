"""Turns that are known to be in a request, as their providers gave them.

The items of a stored response are what the client saw: Gemini's seals of calls have no place in them, and they do not say which account
sealed them. What is known of a turn takes the place of what its items say. No search by content is needed, which finds none of two
turns that look alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from innervoice.canon.jsontext import load_json
from innervoice.canon.messages import Message
from innervoice.canon.parts import ToolCall
from innervoice.canon.request import Request

__all__ = ["with_turns"]


def with_turns(request: Request, turns: Sequence[Message]) -> Request:
    """The request with these turns in place of the messages that show them, each once; of several alike, the first one first."""
    if not turns:
        return request
    remaining = [(turn, _content(turn)) for turn in turns]
    messages: list[Message] = []
    for message in request.messages:
        content = _content(message) if message.role == "assistant" else None
        number = next((n for n, (_, other) in enumerate(remaining) if other == content), None)
        messages.append(message if number is None else remaining.pop(number)[0])
    return request.replace(messages=tuple(messages))


def _content(turn: Message) -> tuple[str, list[Any]]:
    """The words and the calls of a turn; ids of calls count, for the results of the request name them."""
    return turn.text.strip(), [(call.id, call.name, _value(call)) for call in turn.tool_calls]


def _value(call: ToolCall) -> Any:
    try:
        return load_json(call.arguments or "{}")
    except ValueError:
        return call.arguments
