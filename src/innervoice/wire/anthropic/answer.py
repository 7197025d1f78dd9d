"""Parts -> the events of Anthropic's Messages API, as they arrive.

Rules, after https://platform.claude.com/docs/en/build-with-claude/streaming (read 2026-11-15) and recordings:

  1. One block is open at a time, and blocks are numbered in their order.
  2. A signature is one delta, the last of its block. Thinking with empty text has no other delta.
  3. `redacted_thinking`, and every block that is not text, thinking or a call, is whole in its start event. The input of a server tool call comes
     after it, like that of a client's.
  4. The start of a message counts its input, and the delta at its end counts everything.
"""

from __future__ import annotations

from typing import Any, ClassVar

from innervoice.canon.jsontext import dump_json
from innervoice.canon.notes import Notebook
from innervoice.canon.parts import Media, Part, Text, Thinking, ToolCall
from innervoice.canon.response import Response
from innervoice.frames.frame import Frame
from innervoice.wire.answer import AnswerHead, AnswerWriter, ObjectArguments, Seal
from innervoice.wire.anthropic.serve import (
    counted_input,
    counted_output,
    stop_reason,
    write_error,
)
from innervoice.wire.anthropic.write import write_part
from innervoice.wire.json_access import as_dict
from innervoice.wire.refusals import Refusal

__all__ = ["AnthropicWriter"]

_DELTAS = {
    "text": ("text_delta", "text"),
    "thinking": ("thinking_delta", "thinking"),
    "tool_use": ("input_json_delta", "partial_json"),
}
_BEGUN: dict[str, dict[str, Any]] = {
    "text": {"text": ""},
    "thinking": {"thinking": "", "signature": ""},
    "tool_use": {"input": {}},
}


class AnthropicWriter(AnswerWriter):
    """Writes one message."""

    dialect: ClassVar[str] = "anthropic"
    ends_in_text: ClassVar[bool] = True
    _arguments: ObjectArguments | None = None  # of the open call

    def __init__(self, head: AnswerHead, notebook: Notebook, seal: Seal | None = None) -> None:
        super().__init__(head, notebook, seal)
        self._content: list[dict[str, Any]] = []
        self._indexes: dict[
            int, tuple[int, str]
        ] = {}  # index and type of the open block, by number

    def start(self) -> None:
        # Some token was generated before the first event: the API reports 1 here, or little more.
        usage = {**counted_input(self.usage), "output_tokens": 1}
        self._send("message_start", message={**self._message([]), "usage": usage})
        self._send("ping")

    def begin(self, number: int, part: Part) -> None:
        block = self._block(part, seal=self._hidden_seal(part))
        if block is None:
            self.left_out(part)
            return
        index, kind = len(self._content), str(block.get("type"))
        self._indexes[number] = (index, kind)
        self._arguments = ObjectArguments(part) if isinstance(part, ToolCall) else None
        self._content.append(block)
        begun = {**block, **_BEGUN.get(kind, {})}
        if kind == "text" and "citations" in begun:
            begun["citations"] = []
        entered = as_dict(block.get("input")) if kind not in _BEGUN else {}
        if entered:
            begun["input"] = {}
        self._send("content_block_start", index=index, content_block=begun)
        if entered:
            self.send(*_delta(index, "tool_use", dump_json(entered).decode()))

    def add(self, number: int, text: str) -> None:
        if number not in self._indexes:
            return
        index, block_type = self._indexes[number]
        if self._arguments:
            text = self._arguments.feed(text)
        if text and block_type in _DELTAS:
            self.send_piece((index, block_type), text, lambda text: _delta(index, block_type, text))

    def end(self, number: int, part: Part) -> None:
        if number not in self._indexes:
            return
        if self._arguments and (rest := self._arguments.rest()):
            self._arguments = None
            self.add(number, rest)
            self.note_wrapped(part)
        index, _ = self._indexes.pop(number)
        block = self._content[index]
        if block.get("type") != "redacted_thinking":
            block = self._block(part, seal=self._foreign_seal(part)) or block
        self._content[index] = block
        for citation in block.get("citations") or [] if block.get("type") == "text" else []:
            delta = {"type": "citations_delta", "citation": citation}
            self._send("content_block_delta", index=index, delta=delta)
        if block.get("type") == "thinking" and block.get("signature"):
            delta = {"type": "signature_delta", "signature": block["signature"]}
            self._send("content_block_delta", index=index, delta=delta)
        self._send("content_block_stop", index=index)

    def leave(self, number: int, part: Part) -> None:
        index, _ = self._indexes.get(number, (None, ""))
        if index is not None:
            written = None if isinstance(part, ToolCall) else self._block(part, seal="")
            self._content[index:] = [written] if written else []

    def recall(self, part: Part) -> None:
        if seal := self._foreign_seal(part):
            index, block = len(self._content), {"type": "redacted_thinking", "data": seal}
            self._content.append(block)
            self._send("content_block_start", index=index, content_block=block)
            self._send("content_block_stop", index=index)

    def finish(self, response: Response) -> None:
        self.word = stop_reason(response) or "end_turn"
        end = {"stop_reason": self.word, "stop_sequence": None}
        self._send("message_delta", delta=end, usage=self._usage())
        self._send("message_stop")

    def fail(self, refusal: Refusal, response: Response) -> None:
        self.word = stop_reason(response)
        self.send(write_error(refusal), "error")

    def ping(self) -> Frame:
        return Frame(dump_json({"type": "ping"}), "ping")

    def body(self) -> dict[str, Any]:
        message = self._message(self._content)
        return {**message, "stop_reason": self.word, "usage": self._usage()}

    # ---- blocks --------------------------------------------------------------------------------

    def _block(self, part: Part, seal: str) -> dict[str, Any] | None:
        """A block of this dialect unchanged; any other part in the plain form, if the dialect has one for it."""
        if received := self.own_block(part):
            return received
        match part:
            case Text():
                return {"type": "text", "text": part.text}
            case Thinking(form="hidden"):
                return {"type": "redacted_thinking", "data": seal} if seal else None
            case Thinking():
                return {"type": "thinking", "thinking": part.text, "signature": seal}
            case ToolCall() | Media():
                written = write_part(part.replace(origin=None))
                return written if isinstance(written, dict) else None
            case _:
                return None

    def _foreign_seal(self, part: Part) -> str:
        """The value to carry with reasoning that came in another dialect."""
        if not isinstance(part, Thinking) or self.own_block(part):
            return ""
        return self.seal_of(part) or ""

    def _hidden_seal(self, part: Part) -> str:
        return (
            self._foreign_seal(part) if isinstance(part, Thinking) and part.form == "hidden" else ""
        )

    # ---- the message ---------------------------------------------------------------------------

    def _message(self, content: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "id": self.head.id,
            "type": "message",
            "role": "assistant",
            "model": self.head.model,
            "content": content,
            "stop_reason": None,
            "stop_sequence": None,
        }

    def _usage(self) -> dict[str, Any]:
        return {**counted_input(self.usage), **counted_output(self.usage)}

    def _send(self, kind: str, **members: Any) -> None:
        self.send({"type": kind, **members}, kind)


def _delta(index: int, block_type: str, text: str) -> tuple[dict[str, Any], str]:
    kind, member = _DELTAS[block_type]
    delta = {"type": kind, member: text}
    return {"type": "content_block_delta", "index": index, "delta": delta}, "content_block_delta"
