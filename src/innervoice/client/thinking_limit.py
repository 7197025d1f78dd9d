"""Limits the reasoning of one answer, for `answer_now` of both clients.

Where the model accepts a token budget, the request sets one. Elsewhere the answer is streamed; if the reasoning exceeds the limit
before any output, the stream is closed and the request is sent again without reasoning. The reasoning up to then stays in the
response, marked as incomplete, and is never sent back.
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
"""A guess that is high for most languages: reasoning in the others is cut a little late."""


class ThinkingLimit:
    """The limit on the reasoning of one answer."""

    def __init__(self, model: str, think_at_most: int, fields: dict[str, Any]) -> None:
        if isinstance(think_at_most, bool) or think_at_most < 1:
            raise UsageError(f"think_at_most must be a number of tokens, not {think_at_most!r}")
        parsed = split_id(model)
        unknown = parsed is None or not parsed.is_known
        row = resolved(model, fields.get("dialect") or (DEFAULT if unknown else None)).row
        self._limit = think_at_most
        self._fields = fields
        self._characters = 0
        self._has_output = False
        self.is_native = bool(row.budget and row.budget[0] <= think_at_most)
        """Whether the model accepts a budget, so that one request is enough."""

    def first_fields(self) -> dict[str, Any]:
        """The fields of the first request."""
        if not self.is_native:
            return self._fields
        setting = Reasoning.from_any(self._fields.get("reasoning")) or Reasoning()
        return {**self._fields, "reasoning": setting.replace(effort=None, budget=self._limit)}

    def is_exceeded(self, event: Event) -> bool:
        """Reads an event; returns whether the reasoning exceeds the limit before any output."""
        match event:
            case ThinkingDelta():
                self._characters += len(event.text)
            case TextDelta() | ToolCallDelta():
                self._has_output = True
            case _:
                pass
        return not self._has_output and self._characters > self._limit * _CHARACTERS_A_TOKEN

    def second_fields(self) -> dict[str, Any]:
        """The fields of the second request: the same, with reasoning off if the model allows it."""
        return {**self._fields, "reasoning": Reasoning("none")}

    def combined(self, thought: Response, answer: Response) -> Response:
        """The second response with the reasoning of the first in front, and the usage of both."""
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
