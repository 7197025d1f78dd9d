"""What a source holds: conversations, turn by turn, with what the source knows about each turn.

A source that does not know something leaves it None and says so in `Reader.cannot_know`; nothing is guessed.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from innervoice.canon.messages import Message
from innervoice.canon.request import Request
from innervoice.canon.response import Response
from innervoice.canon.value import Value

__all__ = ["Conversation", "Mark", "Turn"]

Mark: TypeAlias = Literal["compaction", "abandoned", "api_error", "injected"]
"""What a program says of a turn: it replaces what was before, the user went back behind it, it is an error that was shown and never sent, or
the program and not the user wrote it."""


class Turn(Value, frozen=True, kw_only=True):
    """A message, and what its source knows about it."""

    message: Message
    answer: Response | None = None
    """For a turn of the model whose status, tokens or notes are known; its parts are those of `message`."""
    at: float | None = None
    """When it was written, in seconds since 1970."""
    seconds: float | None = None
    """How long the model took."""
    cost: float | None = None
    """What it cost in dollars, as the source says; None where it says nothing."""
    line: int | None = None
    """The first line of the file that holds it, counted from 1."""
    marks: tuple[Mark, ...] = ()


class Conversation(Value, frozen=True, kw_only=True):
    """Turns in the order in which they were sent."""

    id: str
    """Unique in its source, and the same whenever the source is opened."""
    title: str = ""
    """The first words of the user, or what the program called it."""
    turns: tuple[Turn, ...] = ()
    parent: str | None = None
    """The id of the conversation that started this one, for a subagent's."""
    request: Request | None = None
    """The settings of the last request (model, system prompt, tools, reasoning), with no messages; None where the source has none."""

    @property
    def sent(self) -> tuple[Turn, ...]:
        """The turns that the next request would hold: those since the last compaction, without errors and abandoned ones."""
        starts = [number for number, turn in enumerate(self.turns) if "compaction" in turn.marks]
        turns = self.turns[starts[-1] :] if starts else self.turns
        return tuple(turn for turn in turns if not {"abandoned", "api_error"} & {*turn.marks})

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages, as a history."""
        return tuple(turn.message for turn in self.turns)
