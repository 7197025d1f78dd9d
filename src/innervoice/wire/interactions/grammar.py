"""The order of the events of the Interactions API.

    interaction.created (step.start step.delta* step.stop)* interaction.completed [DONE]

`interaction.status_update` may come between any two, and an error in place of the rest. After
https://ai.google.dev/gemini-api/docs/streaming (read 2026-11-16), the types of google-genai 3.1.0 and recordings.
"""

from __future__ import annotations

from typing import Any, ClassVar

from innervoice.frames.frame import Frame
from innervoice.wire.grammar import Grammar, counts_missing
from innervoice.wire.json_access import as_dict, as_text

__all__ = ["InteractionsGrammar"]

_COUNTS = ("total_tokens", "total_input_tokens", "total_output_tokens", "total_thought_tokens")
_ENDINGS = (
    "completed", "requires_action", "requires_continuation", "incomplete", "budget_exceeded", "failed", "cancelled",
)  # fmt: skip
_FILE: dict[str, type] = {}
_DELTAS: dict[str, dict[str, dict[str, type]]] = {
    "thought": {"thought_summary": {"content": dict}, "thought_signature": {"signature": str}},
    "function_call": {"arguments_delta": {"arguments": str}},
    "model_output": {
        "text": {"text": str},
        "text_annotation_delta": {"annotations": list},
        **dict.fromkeys(("image", "audio", "video", "document"), _FILE),
    },
}
"""By the type of a step: the deltas that it has, with their members. Those of any other step have its own type."""


class InteractionsGrammar(Grammar):
    """Checks one interaction."""

    has_done: ClassVar[bool] = True
    may_end_with_error: ClassVar[bool] = True
    signs_of_life: ClassVar[frozenset[str]] = frozenset({"interaction.status_update"})
    tolerates: ClassVar[dict[str, frozenset[str]]] = {
        # The recordings have the events alone.
        "no_done": frozenset({"gemini"}),
    }
    incidental: ClassVar[dict[str, str]] = {
        "interaction.created": "the time",
        "interaction.updated": "the time",
        "interaction.usage": "counts",
    }
    _id: Any = None
    _state = ""
    _step: str | None = None  # the type of the step that is open
    _index = -1

    def message(self, message: dict[str, Any], frame: Frame) -> None:
        kind = as_text(message.get("event_type")) or ""
        text = f"an event of the type {kind!r} is named {frame.name!r}"
        self.expect(frame.name == kind, "event_name", text)
        self.expect(not self.is_over, "after_end", f"{kind} comes behind the end")
        if kind == "error":
            members: dict[str, type] = {"code": str, "message": str}
            self.expect_members(message.get("error"), members, "the error")
            self.fail()
            return
        if kind == "interaction.created":
            self.expect(not self._state, "order", "the interaction is created twice")
            self._state = "created"
            self._interaction(as_dict(message.get("interaction")), ("in_progress", "queued"))
            return
        self.expect(self._state, "no_start", f"{kind} comes before interaction.created")
        match kind:
            case "interaction.status_update":
                same = message.get("interaction_id") == self._id
                self.expect(same, "changed", "the id of the interaction has changed")
            case "interaction.completed":
                self._complete(as_dict(message.get("interaction")))
            case "step.start":
                self._start(message)
            case "step.delta":
                self._delta(message)
            case "step.stop":
                self._expect_open(message, kind)
                self._step = None
            case _:
                self.expect(False, "unknown_event", f"there is no event {kind!r}")

    def _interaction(self, interaction: dict[str, Any], statuses: tuple[str, ...]) -> None:
        self.expect_members(interaction, {"id": str, "status": str}, "the interaction")
        status = interaction.get("status")
        self.expect(status in statuses, "status", f"the status is {status!r}")
        self._id = interaction.get("id") if self._id is None else self._id
        same = interaction.get("id") == self._id
        self.expect(same, "changed", "the id of the interaction has changed")

    def _complete(self, interaction: dict[str, Any]) -> None:
        self.is_over = True
        self._interaction(interaction, _ENDINGS)
        self.expect(self._step is None, "unstopped", "a step is open at the end")
        usage = interaction.get("usage")
        missing = counts_missing(usage, _COUNTS)
        self.expect(usage is None or not missing, "usage", f"the usage lacks {missing}")

    # ---- steps ---------------------------------------------------------------------------------

    def _start(self, message: dict[str, Any]) -> None:
        step, index = as_dict(message.get("step")), message.get("index")
        self.expect(self._step is None, "two_open", "a step starts while another is open")
        text = f"step {index} starts, but {self._index + 1} is the next number"
        self.expect(index == self._index + 1, "index", text)
        self.expect_members(step, {"type": str}, "the step")
        self._index += 1
        self._step = as_text(step.get("type")) or ""
        if self._step == "function_call":
            members: dict[str, type] = {"id": str, "name": str, "arguments": dict}
            self.expect_members(step, members, "the call")
            self.expect(not step.get("arguments"), "begun", "a call starts with its arguments")

    def _expect_open(self, message: dict[str, Any], kind: str) -> bool:
        index = message.get("index")
        is_open = self._step is not None and index == self._index
        return self.expect(is_open, "not_open", f"{kind} is for step {index}, which is not open")

    def _delta(self, message: dict[str, Any]) -> None:
        if not self._expect_open(message, "step.delta"):
            return
        delta, step = as_dict(message.get("delta")), self._step or ""
        kind = as_text(delta.get("type")) or ""
        deltas = _DELTAS.get(step, {step: {}})
        if self.expect(kind in deltas, "delta", f"a {step} has no delta {kind!r}"):
            self.expect_members(delta, deltas[kind], f"the delta {kind}")
            self.expect(delta.get("signature", "-"), "seal", "the signature is empty")
