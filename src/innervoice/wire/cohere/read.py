"""Cohere v2 chat -> canonical events.

Input: a whole response, or the events of a stream. Output: content in order, then the calls.

Rules, after https://docs.cohere.com/v2/docs/streaming (read 2026-11-15) and recordings:

  1. Content is a list in a message and an object in a stream; a delta has no type, its key shows the kind.
  2. `tool_plan` is the text that older models write before their calls: reasoning, in a field of the message.
  3. Citations belong to the message and are kept with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from innervoice.canon.parts import Part, Text, Thinking
from innervoice.canon.usage import Usage
from innervoice.wire.json_access import arguments_of, as_count, as_dict, as_list, as_text
from innervoice.wire.protocol import Context, Reader, Slot

__all__ = ["CohereReader"]


class CohereReader(Reader):
    """Reads one answer."""

    dialect: ClassVar[str] = "cohere"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._blocks: dict[tuple[str, Any], Slot] = {}

    def read(self, value: Any, name: str | None) -> None:
        event = as_dict(value)
        kind = as_text(event.get("type")) or name
        if kind is None or "message" in event:
            self._read_whole(event)
        elif kind in _EVENTS:
            index = event.get("index") if isinstance(event.get("index"), (int, str)) else None
            _EVENTS[kind](self, index, event)
        elif "error" in event:
            self.fail(event)
        else:
            self.skip(kind)

    def _start_message(self, _: Any, event: dict[str, Any]) -> None:
        self.id = as_text(event.get("id")) or self.id

    def _start_content(self, index: Any, event: dict[str, Any]) -> None:
        self._read_content(index, _message(event).get("content"), starts=True)

    def _extend_content(self, index: Any, event: dict[str, Any]) -> None:
        self._read_content(index, _message(event).get("content"), starts=False)

    def _end_content(self, index: Any, _: dict[str, Any]) -> None:
        self._close(("content", index))

    def _extend_plan(self, _: Any, event: dict[str, Any]) -> None:
        self._read_plan(_message(event).get("tool_plan"))

    def _begin_call(self, index: Any, event: dict[str, Any]) -> None:
        self._start_call(index, as_dict(_message(event).get("tool_calls")))

    def _extend_call(self, index: Any, event: dict[str, Any]) -> None:
        function = as_dict(as_dict(_message(event).get("tool_calls")).get("function"))
        slot = self._blocks.get(("call", index))
        if slot and slot.open:
            self.add(slot, as_text(function.get("arguments")) or "")

    def _finish_call(self, index: Any, _: dict[str, Any]) -> None:
        self._close(("call", index))

    def _cite(self, _: Any, event: dict[str, Any]) -> None:
        self.message_block.setdefault("citations", []).append(_message(event).get("citations"))

    def _end_message(self, _: Any, event: dict[str, Any]) -> None:
        self._end(as_dict(event.get("delta")))

    def _read_whole(self, body: dict[str, Any]) -> None:
        message = as_dict(body.get("message"))
        if not message and body.get("message") is not None:
            self.fail(body)
            return
        self.id = as_text(body.get("id"))
        self._read_plan(message.get("tool_plan"))
        content = message.get("content")
        if isinstance(content, str):
            self._read_content(0, {"type": "text", "text": content}, starts=True)
        for index, block in enumerate(as_list(content)):
            self._read_content(index, block, starts=True)
            self._close(("content", index))
        for index, call in enumerate(as_list(message.get("tool_calls"))):
            self._start_call(index, as_dict(call))
            self._close(("call", index))
        if message.get("citations"):
            self.message_block["citations"] = message["citations"]
        self._end(body)
        # An object with neither is no answer.
        self.ended = "message" in body or bool(body.get("finish_reason"))

    def _read_content(self, index: Any, content: Any, *, starts: bool) -> None:
        if not isinstance(content, dict):
            self.odd(content, "content")
            return
        slot = self._blocks.get(("content", index))
        thinking = content.get(
            "thinking", content.get("value") if content.get("type") == "thinking" else None
        )
        text = thinking if thinking is not None else content.get("text")
        if not isinstance(text, str):
            self.odd(content, "content")
            return
        kind = "thinking" if thinking is not None else "text"
        if starts or not slot or not slot.open or slot.kind != kind:
            self._close(("content", index))
            self._close(("plan", None))
            slot = self._blocks["content", index] = self.open(
                kind, {k: v for k, v in content.items() if starts}
            )
        self.add(slot, text)

    def _read_plan(self, plan: Any) -> None:
        if not isinstance(plan, str):
            if plan is not None:
                self.odd(plan, "tool_plan")
            return
        if plan:
            slot = self._blocks.get(("plan", None)) or self.open("thinking", {"tool_plan": ""})
            self._blocks["plan", None] = slot
            self.add(slot, plan)

    def _start_call(self, index: Any, call: dict[str, Any]) -> None:
        self._close(("plan", None))
        function = as_dict(call.get("function"))
        slot = self.open_call(call.get("id"), function.get("name"), dict(call))
        self._blocks["call", index] = slot
        if "arguments" in function:
            self.add(slot, arguments_of(function["arguments"]))

    def _close(self, key: tuple[str, Any]) -> None:
        slot = self._blocks.get(key)
        if slot and slot.open:
            self.close(slot)

    def conclude(self, slot: Slot, *, complete: bool = True) -> None:
        block = slot.block
        if slot.kind == "tool_call":
            block["function"] = {**as_dict(block.get("function")), "arguments": slot.text}
            self.end_call(slot, slot.text, complete=complete)
            return
        member = (
            "tool_plan"
            if "tool_plan" in block
            else "thinking"
            if slot.kind == "thinking"
            else "text"
        )
        if "value" in block:
            member = "value"
        block[member] = slot.text
        trivial = block.keys() <= {"type", "text"}
        origin = self.origin(None if trivial else block)
        part: Part = Text(slot.text, complete, origin)
        if slot.kind == "thinking":
            part = Thinking(slot.text, "full", complete, origin)
        self.end(slot, part)

    def _end(self, delta: dict[str, Any]) -> None:
        self._close(("plan", None))
        self.stop(delta.get("finish_reason"))
        if delta.get("error"):
            self.fail(
                {"message": delta["error"]} if isinstance(delta["error"], str) else delta["error"]
            )
        usage = as_dict(delta.get("usage"))
        tokens = as_dict(usage.get("tokens"))
        if usage:
            self.use(
                Usage(
                    input_tokens=as_count(tokens.get("input_tokens")),
                    output_tokens=as_count(tokens.get("output_tokens")),
                    reasoning_tokens=as_count(tokens.get("reasoning_tokens")),
                    cached_input_tokens=as_count(usage.get("cached_tokens")),
                    raw=usage,
                )
            )


def _message(event: dict[str, Any]) -> dict[str, Any]:
    return as_dict(as_dict(event.get("delta")).get("message"))


_EVENTS: dict[str, Callable[[CohereReader, Any, dict[str, Any]], None]] = {
    "message-start": CohereReader._start_message,
    "content-start": CohereReader._start_content,
    "content-delta": CohereReader._extend_content,
    "content-end": CohereReader._end_content,
    "tool-plan-delta": CohereReader._extend_plan,
    "tool-call-start": CohereReader._begin_call,
    "tool-call-delta": CohereReader._extend_call,
    "tool-call-end": CohereReader._finish_call,
    "citation-start": CohereReader._cite,
    "message-end": CohereReader._end_message,
}
