"""Answers with text in one field and reasoning in another: what the writers of such dialects share.

Parts of one kind are joined in a field. Where something else was between them they are separated by a blank line, as in the views of
a response.
"""

from __future__ import annotations

from abc import abstractmethod

from innervoice.canon.notes import Notebook
from innervoice.canon.parts import Part, Text, Thinking, ToolCall
from innervoice.wire.answer_writer import AnswerHead, AnswerWriter, Seal

__all__ = ["FieldWriter"]


class FieldWriter(AnswerWriter):
    """Writes text and reasoning into a field each."""

    def __init__(self, head: AnswerHead, notebook: Notebook, seal: Seal | None = None) -> None:
        super().__init__(head, notebook, seal)
        self.said: dict[str, list[str]] = {"text": [], "thinking": []}
        self._set_apart: set[int] = set()  # parts that were written with an additional blank line
        self._kinds: dict[int, str] = {}
        self._last = ""  # the kind of the last part
        self._is_apart = False  # the next piece does not continue the earlier text

    # ---- what each dialect writes --------------------------------------------------------------

    @abstractmethod
    def say(self, number: int, kind: str, text: str) -> None:
        """Adds text or reasoning."""

    @abstractmethod
    def begin_call(self, number: int, call: ToolCall) -> None:
        """Begins a call."""

    @abstractmethod
    def add_arguments(self, number: int, text: str) -> None:
        """Adds to a call's arguments."""

    @abstractmethod
    def end_call(self, number: int, call: ToolCall) -> None:
        """Ends a call."""

    # ---- parts ---------------------------------------------------------------------------------

    def begin(self, number: int, part: Part) -> None:
        before, self._last = self._last, part.type
        self._kinds[number] = part.type
        match part:
            case Text() | Thinking():
                self._is_apart = isinstance(part, Thinking) or before != "text"
            case ToolCall():
                self.begin_call(number, part)
            case _ if self.own_block(part) is None:
                self.left_out(part)
            case _:
                pass

    def add(self, number: int, text: str) -> None:
        kind = self._kinds[number]
        if kind == "tool_call":
            self.add_arguments(number, text)
        elif kind in self.said:
            if self._is_apart and self.runs_on(number, kind) and not self._is_spaced(kind, text):
                text = "\n\n" + text
                self._set_apart.add(number)
            self._is_apart = False
            self.said[kind].append(text)
            self.say(number, kind, text)

    def said_of(self, number: int, part: Text) -> str:
        """A text as it was written."""
        return f"\n\n{part.text}" if number in self._set_apart else part.text

    def runs_on(self, number: int, kind: str) -> bool:
        """Whether a piece would run together with the earlier text of its kind."""
        return bool(self.said[kind])

    def _is_spaced(self, kind: str, text: str) -> bool:
        """Whether there is white space between a text and the earlier text."""
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
