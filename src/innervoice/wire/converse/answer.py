"""Parts -> the events of Bedrock's Converse, as they arrive.

Rules, after botocore's service model 2023-09-30 (1.44.0) and recordings:

  1. Reasoning and text have no start event: a block begins with its first delta.
  2. In a stream `text`, `signature` and `redactedContent` are directly under `reasoningContent`, one per delta.
  3. `metadata` with the usage comes after `messageStop`. There is no count of reasoning tokens.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any, ClassVar

from innervoice.canon.notes import Notebook
from innervoice.canon.parts import Media, Part, Text, Thinking, ToolCall
from innervoice.canon.response import Response
from innervoice.wire.answer import AnswerHead, AnswerWriter, ObjectArguments, Seal
from innervoice.wire.converse.read import MORE_FIELDS
from innervoice.wire.converse.serve import (
    METRICS,
    counted,
    stop_reason,
    write_stream_error,
)
from innervoice.wire.converse.write import write_part
from innervoice.wire.json_access import as_dict
from innervoice.wire.refusals import Refusal

__all__ = ["ConverseWriter"]


class ConverseWriter(AnswerWriter):
    """Writes one message."""

    dialect: ClassVar[str] = "bedrock-converse"
    ends_in_text: ClassVar[bool] = True
    _kind = ""  # of the part that is open
    _is_empty = True  # no delta of it was sent
    _arguments: ObjectArguments  # of the open call

    def __init__(self, head: AnswerHead, notebook: Notebook, seal: Seal | None = None) -> None:
        super().__init__(head, notebook, seal)
        self._content: list[dict[str, Any]] = []
        self._more: dict[str, Any] = {}  # fields of the model's own response

    def start(self) -> None:
        self._send("messageStart", role="assistant")

    def begin(self, number: int, part: Part) -> None:
        self._kind, self._is_empty = part.type, True
        if isinstance(part, ToolCall):
            use = {"toolUseId": part.id, "name": part.name}
            self._send_block("contentBlockStart", start={"toolUse": use})
            self._arguments = ObjectArguments(part)

    def add(self, number: int, text: str) -> None:
        if self._kind == "tool_call" and not (text := self._arguments.feed(text)):
            return
        self._is_empty = False
        if self._kind == "tool_call":
            self._send_delta({"toolUse": {"input": text}})
        elif self._kind == "thinking":
            self._send_delta({"reasoningContent": {"text": text}})
        elif self._kind == "text":
            self._send_delta({"text": text})

    def end(self, number: int, part: Part) -> None:
        block = self._block(part)
        if block is None:
            self.left_out(part)
            return
        if isinstance(part, ToolCall) and (rest := self._arguments.rest()):
            self._is_empty = False
            self._send_delta({"toolUse": {"input": rest}})
            self.note_wrapped(part)
        self._end_block(block)

    def leave(self, number: int, part: Part) -> None:
        if isinstance(part, Text):
            self._content.append({"text": part.text})
        elif isinstance(part, Thinking):
            self._content.append({"reasoningContent": {"reasoningText": {"text": part.text}}})

    def _end_block(self, block: dict[str, Any]) -> None:
        self._send_rest(block)
        self._content.append(block)
        self._send("contentBlockStop", contentBlockIndex=len(self._content) - 1)

    def recall(self, part: Part) -> None:
        if isinstance(part, Thinking) and not self.own_block(part) and (seal := self.seal_of(part)):
            self._end_block({"reasoningContent": {"redactedContent": _as_base64(seal)}})

    def finish(self, response: Response) -> None:
        self.word = stop_reason(response) or "end_turn"
        origin = response.origin
        received = as_dict(origin.block) if origin and origin.dialect == self.dialect else {}
        self._more = {name: value for name, value in received.items() if name == MORE_FIELDS}
        self._send("messageStop", stopReason=self.word, **self._more)
        self._send("metadata", usage=counted(self.usage), metrics=METRICS)

    def fail(self, refusal: Refusal, response: Response) -> None:
        self.word = stop_reason(response)
        self._frames.append(write_stream_error(refusal))

    def body(self) -> dict[str, Any]:
        return {
            "output": {"message": {"role": "assistant", "content": self._content}},
            "stopReason": self.word,
            **self._more,
            "usage": counted(self.usage),
            "metrics": METRICS,
        }

    # ---- blocks --------------------------------------------------------------------------------

    def _block(self, part: Part) -> dict[str, Any] | None:
        """A block of this dialect unchanged; any other part in the plain form, if the dialect has one for it."""
        if received := self.own_block(part):
            return received
        match part:
            case Text():
                return {"text": part.text}
            case Thinking():
                return self._reasoning(part)
            case ToolCall() | Media():
                written = write_part(part.replace(origin=None))
                return written if isinstance(written, dict) else None
            case _:
                return None

    def _reasoning(self, part: Thinking) -> dict[str, Any] | None:
        seal = self.seal_of(part)
        if part.text or part.form != "hidden":
            readable = {"text": part.text} | ({"signature": seal} if seal else {})
            return {"reasoningContent": {"reasoningText": readable}}
        if not seal:
            return None
        return {"reasoningContent": {"redactedContent": _as_base64(seal)}}

    def _send_rest(self, block: dict[str, Any]) -> None:
        """The rest of a block that no delta has sent: its seal, or all of it."""
        reasoning = as_dict(block.get("reasoningContent"))
        if "redactedContent" in reasoning:
            self._send_delta({"reasoningContent": reasoning})
        elif "reasoningText" in reasoning:
            readable = as_dict(reasoning["reasoningText"])
            if "signature" in readable:
                self._send_delta({"reasoningContent": {"signature": readable["signature"]}})
            elif self._is_empty:
                self._send_delta({"reasoningContent": {"text": ""}})
        elif "toolUse" in block and self._is_empty:
            self._send_delta({"toolUse": {"input": "{}"}})
        elif "text" in block and self._is_empty:
            self._send_delta({"text": ""})
        elif "text" not in block and "toolUse" not in block:
            self._send_block("contentBlockStart", start=block)

    def _send(self, name: str, **members: Any) -> None:
        self.send(members, name)

    def _send_block(self, name: str, **members: Any) -> None:
        self._send(name, contentBlockIndex=len(self._content), **members)

    def _send_delta(self, delta: dict[str, Any]) -> None:
        self._send_block("contentBlockDelta", delta=delta)


def _as_base64(seal: str) -> str:
    """A seal in the form of the member, which SDKs convert to bytes and back; one that is already base64 stays as it is."""
    try:
        return b64encode(b64decode(seal, validate=True)).decode()
    except ValueError:
        return b64encode(seal.encode()).decode()
