"""Parts -> the lines of Ollama's /api/chat, as they arrive.

After ollama's server/routes.go (fb3076099, 2026-08-21): thinking and content in pieces, each call whole, and a last line that is done
and has the counts. Durations are left out, because nothing here has a clock.
"""

from __future__ import annotations

from typing import Any, ClassVar

from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message
from innervoice.canon.notes import Notebook
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, Thinking, ToolCall
from innervoice.canon.response import Response
from innervoice.frames.frame import Frame
from innervoice.wire.answer import AnswerHead, FieldWriter, Seal
from innervoice.wire.ollama.serve import finish_word, write_error
from innervoice.wire.ollama.write import write_assistant
from innervoice.wire.refusals import Refusal
from innervoice.wire.write import is_wrapped

__all__ = ["OllamaWriter"]

_FIELDS = {"text": "content", "thinking": "thinking"}


class OllamaWriter(FieldWriter):
    """Writes one response."""

    dialect: ClassVar[str] = "ollama"
    interleaves: ClassVar[bool] = True

    def __init__(self, head: AnswerHead, notebook: Notebook, seal: Seal | None = None) -> None:
        super().__init__(head, notebook, seal)
        self._calls: dict[int, dict[str, Any]] = {}
        self._begun: list[int] = []  # the calls that were not sent, in their order

    def start(self) -> None:
        """Writes nothing before the first text."""

    def say(self, number: int, kind: str, text: str) -> None:
        self._send({_FIELDS[kind]: text})

    def begin_call(self, number: int, call: ToolCall) -> None:
        self._begun.append(number)

    def add_arguments(self, number: int, text: str) -> None:
        """Writes a call as a whole."""

    def end_call(self, number: int, call: ToolCall) -> None:
        block = self.own_block(call)
        if block is None and is_wrapped(call):
            self.note_wrapped(call)
        whole = call.replace(origin=Origin(block=block) if block else None)
        (written,) = write_assistant(Message("assistant", (whole,)))["tool_calls"]
        self._calls[number] = written
        while self._begun and self._begun[0] in self._calls:
            self._send({"tool_calls": [self._calls[self._begun.pop(0)]]})

    def end(self, number: int, part: Part) -> None:
        if isinstance(part, ToolCall):
            self.end_call(number, part)
        elif isinstance(part, Thinking) and not part.text:
            self.left_out(part)

    def finish(self, response: Response) -> None:
        self.word = finish_word(response)
        self.send({**self._head(), "message": {"role": "assistant", "content": ""}, **self._end()})

    def fail(self, refusal: Refusal, response: Response) -> None:
        self.word = finish_word(response)
        self.send(write_error(refusal))

    def ping(self) -> Frame:
        """A line without text: Ollama's client parses every line as JSON, even a blank one."""
        message = {"role": "assistant", "content": ""}
        return Frame(dump_json({**self._head(), "message": message, "done": False}))

    def body(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": self.text}
        if self.reasoning:
            message["thinking"] = self.reasoning
        if self._calls:
            message["tool_calls"] = [call for _, call in sorted(self._calls.items())]
        return {**self._head(), "message": message, **self._end()}

    def _send(self, said: dict[str, Any]) -> None:
        message = {"role": "assistant", "content": "", **said}
        self.send({**self._head(), "message": message, "done": False})

    def _head(self) -> dict[str, Any]:
        return {"model": self.head.model, "created_at": self.head.created_at}

    def _end(self) -> dict[str, Any]:
        counts = {
            "prompt_eval_count": self.usage.input_tokens,
            "eval_count": self.usage.output_tokens,
        }
        reported = {name: count for name, count in counts.items() if count is not None}
        return {"done": True, "done_reason": self.word, **reported}
