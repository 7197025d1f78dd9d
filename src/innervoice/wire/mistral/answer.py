"""Parts -> the chunks of Mistral's chat API, as they arrive: as in chat, with thinking as chunks of the content.

A call is sent whole, and the counts come with the finish reason. Content that continues in a list continues the last chunk of its
kind, so a new part does not come first in its list.
"""

from __future__ import annotations

from typing import Any, ClassVar

from innervoice.canon.parts import Thinking, ToolCall
from innervoice.canon.response import Response
from innervoice.wire.chat.answer import ChatWriter, Chunk, Shape
from innervoice.wire.chat.read import write_usage
from innervoice.wire.chat.serve import DONE, word_of
from innervoice.wire.chat.write import write_call
from innervoice.wire.mistral.serve import WORDS, write_answer, write_error
from innervoice.wire.refusals import Refusal

__all__ = ["MistralWriter"]


class MistralWriter(ChatWriter):
    """Writes one completion."""

    dialect: ClassVar[str] = "mistral"
    interleaves: ClassVar[bool] = False
    has_late_slot: ClassVar[bool] = False
    words: ClassVar[dict[str, str]] = WORDS
    usual_shape: ClassVar[Shape] = Chunk()
    has_refusals: ClassVar[bool] = False
    sends_lists: ClassVar[bool] = True

    def carry(self, number: int, part: Thinking) -> None:
        """There is no member for an envelope."""
        if not part.text:
            self.left_out(part)

    def begin_call(self, number: int, call: ToolCall) -> None:
        """A call is sent whole."""

    def free_form_block(self, call: ToolCall, text: str) -> None:
        """There are no free-form tools."""

    def add_arguments(self, number: int, text: str) -> None:
        """Writes a call as a whole."""

    def end_call(self, number: int, call: ToolCall) -> None:
        whole = call if self.own_block(call) else call.replace(origin=None)
        entry = {**write_call(whole), "index": self._called}
        self._called += 1
        self._parts[number] = [whole]
        self.send_delta({"content": "", "tool_calls": [entry]})

    _called = 0  # how many calls have come

    def finish(self, response: Response) -> None:
        self._response = response
        self.word = word_of(response, self.dialect, WORDS)
        usage = write_usage(self.usage.replace(reasoning_tokens=None))
        rest = {"content": "", **self._members(response)}
        counted = {"usage": usage} if usage else {}
        self.send({**self._head(), **self._choice(rest, self.word), **counted})
        self._frames.append(DONE)

    def fail(self, refusal: Refusal, response: Response) -> None:
        self._response, self.word = response, "error"
        self.send(write_error(refusal))
        self._frames.append(DONE)

    def body(self) -> dict[str, Any]:
        return {**write_answer(self.whole_response()), "created": self.head.created}
