"""How a model's turn is sent back: the protocol between the rules of `planning/` and the wire formats.

`planning/` decides by the rules H1 to H10 and asks the dialect's `Replay` how a block looks and how to write one. A dialect without
special needs uses this class unchanged.

    signed         thinking is refused unless it is signed, and must not be the last part of a turn (H1)
    groups         reasoning, and the items that it led to, are sent back together or not at all (H5)
    calls_last     the calls of a turn are sent after all its other parts (H5)
    results_anywhere  a result may come after messages that follow its call (H1)
    is_unsigned    a thinking block that lacks its signature (H1)
    is_unreadable  reasoning that the host would have to look up, but has not stored (H5)
    so_far         reasoning that may go on, as it would be sent back if it ended here
    kept           the part of reasoning that must be kept for its host, without readable text that the host does not need
    returned       reasoning of this model in the field, and as much of it, as its host requires (H1)
    fills          a turn of the open tool loop that lost its reasoning has its own rule (H3, H4)
    empty          the empty reasoning that a host requires on a turn with calls (H3)
    is_unstored    a turn whose items the host has not stored, whatever the next request asks for (H5)
    is_lost        reasoning of such a turn that nobody can read without the store (H5)
    without_id     a part without the id by which a host looks up the reasoning before it (H5)
    skips          the model requires a signature on the first call of each step (H4)
    skipped        a call with the documented value that skips the check of its signature (H4)
    is_signed      a step has the signature that its model requires (H4)
    with_skip      a step with the value that skips the check (H4)
    call_id        where the block of a call, or of a result, has the call's id (H6)
"""

from __future__ import annotations

from typing import Any

from innervoice.canon.parts import Part, Thinking, ToolCall, ToolResult
from innervoice.canon.rows import Host, ModelRow

__all__ = ["PLAIN", "Replay", "demands_field"]


class Replay:
    """The default: everything is sent back unchanged."""

    signed: bool = False
    call_id: tuple[str, ...] = ("id",)
    """The path of the id in the block of a call."""
    result_id: tuple[str, ...] = ("tool_call_id",)
    """The path of the call's id in the block of a result."""

    def groups(self, host: Host | None) -> bool:
        """Whether reasoning is sent back only with the items that it led to."""
        return False

    def calls_last(self, host: Host | None) -> bool:
        """Whether the calls of a turn are sent after all its other parts."""
        return False

    def results_anywhere(self, host: Host | None) -> bool:
        """Whether a result may come after messages that follow its call."""
        return False

    def is_unsigned(self, block: object) -> bool:
        """Whether a thinking block lacks its signature."""
        return False

    def is_unreadable(self, block: object, host: Host | None, *, stored: bool) -> bool:
        """Whether the host would have to look up reasoning that it has not stored."""
        return False

    def is_unstored(self, block: object) -> bool:
        """Whether the host has not stored the turn that has these members."""
        return False

    def is_lost(self, block: object) -> bool:
        """Whether reasoning has neither encrypted nor readable content, so that only a store could hold it."""
        return False

    def returned(self, part: Thinking, row: ModelRow, host: Host | None) -> Part | None:
        """Reasoning of this model as its host expects it back; None if the host has no member for it."""
        return part

    def so_far(self, part: Thinking) -> Thinking:
        """Reasoning that may go on, with its text so far in its block: in the members that began empty."""
        origin = part.origin
        if origin is None or not isinstance(origin.block, dict):
            return part
        block = {name: value if value != "" else part.text for name, value in origin.block.items()}
        return part.replace(origin=origin.replace(block=block))

    def kept(self, part: Thinking) -> Thinking | None:
        """Reasoning without readable text that its host does not need; None if nothing is left."""
        return part

    def fills(self, row: ModelRow) -> bool:
        """Whether another rule restores what a turn of the open tool loop has lost."""
        return demands_field(row)

    def empty(self, row: ModelRow) -> Thinking | None:
        """The empty reasoning that the host requires on a turn with calls; None if it requires none."""
        return None

    def without_id(self, part: Part) -> Part:
        """A part without its id."""
        return part

    def skips(self, model: str) -> bool:
        """Whether the model requires a signature on the first call of each step of the current turn."""
        return False

    def skipped(self, call: ToolCall) -> ToolCall:
        """A call with the value that skips the check of its signature."""
        return call

    def is_signed(self, parts: tuple[Part, ...]) -> bool:
        """Whether a step with calls has the signature that its model requires: on one of the calls."""
        return any(
            isinstance(part, ToolCall) and bool(part.origin and part.origin.seals) for part in parts
        )

    def with_skip(self, parts: tuple[Part, ...], call: ToolCall) -> tuple[Part, ...]:
        """The parts of a step whose first call is `call`, with the value that skips the check."""
        return tuple(self.skipped(call) if part is call else part for part in parts)

    def names_call(self, call: ToolCall) -> bool:
        """Whether the block of a call has an id; Gemini pairs calls and results by their order if they have none."""
        value: Any = call.origin.block if call.origin else None
        for step in self.call_id:
            value = value.get(step) if isinstance(value, dict) else None
        return value is not None

    def with_call_id(self, part: ToolCall | ToolResult, name: str) -> ToolCall | ToolResult:
        """A call or a result with another id, also in its block."""
        is_call = isinstance(part, ToolCall)
        origin = part.origin
        if origin and origin.block is not None:
            block = _with_value(origin.block, self.call_id if is_call else self.result_id, name)
            origin = origin.replace(block=block)
        if isinstance(part, ToolCall):
            return part.replace(id=name, origin=origin)
        return part.replace(call_id=name, origin=origin)


def _with_value(block: Any, path: tuple[str, ...], value: str) -> Any:
    """A block with another value at the end of a path; the same block if the path is not in it."""
    first, *rest = path
    if not isinstance(block, dict) or first not in block:
        return block
    return {**block, first: _with_value(block[first], tuple(rest), value) if rest else value}


PLAIN = Replay()


def demands_field(row: ModelRow) -> bool:
    """Whether a model expects its reasoning back in a field of the message, on every turn with calls."""
    return row.replay == "must" and row.replay_field == "reasoning_content"
