"""The order of the messages of Gemini's stream: each has new parts of the candidates, the last has the finish reason and the counts.

After https://ai.google.dev/api/generate-content (read 2026-11-15) and recordings.
"""

from __future__ import annotations

from typing import Any, ClassVar

from innervoice.frames.frame import Frame
from innervoice.wire.grammar import Grammar, counts_missing
from innervoice.wire.json_access import as_dict, as_list

__all__ = ["GeminiGrammar"]

_PAYLOADS: dict[str, type] = {
    "text": str,
    "functionCall": dict,
    "functionResponse": dict,
    "inlineData": dict,
    "fileData": dict,
    "executableCode": dict,
    "codeExecutionResult": dict,
    "toolCall": dict,
    "toolResponse": dict,
}
"""What a part may be, one each."""


class GeminiGrammar(Grammar):
    """Checks one response."""

    incidental: ClassVar[dict[str, str]] = {
        "createTime": "the time",
        "usageMetadata": "token counts so far, in every message, and the tier",
        "candidates.finishMessage": "`finishReason` once more, in a sentence",
        "candidates.index": "which candidate it is; some messages do not say that it is the first",
    }
    tolerates: ClassVar[dict[str, frozenset[str]]] = {
        # If a request asks for it, the arguments of a call are sent in pieces.
        "partial_call": frozenset({"gemini"}),
    }
    _has_usage = False

    def __init__(self, host: str | None = None) -> None:
        super().__init__(host)
        self._head: dict[str, Any] = {}
        self._reasons: set[int] = set()

    def message(self, message: dict[str, Any], frame: Frame) -> None:
        self.expect(frame.name is None, "event_name", "a message of this dialect has no name")
        if "error" in message:
            members: dict[str, type] = {"code": int, "message": str, "status": str}
            self.expect_members(message["error"], members, "the error")
            self.fail()
            return
        self.expect(not self.is_over, "after_end", "a message comes after the last one")
        self._check_head(message)
        candidates = message.get("candidates")
        if as_dict(message.get("promptFeedback")).get("blockReason"):
            self.is_over = True
        else:
            self.expect(candidates, "members", "the message has no candidates")
        for candidate in map(as_dict, as_list(candidates)):
            self._candidate(candidate)
        self._has_usage = self._has_usage or "usageMetadata" in message
        if self.is_over and self._has_usage:
            missing = counts_missing(message.get("usageMetadata"), ("totalTokenCount",))
            self.expect(not missing, "usage", f"the usage of the last message lacks {missing}")

    def _check_head(self, message: dict[str, Any]) -> None:
        self.expect_members(message, {"responseId": str}, "the message")
        self._head = self._head or message
        for name in ("responseId", "modelVersion"):
            same = message.get(name) == self._head.get(name)
            self.expect(same, "changed", f"{name} is not that of the first message")

    def _candidate(self, candidate: dict[str, Any]) -> None:
        index = candidate.get("index", 0)
        if not self.expect(type(index) is int, "members", "the index is not a number"):
            return
        self.expect(index not in self._reasons, "after_end", "a candidate continues after its end")
        content = as_dict(candidate.get("content"))
        role = content.get("role", "model")
        self.expect(role == "model", "role", f"the role is {role!r}")
        parts = content.get("parts")
        self.expect(parts is None or parts, "parts", "an empty list of parts is not sent")
        for part in map(as_dict, as_list(parts)):
            self._part(part)
        if reason := candidate.get("finishReason"):
            self.expect(isinstance(reason, str), "members", "finishReason is not a string")
            self._reasons.add(index)
            self.is_over = True

    def _part(self, part: dict[str, Any]) -> None:
        kinds = [name for name in _PAYLOADS if name in part]
        if not self.expect(len(kinds) == 1, "part", f"a part is one of {kinds or list(part)}"):
            return
        (kind,) = kinds
        self.expect(isinstance(part[kind], _PAYLOADS[kind]), "part", f"{kind} has the wrong type")
        self.expect(part.get("thought", True) is True, "part", "'thought' is not true")
        seal = part.get("thoughtSignature", "-")
        self.expect(isinstance(seal, str) and seal, "part", "the signature is empty")
        if kind == "functionCall":
            self._call(part[kind])

    def _call(self, call: dict[str, Any]) -> None:
        whole = not call.get("partialArgs") and not call.get("willContinue") and call.get("name")
        self.expect(whole, "partial_call", "a call does not come whole, with its name")
        arguments = call.get("args", {})
        self.expect(isinstance(arguments, dict), "arguments", "the arguments are not an object")
