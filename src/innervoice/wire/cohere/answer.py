"""Parts -> the events of Cohere's chat API, as they arrive.

Blocks of the content are numbered in their order, and so are the calls; one is open at a time. A recorded stream ends with `[DONE]`
after `message-end`, so ours does as well.
"""

from __future__ import annotations

from typing import Any, ClassVar

from innervoice.canon.messages import Message
from innervoice.canon.notes import Notebook
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, Text, Thinking, ToolCall
from innervoice.canon.response import Response
from innervoice.frames.frame import Frame
from innervoice.wire.answer import AnswerHead, AnswerWriter, Seal
from innervoice.wire.cohere.serve import counted, finish_word, write_stream_error
from innervoice.wire.cohere.write import write_assistant
from innervoice.wire.json_access import as_dict, as_list
from innervoice.wire.refusals import Refusal

__all__ = ["CohereWriter"]

_EMPTY = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}


class CohereWriter(AnswerWriter):
    """Writes one response."""

    dialect: ClassVar[str] = "cohere"
    _kind = ""  # of the part that is open
    _is_plan = False  # it is the plan that older models make before they call
    _plan = ""

    def __init__(self, head: AnswerHead, notebook: Notebook, seal: Seal | None = None) -> None:
        super().__init__(head, notebook, seal)
        self._content: list[dict[str, Any]] = []
        self._calls: list[dict[str, Any]] = []
        self._members: dict[str, Any] = {}  # the members of the message besides its parts

    def start(self) -> None:
        self._send("message-start", id=self.head.id, delta={"message": _EMPTY})

    def begin(self, number: int, part: Part) -> None:
        self._kind = part.type
        block = self.own_block(part) or {}
        self._is_plan = "tool_plan" in block
        match part:
            case Thinking() if self._is_plan:
                pass
            case Text() | Thinking() if self._has_place(part):
                index = len(self._content)
                member = "value" if "value" in block else part.type
                begun = {"type": part.type, **block, member: ""}
                self._send_message("content-start", index, content=begun)
            case ToolCall():
                begun = {"name": part.name, "arguments": ""}
                call = {"id": part.id, "type": "function", "function": begun}
                self._send_message("tool-call-start", len(self._calls), tool_calls=call)
            case _:
                self.left_out(part)

    def add(self, number: int, text: str) -> None:
        if self._kind == "tool_call":
            function = {"function": {"arguments": text}}
            self._send_message("tool-call-delta", len(self._calls), tool_calls=function)
        elif self._is_plan:
            self._send("tool-plan-delta", delta={"message": {"tool_plan": text}})
        else:
            content = {self._kind: text}
            self._send_message("content-delta", len(self._content), content=content)

    def end(self, number: int, part: Part) -> None:
        match part:
            case Thinking() if self._is_plan:
                self._plan += part.text
            case Text() | Thinking() if self._has_place(part):
                self._content.append(
                    self.own_block(part) or {"type": part.type, part.type: part.text}
                )
                self._send("content-end", index=len(self._content) - 1)
            case ToolCall():
                block = self.own_block(part)
                whole = part.replace(origin=Origin(block=block) if block else None)
                (call,) = write_assistant(Message("assistant", (whole,)))["tool_calls"]
                self._calls.append(call)
                self._send("tool-call-end", index=len(self._calls) - 1)
            case _:
                pass

    def leave(self, number: int, part: Part) -> None:
        match part:
            case Thinking() if self._is_plan:
                self._plan += part.text
            case Text() | Thinking():
                self._content.append({"type": part.type, part.type: part.text})
            case _:
                pass

    def finish(self, response: Response) -> None:
        self.word = finish_word(response)
        origin = response.origin
        if origin and origin.dialect == self.dialect:
            self._members = as_dict(origin.block)
        for index, citation in enumerate(as_list(self._members.get("citations"))):
            self._send_message("citation-start", index, citations=citation)
            self._send("citation-end", index=index)
        delta = {"finish_reason": self.word, "usage": counted(self.usage)}
        self._send("message-end", delta={name: value for name, value in delta.items() if value})
        self._frames.append(Frame(b"[DONE]"))

    def fail(self, refusal: Refusal, response: Response) -> None:
        self.word = finish_word(response)
        self._frames += [write_stream_error(refusal), Frame(b"[DONE]")]

    def body(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant"}
        if self._content or not self._calls:
            message["content"] = self._content
        if self._plan:
            message["tool_plan"] = self._plan
        if self._calls:
            message["tool_calls"] = self._calls
        message.update(self._members)
        body = {"id": self.head.id, "finish_reason": self.word, "message": message}
        usage = counted(self.usage)
        return {**body, "usage": usage} if usage else body

    # ---- events --------------------------------------------------------------------------------

    def _has_place(self, part: Part) -> bool:
        return not (isinstance(part, Thinking) and part.form == "hidden" and not part.text)

    def _send(self, kind: str, **members: Any) -> None:
        self.send({"type": kind, **members}, kind)

    def _send_message(self, kind: str, index: int, **message: Any) -> None:
        self._send(kind, index=index, delta={"message": message})
