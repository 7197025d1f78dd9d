"""The order of the lines of Ollama's /api/chat: pieces of the message, and a last line that is done.

After ollama's server/routes.go (fb3076099, 2026-08-21).
"""

from __future__ import annotations

from typing import Any

from innervoice.frames.frame import Frame
from innervoice.wire.grammar import Grammar
from innervoice.wire.json_access import as_count, as_dict, as_list

__all__ = ["OllamaGrammar"]

_HEAD: dict[str, type] = {"model": str, "created_at": str, "message": dict, "done": bool}
_COUNTS = ("prompt_eval_count", "eval_count")


class OllamaGrammar(Grammar):
    """Checks one response."""

    _model: str | None = None

    def message(self, message: dict[str, Any], frame: Frame) -> None:
        self.expect(frame.name is None, "event_name", "a line has no name")
        self.expect(not self.is_over, "after_end", "a line comes after the last one")
        if "error" in message:
            self.expect_members(message, {"error": str}, "the error")
            self.fail()
            return
        self.expect_members(message, _HEAD, "the line")
        self._model = self._model or message.get("model")
        same = message.get("model") == self._model
        self.expect(same, "changed", "the model is not that of the first line")
        self._said(as_dict(message.get("message")))
        counted = [name for name in _COUNTS if name in message]
        if message.get("done"):
            self.expect_members(message, {"done_reason": str}, "the last line")
            wrong = [name for name in counted if as_count(message[name]) is None]
            self.expect(not wrong, "usage", f"{wrong} are not counts")
            self.is_over = True
            return
        self.expect("done_reason" not in message, "early_reason", "a reason before the last line")
        self.expect(not counted, "usage_place", "counts come before the last line")

    def _said(self, said: dict[str, Any]) -> None:
        self.expect(said.get("role") == "assistant", "role", "the role is not assistant")
        self.expect_members(said, {"content": str}, "the message")
        thought = said.get("thinking", "")
        self.expect(isinstance(thought, str), "members", "the thinking is not a string")
        for call in map(as_dict, as_list(said.get("tool_calls"))):
            members: dict[str, type] = {"name": str, "arguments": dict}
            self.expect_members(call.get("function"), members, "the call")
