"""The content of a source: conversations, turn by turn, with the facts that the source has about each turn.

If a source does not know something, the value is None and `Reader.cannot_know` says so; nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

from innervoice.canon.messages import Message
from innervoice.canon.parts import Text
from innervoice.canon.request import Request
from innervoice.canon.response import Response
from innervoice.canon.value import Value
from innervoice.sources.injected import is_injected

__all__ = [
    "UNSENT",
    "Conversation",
    "Mark",
    "Turn",
    "answer_turn",
    "seconds_of",
    "title_of",
    "with_title",
]

Mark: TypeAlias = Literal["compaction", "abandoned", "repeated", "api_error", "injected"]
"""How a program marks a turn: it replaces everything before, the user abandoned it by going back, the same request was sent again and this answer was
not used, it is an error that was shown and never sent, or the program and not the user wrote it."""
UNSENT: frozenset[Mark] = frozenset({"abandoned", "repeated", "api_error"})
"""The marks of turns that no later request contains."""


class Turn(Value, frozen=True, kw_only=True):
    """A message, and the facts that its source has about it."""

    message: Message
    answer: Response | None = None
    """For a turn of the model whose status, tokens or notes are known; its parts are those of `message`."""
    at: float | None = None
    """When it was written, in seconds since 1970."""
    seconds: float | None = None
    """How long the model took."""
    thinking_seconds: float | None = None
    """How long it thought; by the times of lines it includes the wait for the first word."""
    cost: float | None = None
    """What it cost in dollars, according to the source; None if the source does not say."""
    line: int | None = None
    """The first line of the file that contains it, counted from 1."""
    marks: tuple[Mark, ...] = ()


class Conversation(Value, frozen=True, kw_only=True):
    """Turns in the order in which they were sent."""

    id: str
    """Unique in its source, and the same whenever the source is opened."""
    title: str = ""
    """The first words of the user, or the program's title."""
    turns: tuple[Turn, ...] = ()
    parent: str | None = None
    """The id of the conversation that started this one, for a subagent."""
    request: Request | None = None
    """The settings of the last request (model, system prompt, tools, reasoning), without messages; None if the source has none."""

    @property
    def sent(self) -> tuple[Turn, ...]:
        """The turns that the next request would contain: those since the last compaction, without errors and abandoned ones."""
        starts = [number for number, turn in enumerate(self.turns) if "compaction" in turn.marks]
        turns = self.turns[starts[-1] :] if starts else self.turns
        return tuple(turn for turn in turns if not UNSENT & {*turn.marks})

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages, as a history."""
        return tuple(turn.message for turn in self.turns)


# ---- messages -> turns, texts -> titles and times ------------------------------------------------------------


_TITLE = 80
_YEAR_2100 = 4_102_444_800
"""A larger number is in milliseconds."""


def answer_turn(answer: Response, **facts: Any) -> Turn:
    """The turn of an answer."""
    return Turn(message=answer.message, answer=answer, **facts)


def title_of(messages: Iterable[Message]) -> str:
    """The first words of the user."""
    first = ""
    for message in messages:
        if message.role != "user" or not (line := " ".join(_words(message).split())):
            continue
        title = line if len(line) <= _TITLE else line[: _TITLE - 3] + "..."
        if not is_injected(line):
            return title
        first = first or title
    return first


def with_title(conversation: Conversation) -> Conversation:
    """The conversation with the first words of the user as its title, if it has none."""
    if conversation.title:
        return conversation
    users = [turn for turn in conversation.turns if not turn.marks] or conversation.turns
    return conversation.replace(title=title_of(turn.message for turn in users))


def _words(message: Message) -> str:
    texts = [part.text for part in message.parts if isinstance(part, Text)]
    own = [text for text in texts if not is_injected(text)]
    return " ".join(own or texts)[: 20 * _TITLE]


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
