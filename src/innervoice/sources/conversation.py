"""The content of a source: conversations, turn by turn, with the facts that the source has about each turn.

If a source does not know something, the value is None and `Reader.cannot_know` says so; nothing is guessed.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from innervoice.canon.messages import Message
from innervoice.canon.request import Request
from innervoice.canon.response import Response
from innervoice.canon.value import Value

__all__ = ["Conversation", "Mark", "Turn"]

Mark: TypeAlias = Literal["compaction", "abandoned", "api_error", "injected"]
"""How a program marks a turn: it replaces everything before, the user abandoned it by going back, it is an error that was shown and never sent,
or the program and not the user wrote it."""


class Turn(Value, frozen=True, kw_only=True):
    """A message, and the facts that its source has about it."""

    message: Message
    answer: Response | None = None
    """For a turn of the model whose status, tokens or notes are known; its parts are those of `message`."""
    at: float | None = None
    """When it was written, in seconds since 1970."""
    seconds: float | None = None
    """How long the model took."""
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
        return tuple(turn for turn in turns if not {"abandoned", "api_error"} & {*turn.marks})

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages, as a history."""
        return tuple(turn.message for turn in self.turns)
