"""The order of the events of Bedrock's Converse.

    messageStart (contentBlockStart? contentBlockDelta* contentBlockStop)* messageStop metadata

Only calls, their results and images have a start event; other blocks begin with their first delta. An exception ends the stream. After
botocore's service model 2023-09-30 (1.44.0) and recordings.
"""

from __future__ import annotations

from typing import Any, ClassVar

from innervoice.frames.frame import Frame
from innervoice.wire.grammar import Grammar, counts_missing
from innervoice.wire.json_access import as_dict, as_text

__all__ = ["ConverseGrammar"]

_STARTED: dict[str, dict[str, type]] = {
    "toolUse": {"toolUseId": str, "name": str},
    "toolResult": {},
    "image": {},
}
_DELTAS = {"text", "citation", "reasoningContent", "toolUse", "toolResult", "image"}
_REASONING = {"text", "signature", "redactedContent"}
_COUNTS = ("inputTokens", "outputTokens", "totalTokens")


class ConverseGrammar(Grammar):
    """Checks one message."""

    incidental: ClassVar[dict[str, str]] = {
        "p": "padding of a random length",
        "usage": "counts",
        "metrics": "times",
    }

    _has_begun = False
    _has_reason = False
    _blocks = 0
    _open: str | None = None  # the kind of the open block
    _is_sealed = False
    _arguments = ""  # of the call that is open

    def message(self, message: dict[str, Any], frame: Frame) -> None:
        name = frame.name or ""
        self.expect(not self.is_over, "after_end", f"{name} comes after the end")
        if frame.failed:
            self.expect(
                name.endswith("Exception"), "unknown_event", f"{name!r} is not an exception"
            )
            self.expect_members(message, {"message": str}, "the exception")
            self.fail()
            return
        begun = name == "messageStart" or self._has_begun
        self.expect(begun, "no_start", f"{name} comes before messageStart")
        match name:
            case "messageStart":
                self.expect(not self._has_begun, "second_start", "messageStart comes twice")
                self.expect(message.get("role") == "assistant", "role", "the role is not assistant")
                self._has_begun = True
            case "contentBlockStart":
                self._start_block(message)
            case "contentBlockDelta":
                self._delta(message)
            case "contentBlockStop":
                self._stop_block(message)
            case "messageStop":
                self._stop(message)
            case "metadata":
                self._metadata(message)
            case _:
                self.expect(False, "unknown_event", f"there is no event {name!r}")

    # ---- blocks --------------------------------------------------------------------------------

    def _begin(self, event: dict[str, Any], kind: str) -> None:
        index = event.get("contentBlockIndex")
        self.expect(self._open is None, "two_open", f"block {index} starts while another is open")
        self.expect(
            not self._has_reason, "late_block", f"block {index} starts after the stop reason"
        )
        text = f"block {index} starts, but {self._blocks} is the next number"
        self.expect(index == self._blocks, "index", text)
        self._open, self._is_sealed, self._arguments = kind, False, ""
        self._blocks += 1

    def _start_block(self, event: dict[str, Any]) -> None:
        start = as_dict(event.get("start"))
        kind = next(iter(start), "")
        self._begin(event, kind)
        one = len(start) == 1 and kind in _STARTED
        if self.expect(one, "start", f"a block of {list(start)} has no start event"):
            self.expect_members(start[kind], _STARTED[kind], "the start")

    def _delta(self, event: dict[str, Any]) -> None:
        delta = as_dict(event.get("delta"))
        kind = next(iter(delta), "")
        one = len(delta) == 1 and kind in _DELTAS
        self.expect(one, "delta", f"a delta is one of {sorted(_DELTAS)}, not {list(delta)}")
        index = event.get("contentBlockIndex")
        if self._open is None or index != self._blocks - 1:
            self._begin(event, kind)
            self.expect(
                kind not in _STARTED, "no_block_start", f"the block of a {kind} has no start"
            )
        text = f"a delta of {kind} comes in a block of {self._open}"
        cites = (self._open, kind) == ("text", "citation")
        self.expect(kind == self._open or cites, "delta", text)
        if kind == "reasoningContent":
            self._reasoning(as_dict(delta[kind]))
        if kind == "toolUse":
            self.expect_members(delta[kind], {"input": str}, "the delta of a call")
            self._arguments += as_text(as_dict(delta[kind]).get("input")) or ""

    def _reasoning(self, delta: dict[str, Any]) -> None:
        one = len(delta) == 1 and delta.keys() <= _REASONING
        self.expect(one, "delta", f"a delta of reasoning is one of {sorted(_REASONING)}")
        text = "a delta comes after the signature of its block"
        self.expect(not self._is_sealed, "after_signature", text)
        self._is_sealed = "signature" in delta

    def _stop_block(self, event: dict[str, Any]) -> None:
        index = event.get("contentBlockIndex")
        is_open = self._open is not None and index == self._blocks - 1
        self.expect(is_open, "not_open", f"block {index} stops, which is not open")
        begins = self._arguments.lstrip()[:1]
        self.expect(begins in ("", "{"), "arguments", "the arguments are not a JSON object")
        self._open = None

    # ---- the end -------------------------------------------------------------------------------

    def _stop(self, event: dict[str, Any]) -> None:
        self.expect(self._open is None, "unstopped", "messageStop comes while a block is open")
        self.expect(not self._has_reason, "second_reason", "messageStop comes twice")
        self.expect_members(event, {"stopReason": str}, "messageStop")
        self._has_reason = True

    def _metadata(self, event: dict[str, Any]) -> None:
        self.expect(self._has_reason, "early_metadata", "metadata comes before messageStop")
        missing = counts_missing(event.get("usage"), _COUNTS)
        self.expect(not missing, "usage", f"the usage lacks {missing}")
        self.expect_members(event.get("metrics"), {"latencyMs": int}, "metrics")
        self.is_over = True
