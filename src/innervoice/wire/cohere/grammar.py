"""The order of the events of Cohere's chat API.

    message-start tool-plan-delta* (content-start content-delta* content-end)* (tool-call-start tool-call-delta* tool-call-end)*
    message-end [DONE]

Contents and calls are numbered separately. Citations come between the deltas of the content. After https://docs.cohere.com/v2/docs/streaming
(read 2026-11-15) and a recording.
"""

from __future__ import annotations

from typing import Any, ClassVar

from innervoice.frames.frame import Frame
from innervoice.wire.grammar import Grammar
from innervoice.wire.json_access import as_dict, as_text

__all__ = ["CohereGrammar"]

_FAMILIES = ("content", "tool-call", "citation")
_WORDS = {"COMPLETE", "STOP_SEQUENCE", "MAX_TOKENS", "TOOL_CALL", "ERROR", "TIMEOUT", "ERROR_TOXIC", "ERROR_LIMIT", "USER_CANCEL"}  # fmt: skip


class CohereGrammar(Grammar):
    """Checks one response."""

    has_done: ClassVar[bool] = True
    may_end_with_error: ClassVar[bool] = True
    has_names: ClassVar[bool] = True
    incidental: ClassVar[dict[str, str]] = {
        "delta.usage": "counts",
    }
    _has_begun = False

    def __init__(self, host: str | None = None) -> None:
        super().__init__(host)
        self._begun = dict.fromkeys(_FAMILIES, 0)
        self._open: dict[str, str] = {}  # by family: the type of what is open

    def message(self, message: dict[str, Any], frame: Frame) -> None:
        kind = as_text(message.get("type")) or ""
        self.expect(not self.is_over, "after_end", f"{kind} comes after the end")
        # An error ends a message wherever it is, even before its beginning.
        is_error = as_dict(message.get("delta")).get("finish_reason") == "ERROR"
        begun = kind == "message-start" or self._has_begun or is_error
        self.expect(begun, "no_start", f"{kind} comes before message-start")
        family, _, moment = kind.rpartition("-")
        inner = as_dict(as_dict(message.get("delta")).get("message"))
        if kind == "message-start":
            self.expect(not self._has_begun, "second_start", "message-start comes twice")
            self.expect_members(message, {"id": str}, "message-start")
            self.expect(inner.get("role") == "assistant", "role", "the role is not assistant")
            self._has_begun = True
        elif kind == "message-end":
            self._end(as_dict(message.get("delta")))
        elif kind == "tool-plan-delta":
            self.expect_members(inner, {"tool_plan": str}, kind)
        elif family in _FAMILIES and moment in ("start", "delta", "end"):
            self._moment(family, moment, message.get("index"), inner)
        else:
            self.expect(False, "unknown_event", f"there is no event {kind!r}")

    def _moment(self, family: str, moment: str, index: Any, inner: dict[str, Any]) -> None:
        """The start, a delta or the end of a content, a call or a citation."""
        if moment == "start":
            self._start(family, index, inner)
            return
        is_open = family in self._open and index == self._begun[family] - 1
        text = f"{family}-{moment} is for number {index}, which is not open"
        self.expect(is_open, "not_open", text)
        if moment == "end":
            self._open.pop(family, None)
        elif family == "content":
            kind = self._open.get(family, "text")
            self.expect_members(inner.get("content"), {kind: str}, "content-delta")
        elif family == "tool-call":
            function = as_dict(inner.get("tool_calls")).get("function")
            self.expect_members(function, {"arguments": str}, "tool-call-delta")

    def _start(self, family: str, index: Any, inner: dict[str, Any]) -> None:
        others = [name for name in self._open if family != "citation" or name == family]
        self.expect(not others, "two_open", f"{family} {index} starts while {others} is open")
        text = f"{family} {index} starts, but {self._begun[family]} is the next number"
        self.expect(index == self._begun[family], "index", text)
        self._begun[family] += 1
        self._open[family] = family
        if family == "content":
            kind = as_text(as_dict(inner.get("content")).get("type")) or ""
            is_legal = self.expect(
                kind in ("text", "thinking"), "content", f"{kind!r} is not a content type"
            )
            self._open[family] = kind if is_legal else "text"
        elif family == "tool-call":
            call = as_dict(inner.get("tool_calls"))
            self.expect_members(call, {"id": str, "function": dict}, "the call")
            members: dict[str, type] = {"name": str, "arguments": str}
            self.expect_members(call.get("function"), members, "the function")

    def _end(self, delta: dict[str, Any]) -> None:
        is_error = delta.get("finish_reason") == "ERROR"
        problem = f"message-end comes while {self._open} is open"
        self.expect(is_error or not self._open, "unstopped", problem)
        word = delta.get("finish_reason")
        self.expect(word in _WORDS, "word", f"{word!r} is not a finish_reason")
        if "usage" in delta:
            self.expect_members(delta["usage"], {"tokens": dict}, "the usage")
        self.is_over = True
        self.has_failed = "error" in delta
