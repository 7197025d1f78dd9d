"""Cutting thinking short and still getting an answer; both clients share what is decided here.

A host that takes a budget of tokens is given one, and stops by itself. Elsewhere the answer is streamed, and when the model
has thought for as long as it may without saying anything, the stream is closed and the question is asked once more
without reasoning. What was thought until then stays in the response, unfinished, and is never sent back.
"""

from __future__ import annotations

from typing import Any

from innervoice.canon.events import Event, TextDelta, ThinkingDelta, ToolCallDelta
from innervoice.canon.notes import Notebook
from innervoice.canon.parts import Thinking
from innervoice.canon.reasoning import Reasoning
from innervoice.canon.response import Response
from innervoice.catalog.targets import resolved, split_id
from innervoice.errors import UsageError
from innervoice.wire.dialects import DEFAULT

__all__ = ["ThinkingLimit"]

_CHARACTERS_A_TOKEN = 4
"""A guess, and a generous one for most languages: who thinks in fewer is cut a little late."""


class ThinkingLimit:
    """One question that shall be answered soon."""

    def __init__(self, model: str, think_at_most: int, fields: dict[str, Any]) -> None:
        if isinstance(think_at_most, bool) or think_at_most < 1:
            raise UsageError(f"think_at_most must be a number of tokens, not {think_at_most!r}")
        named = split_id(model)
        unknown = named is None or not named.is_known
        row = resolved(model, fields.get("dialect") or (DEFAULT if unknown else None)).row
        self._limit = think_at_most
        self._fields = fields
        self._characters = 0
        self._has_output = False
        self.is_native = bool(row.budget and row.budget[0] <= think_at_most)
        """Whether the host can be told, so that one request does."""

    def first_fields(self) -> dict[str, Any]:
        """The fields of the first request."""
        if not self.is_native:
            return self._fields
        asked = Reasoning.from_any(self._fields.get("reasoning")) or Reasoning()
        return {**self._fields, "reasoning": asked.replace(effort=None, budget=self._limit)}

    def is_exceeded(self, event: Event) -> bool:
        """Takes an event; tells whether the model has thought enough and said nothing."""
        match event:
            case ThinkingDelta():
                self._characters += len(event.text)
            case TextDelta() | ToolCallDelta():
                self._has_output = True
            case _:
                pass
        return not self._has_output and self._characters > self._limit * _CHARACTERS_A_TOKEN

    def second_fields(self) -> dict[str, Any]:
        """The fields of the second request: the same, without reasoning as far as the model lets it be."""
        return {**self._fields, "reasoning": Reasoning("none")}

    def combined(self, thought: Response, answer: Response) -> Response:
        """The answer, and before it what was thought."""
        parts = tuple(
            part.replace(complete=False) for part in thought.parts if isinstance(part, Thinking)
        )
        notebook = Notebook()
        notebook.add(
            "thinking_cut_short", f"after about {self._characters // _CHARACTERS_A_TOKEN} tokens"
        )
        return answer.replace(
            parts=(*parts, *answer.parts),
            notes=(*notebook.notes(), *answer.notes),
            usage=thought.usage + answer.usage,
        )
