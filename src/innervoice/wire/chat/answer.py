"""Parts -> the chunks of Chat Completions, as they come.

Rules, after https://platform.openai.com/docs/api-reference/chat-streaming (read 2026-11-15), the hosts' own pages and recordings:

  1. The role comes once, in the first chunk. Reasoning goes in `reasoning_content`, which most hosts and clients know.
  2. Calls are numbered in their order; id and name come first, and the arguments in pieces.
  3. A seal goes in `reasoning_details`, as an entry without text.
  4. The reason for the end has a chunk of its own, then come the counts, and `[DONE]`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from innervoice.canon.messages import Message
from innervoice.canon.notes import Notebook
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Thinking, ToolCall
from innervoice.canon.response import Response
from innervoice.wire.answer_fields import FieldWriter
from innervoice.wire.answer_writer import AnswerHead, Seal
from innervoice.wire.chat.reasoning import DETAILS
from innervoice.wire.chat.serve_response import DONE, WORDS, word_of, write_error
from innervoice.wire.chat.usage import write_usage
from innervoice.wire.chat.write import write_assistant
from innervoice.wire.free_form import is_free_form
from innervoice.wire.refusals import Refusal

__all__ = ["ChatWriter", "chat_call"]

_FUNCTION, _FREE_FORM = ("function", "arguments"), ("custom", "input")
_FIELDS = {"text": "content", "thinking": "reasoning_content"}


class ChatWriter(FieldWriter):
    """Writes one completion."""

    dialect: ClassVar[str] = "openai-chat"
    interleaves: ClassVar[bool] = True
    _word: str | None = None
    _is_refused = False

    def __init__(self, head: AnswerHead, notebook: Notebook, seal: Seal | None = None) -> None:
        super().__init__(head, notebook, seal)
        self._details: list[Any] = []
        self._indexes: dict[int, int] = {}  # of calls, by the number of their part
        self._forms: dict[
            int, tuple[str, str]
        ] = {}  # the type of a call, and the member for its text

    def start(self) -> None:
        self.send_delta({"role": "assistant", "content": ""})

    def say(self, kind: str, text: str) -> None:
        self.send_delta({_FIELDS[kind]: text})

    def begin_call(self, number: int, call: ToolCall) -> None:
        index = self._indexes[number] = len(self._indexes)
        kind, member = _FREE_FORM if is_free_form(call) else _FUNCTION
        self._forms[number] = kind, member
        begun = {"name": call.name, member: ""}
        entry = {"index": index, "id": call.id, "type": kind, kind: begun}
        self.send_delta({"tool_calls": [entry]})

    def add_arguments(self, number: int, text: str) -> None:
        kind, member = self._forms[number]
        entry = {"index": self._indexes[number], kind: {member: text}}
        self.send_delta({"tool_calls": [entry]})

    def end_call(self, number: int, call: ToolCall) -> dict[str, Any]:
        written = chat_call(call, self.own_block(call))
        extra = {
            key: value
            for key, value in written.items()
            if key not in ("id", "type", "function", "custom")
        }
        if extra:
            self.send_delta({"tool_calls": [{"index": self._indexes[number], **extra}]})
        return written

    def end_reasoning(self, part: Thinking) -> None:
        entry = self._entry(part)
        if entry is not None:
            self._details.append(entry)
            self.send_delta({DETAILS: [entry]})
        elif not part.text:
            self.left_out(part)

    def _entry(self, part: Thinking) -> dict[str, Any] | None:
        """What the details say of reasoning beside its text: the seal."""
        own = self.own_block(part)
        if own and part.origin and part.origin.seals:
            return {key: value for key, value in own.items() if key not in ("text", "summary")}
        seal = None if own else self.seal_of(part)
        index = len(self._details)
        return {"type": "reasoning.encrypted", "data": seal, "index": index} if seal else None

    def finish(self, response: Response) -> None:
        self._word = word_of(response, self.dialect, WORDS)
        self.send({**self._head(), **self._choice({}, self._word)})
        if usage := write_usage(self.usage):
            self.send({**self._head(), "choices": [], "usage": usage})
        self._frames.append(DONE)

    def fail(self, refusal: Refusal, response: Response) -> None:
        self._word = "error"
        self.send({**self._head(), **self._choice({}, "error"), **write_error(refusal)})
        self._frames.append(DONE)

    def body(self) -> dict[str, Any]:
        calls = self.all_calls
        message: dict[str, Any] = {"role": "assistant", "content": self.text}
        if calls and not self.text:
            message["content"] = None
        message["refusal"] = None
        if self.reasoning:
            message["reasoning_content"] = self.reasoning
        if self._details:
            message[DETAILS] = self._details
        if calls:
            message["tool_calls"] = calls
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self._word}
        body = {**self._head(), "object": "chat.completion", "choices": [choice]}
        usage = write_usage(self.usage)
        return {**body, "usage": usage} if usage else body

    # ---- chunks --------------------------------------------------------------------------------

    def send_delta(self, delta: dict[str, Any]) -> None:
        """Adds a chunk with a delta."""
        self.send({**self._head(), **self._choice(delta)})

    def _head(self) -> dict[str, Any]:
        return {
            "id": self.head.id,
            "object": "chat.completion.chunk",
            "created": self.head.created,
            "model": self.head.model,
        }

    def _choice(self, delta: dict[str, Any], word: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": word}
        return {"choices": [choice]}


def chat_call(call: ToolCall, block: dict[str, Any] | None) -> dict[str, Any]:
    """A call as a whole message has it."""
    known = call.replace(origin=Origin(block=block) if block else None)
    (written,) = write_assistant(Message("assistant", (known,)))["tool_calls"]
    return dict(written)
