"""Parts -> the chunks of Mistral's chat API, as they come: as chat, with thinking as chunks of the content.

A call comes whole, and the counts come with the reason for the end. Content that goes on in a list goes on with the last chunk of its
kind, so parts of one kind run together; they are set apart by a blank line.
"""

from __future__ import annotations

from typing import Any, ClassVar

from innervoice.canon.notes import Notebook
from innervoice.canon.parts import Thinking, ToolCall
from innervoice.canon.response import Response
from innervoice.wire.answer_writer import AnswerHead, Seal
from innervoice.wire.chat.answer import ChatWriter, chat_call
from innervoice.wire.chat.serve_response import DONE, word_of
from innervoice.wire.chat.usage import write_usage
from innervoice.wire.mistral.serve_request import WORDS, write_error
from innervoice.wire.refusals import Refusal

__all__ = ["MistralWriter"]


class MistralWriter(ChatWriter):
    """Writes one completion."""

    dialect: ClassVar[str] = "mistral"
    interleaves: ClassVar[bool] = False
    keeps_order: ClassVar[bool] = True

    def __init__(self, head: AnswerHead, notebook: Notebook, seal: Seal | None = None) -> None:
        super().__init__(head, notebook, seal)
        self._runs: list[tuple[str, list[str]]] = []  # of text and of reasoning, in their order

    def say(self, kind: str, text: str) -> None:
        if not self._runs or self._runs[-1][0] != kind:
            self._runs.append((kind, []))
        self._runs[-1][1].append(text)
        self.send_delta({"content": text if kind == "text" else [_thinking(text)]})

    def begin_call(self, number: int, call: ToolCall) -> None:
        self._indexes[number] = len(self._indexes)

    def add_arguments(self, number: int, text: str) -> None:
        """A call comes whole."""

    def end_call(self, number: int, call: ToolCall) -> dict[str, Any]:
        written = chat_call(call, self.own_block(call))
        self.send_delta(
            {"content": "", "tool_calls": [{**written, "index": self._indexes[number]}]}
        )
        return written

    def end_reasoning(self, part: Thinking) -> None:
        if not part.text:
            self.left_out(part)

    def finish(self, response: Response) -> None:
        self._word = word_of(response, self.dialect, WORDS)
        usage = {"usage": self._usage()} if self._usage() else {}
        self.send({**self._head(), **self._choice({"content": ""}, self._word), **usage})
        self._frames.append(DONE)

    def fail(self, refusal: Refusal, response: Response) -> None:
        self._word = "error"
        self.send(write_error(refusal))
        self._frames.append(DONE)

    def body(self) -> dict[str, Any]:
        content: Any = self.text
        if self.reasoning:
            runs = [(kind, "".join(pieces)) for kind, pieces in self._runs]
            content = [
                {"type": "text", "text": text} if kind == "text" else _thinking(text)
                for kind, text in runs
            ]
        message = {"role": "assistant", "content": content, "tool_calls": self.all_calls or None}
        choice = {"index": 0, "message": message, "finish_reason": self._word}
        body = {**self._head(), "object": "chat.completion", "choices": [choice]}
        return {**body, "usage": self._usage()} if self._usage() else body

    def _usage(self) -> dict[str, Any]:
        return write_usage(self.usage.replace(reasoning_tokens=None))


def _thinking(text: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}
