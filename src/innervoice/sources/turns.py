"""Functions that readers share: messages -> turns, bodies of requests -> turns and settings, texts -> titles and times."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from innervoice.canon.messages import Message
from innervoice.canon.parts import Opaque, Text
from innervoice.canon.request import Request
from innervoice.canon.response import Response
from innervoice.errors import DecodeError
from innervoice.sessions.foreign import history_from
from innervoice.sources.conversation import Conversation, Turn

__all__ = ["answer_turn", "request_turns", "seconds_of", "settings_of", "title_of", "with_title"]  # fmt: skip

_TITLE = 80
_YEAR_2100 = 4_102_444_800
"""A larger number is in milliseconds."""


def answer_turn(answer: Response, **known: Any) -> Turn:
    """The turn of an answer."""
    return Turn(message=answer.message, answer=answer, **known)


def request_turns(body: Any) -> tuple[list[Turn], Request | None]:
    """The turns and settings of the body of a request; a body that cannot be read is one turn that contains it as it is."""
    if not body:
        return [], None
    for name in ("input", "prompt"):  # a text in place of a list
        if isinstance(body, dict) and isinstance(body.get(name), str):
            rest = {key: value for key, value in body.items() if key != name}
            body = {**rest, "input": [{"role": "user", "content": body[name]}]}
    try:
        history = history_from(body)
    except DecodeError:
        return [Turn(message=Message("user", (Opaque(body),)))], None
    return [Turn(message=message) for message in history.messages], settings_of(history.request)


def settings_of(request: Request | None) -> Request | None:
    """A request without its messages."""
    return request.replace(messages=()) if request else None


def title_of(messages: Iterable[Message]) -> str:
    """The first words of the user."""
    for message in messages:
        if message.role == "user" and (line := " ".join(_words(message).split())):
            return line if len(line) <= _TITLE else line[: _TITLE - 3] + "..."
    return ""


def with_title(conversation: Conversation) -> Conversation:
    """The conversation with the first words of the user as its title, if it has none."""
    if conversation.title:
        return conversation
    users = [turn for turn in conversation.turns if not turn.marks] or conversation.turns
    return conversation.replace(title=title_of(turn.message for turn in users))


def _words(message: Message) -> str:
    return " ".join(part.text for part in message.parts if isinstance(part, Text))[: 20 * _TITLE]


def seconds_of(value: Any) -> float | None:
    """A time as seconds since 1970: an ISO text, or a number of seconds or milliseconds; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        if not 0 < value < 1e15:
            return None
        return value / 1000 if value > _YEAR_2100 else float(value)
    if not isinstance(value, str) or not value[:1].isdigit():
        return None
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        return None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
