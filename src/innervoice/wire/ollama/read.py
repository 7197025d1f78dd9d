"""Ollama /api/chat -> canonical events.

Input: one object per line; a whole body is a single one. Output: reasoning, text and calls as they arrive.

Rules, after ollama's api/types.go and server/routes.go (fb3076099, 2026-08-21):

  1. `thinking` is a field: one part, however it alternates with the content.
  2. Calls arrive whole, their arguments as an object.
  3. `done: true` is the end; `done_reason` may be missing. An error is a line of its own.
  4. `eval_count` includes the reasoning, which is not counted separately.
"""

from __future__ import annotations

from typing import Any, ClassVar

from innervoice.canon.parts import Thinking
from innervoice.canon.usage import Usage
from innervoice.wire.json_access import arguments_of, as_count, as_dict, as_list, as_text
from innervoice.wire.protocol import Context, Reader, Slot

__all__ = ["OllamaReader"]

_KNOWN = {"role", "content", "thinking", "tool_calls"}


class OllamaReader(Reader):
    """Reads one answer."""

    dialect: ClassVar[str] = "ollama"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._fields: dict[str, Slot] = {}

    def read(self, value: Any, name: str | None) -> None:
        line = as_dict(value)
        if "error" in line:
            self.fail(line)
            return
        self.model = as_text(line.get("model")) or self.model
        message = as_dict(line.get("message"))
        self._read_field("thinking", "thinking", message.get("thinking"))
        self._read_field("text", "content", message.get("content", line.get("response")))
        calls = message.get("tool_calls")
        if calls is not None and not isinstance(calls, list):
            self.odd(calls, "tool_calls")
        for call in as_list(calls):
            self._read_call(call)
        rest = {
            key: item for key, item in message.items() if key not in _KNOWN and item is not None
        }
        self.message_block.update(rest)
        if line.get("done") is True:
            self._end(line)

    def _read_field(self, kind: str, member: str, text: Any) -> None:
        if text is None or text == "":
            return
        if not isinstance(text, str):
            self.odd(text, member)
            return
        slot = self._fields.get(kind)
        if slot is None:
            slot = self._fields[kind] = self._begin(kind)
        self.add(slot, text)

    def _begin(self, kind: str) -> Slot:
        if kind != "thinking":
            return self.open(kind)
        begun = Thinking("", complete=False, origin=self.origin({kind: ""}))
        return self.open(kind, {kind: ""}, begun)

    def conclude(self, slot: Slot, *, complete: bool = True) -> None:
        if slot.kind == "thinking":
            slot.block["thinking"] = slot.text
        super().conclude(slot, complete=complete)

    def _read_call(self, call: Any) -> None:
        function = as_dict(as_dict(call).get("function"))
        if not function:
            self.odd(call, "tool_calls")
            return
        self.whole_call(
            call.get("id"), function.get("name"), arguments_of(function.get("arguments")), call
        )

    def _end(self, line: dict[str, Any]) -> None:
        self.stop(line.get("done_reason") or "stop")
        if self.finish_reason == "stop" and self._call_ids:
            self.finish_reason = "tool_calls"
        counts = {key: item for key, item in line.items() if key.endswith(("_count", "_duration"))}
        if counts:
            read, written = (
                as_count(line.get("prompt_eval_count")),
                as_count(line.get("eval_count")),
            )
            self.use(Usage(input_tokens=read, output_tokens=written, raw=counts))
