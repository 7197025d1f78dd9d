"""The order of the events of Anthropic's Messages API.

    message_start (content_block_start content_block_delta* content_block_stop)* message_delta message_stop

`ping` may come anywhere, and `error` ends the stream. After https://platform.claude.com/docs/en/build-with-claude/streaming (read
2026-11-15) and recordings.
"""

from __future__ import annotations

from typing import Any, ClassVar

from innervoice.frames.frame import Frame
from innervoice.wire.grammar import Grammar, counts_missing
from innervoice.wire.json_access import as_dict, as_text

__all__ = ["AnthropicGrammar"]

_DELTAS: dict[str, dict[str, str]] = {
    "text": {"text_delta": "text", "citations_delta": "citation"},
    "thinking": {"thinking_delta": "thinking", "signature_delta": "signature"},
    "tool_use": {"input_json_delta": "partial_json"},
    "server_tool_use": {"input_json_delta": "partial_json"},
    "mcp_tool_use": {"input_json_delta": "partial_json"},
    "compaction": {"compaction_delta": "content"},
}
"""The deltas of each type of block, and their member. Blocks of other types are sent whole."""
_BEGUN: dict[str, dict[str, Any]] = {
    "text": {"text": ""},
    "thinking": {"thinking": "", "signature": ""},
    "tool_use": {"input": {}},
}
_CALL: dict[str, type] = {"id": str, "name": str}
_MESSAGE: dict[str, type] = {"id": str, "model": str, "usage": dict}
_HEAD: dict[str, Any] = {"type": "message", "role": "assistant", "content": [], "stop_reason": None}


class AnthropicGrammar(Grammar):
    """Checks one message."""

    has_names: ClassVar[bool] = True
    signs_of_life: ClassVar[frozenset[str]] = frozenset({"ping"})
    incidental: ClassVar[dict[str, str]] = {
        "message.usage": "token counts so far, and the tier of the request",
        "usage": "counts, some of them again",
        "delta.container": "the id of a container, and when it expires",
        "context_management": "what a setting of the request did to the request, which is not the answer",
    }
    _has_begun = False
    _has_reason = False
    _blocks = 0
    _open: str | None = None  # the type of the open block
    _is_sealed = False
    _arguments = ""  # of the call that is open

    def message(self, message: dict[str, Any], frame: Frame) -> None:
        kind = as_text(message.get("type"))
        if kind == "ping":
            return
        self.expect(not self.is_over, "after_end", f"{kind} comes after the end")
        if kind == "error":
            self.expect_members(message.get("error"), {"type": str, "message": str}, "the error")
            self.fail()
            return
        begun = kind == "message_start" or self._has_begun
        self.expect(begun, "no_start", f"{kind} comes before message_start")
        match kind:
            case "message_start":
                self._start(as_dict(message.get("message")))
            case "content_block_start":
                self._start_block(message)
            case "content_block_delta":
                self._delta(message)
            case "content_block_stop":
                self._stop_block(message)
            case "message_delta":
                self._end(message)
            case "message_stop":
                self.expect(self._has_reason, "no_message_delta", "message_delta is missing")
                self._expect_closed("message_stop")
                self.is_over = True
            case _:
                self.expect(False, "unknown_event", f"there is no event {kind!r}")

    def _start(self, message: dict[str, Any]) -> None:
        self.expect(not self._has_begun, "second_start", "message_start comes twice")
        self._has_begun = True
        self.expect_members(message, _MESSAGE, "the message")
        wrong = [name for name, value in _HEAD.items() if message.get(name, "") != value]
        self.expect(not wrong, "head", f"the message begins with a wrong {', '.join(wrong)}")
        missing = counts_missing(message.get("usage"), ("input_tokens", "output_tokens"))
        self.expect(not missing, "usage", f"the usage at the start lacks {missing}")

    # ---- blocks --------------------------------------------------------------------------------

    def _start_block(self, event: dict[str, Any]) -> None:
        block, index = as_dict(event.get("content_block")), event.get("index")
        kind = as_text(block.get("type")) or ""
        self.expect(kind, "members", "the block has no type")
        self.expect(self._open is None, "two_open", f"block {index} starts while another is open")
        self.expect(
            not self._has_reason, "late_block", f"block {index} starts after the stop reason"
        )
        text = f"block {index} starts, but {self._blocks} is the next number"
        self.expect(index == self._blocks, "index", text)
        wrong = [name for name, empty in _BEGUN.get(kind, {}).items() if block.get(name) != empty]
        self.expect(not wrong, "begun", f"a block of the type {kind} begins with {wrong} filled")
        if kind == "tool_use":
            self.expect_members(block, _CALL, "the call")
            self.expect(block.get("name"), "members", "the call has no name")
        if kind == "redacted_thinking":
            self.expect(as_text(block.get("data")), "members", "redacted thinking has no data")
        self._open, self._is_sealed, self._arguments = kind, False, ""
        self._blocks += 1

    def _delta(self, event: dict[str, Any]) -> None:
        delta = as_dict(event.get("delta"))
        kind = as_text(delta.get("type")) or ""
        if not self._expect_open(event, kind):
            return
        deltas = _DELTAS.get(self._open or "", {})
        if self.expect(kind in deltas, "delta", f"a {self._open} block has no {kind}"):
            self.expect(deltas[kind] in delta, "members", f"{kind} lacks {deltas[kind]!r}")
        text = f"{kind} comes after the signature of its block"
        self.expect(not self._is_sealed, "after_signature", text)
        if kind == "signature_delta":
            self._is_sealed = True
            self.expect(delta.get("signature"), "members", "the signature is empty")
        self._arguments += as_text(delta.get("partial_json")) or ""

    def _stop_block(self, event: dict[str, Any]) -> None:
        if not self._expect_open(event, "content_block_stop"):
            return
        begins = self._arguments.lstrip()[:1]
        self.expect(begins in ("", "{"), "arguments", "the arguments are not a JSON object")
        self._open = None

    def _expect_open(self, event: dict[str, Any], what: str) -> bool:
        index = event.get("index")
        is_open = self._open is not None and index == self._blocks - 1
        return self.expect(is_open, "not_open", f"{what} is for block {index}, which is not open")

    def _expect_closed(self, what: str) -> None:
        self.expect(self._open is None, "unstopped", f"{what} comes while a block is open")

    # ---- the end -------------------------------------------------------------------------------

    def _end(self, event: dict[str, Any]) -> None:
        self._expect_closed("message_delta")
        self.expect(not self._has_reason, "second_reason", "message_delta comes twice")
        reason = as_text(as_dict(event.get("delta")).get("stop_reason"))
        self.expect(reason, "no_reason", "message_delta has no stop_reason")
        missing = counts_missing(event.get("usage"), ("output_tokens",))
        self.expect(not missing, "usage", f"the usage at the end lacks {missing}")
        self._has_reason = True
