"""Answers whose text is one field and whose reasoning is another: what the writers of such dialects share.

Parts of one kind run together in a field. Where something else stood between them they are set apart by a blank line, as the views of
a response do it.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from innervoice.canon.notes import Notebook
from innervoice.canon.parts import Part, Text, Thinking, ToolCall
from innervoice.wire.answer_writer import AnswerHead, AnswerWriter, Seal

__all__ = ["FieldWriter"]


class FieldWriter(AnswerWriter):
    """Writes text and reasoning into a field each."""

    keeps_order: ClassVar[bool] = False
    """Text and reasoning keep their order, so that only neighbours of a kind run together."""

    def __init__(self, head: AnswerHead, notebook: Notebook, seal: Seal | None = None) -> None:
        super().__init__(head, notebook, seal)
        self.said: dict[str, list[str]] = {"text": [], "thinking": []}
        self.calls: dict[int, dict[str, Any]] = {}
        """The calls that have ended, by the number of their part."""
        self._kinds: dict[int, str] = {}
        self._last = ""  # the kind of the last part
        self._said_last = ""  # the kind of what was said last
        self._is_apart = False  # the next piece does not go on with what was said

    # ---- what each dialect writes --------------------------------------------------------------

    @abstractmethod
    def say(self, kind: str, text: str) -> None:
        """More of the text or of the reasoning."""

    @abstractmethod
    def begin_call(self, number: int, call: ToolCall) -> None:
        """A call begins."""

    @abstractmethod
    def add_arguments(self, number: int, text: str) -> None:
        """More of a call's arguments."""

    @abstractmethod
    def end_call(self, number: int, call: ToolCall) -> dict[str, Any]:
        """A call is over; gives it as the whole answer has it."""

    def end_reasoning(self, part: Thinking) -> None:
        """A part of the reasoning is over: its seal may have a place."""
        if not part.text:
            self.left_out(part)

    # ---- parts ---------------------------------------------------------------------------------

    def begin(self, number: int, part: Part) -> None:
        before, self._last = self._last, part.type
        self._kinds[number] = part.type
        match part:
            case Text() | Thinking():
                self._is_apart = isinstance(part, Thinking) or before != "text"
            case ToolCall():
                self.begin_call(number, part)
            case _:
                self.left_out(part)

    def add(self, number: int, text: str) -> None:
        kind = self._kinds[number]
        if kind == "tool_call":
            self.add_arguments(number, text)
        elif kind in self.said:
            if self._is_apart and self._runs_on(kind) and not self._is_spaced(kind, text):
                text = "\n\n" + text
            self._is_apart, self._said_last = False, kind
            self.said[kind].append(text)
            self.say(kind, text)

    def end(self, number: int, part: Part) -> None:
        match part:
            case Thinking():
                self.end_reasoning(part)
            case ToolCall():
                self.calls[number] = self.end_call(number, part)
            case _:
                pass

    def recall(self, part: Part) -> None:
        if isinstance(part, Thinking):
            self.end_reasoning(part)

    def _runs_on(self, kind: str) -> bool:
        """Whether a piece would run together with what was said of its kind."""
        return self._said_last == kind if self.keeps_order else bool(self.said[kind])

    def _is_spaced(self, kind: str, text: str) -> bool:
        """Whether white space stands between a text and what was said before it."""
        return kind == "text" and (self.said[kind][-1][-1:].isspace() or text[:1].isspace())

    # ---- the whole answer ----------------------------------------------------------------------

    @property
    def text(self) -> str:
        """All of the text."""
        return "".join(self.said["text"])

    @property
    def reasoning(self) -> str:
        """All of the reasoning."""
        return "".join(self.said["thinking"])

    @property
    def all_calls(self) -> list[dict[str, Any]]:
        """The calls in the order in which they began."""
        return [call for _, call in sorted(self.calls.items())]
