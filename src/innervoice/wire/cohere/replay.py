"""How turns go back to Cohere: newer models refuse `tool_plan`, and none needs it."""

from __future__ import annotations

from innervoice.canon.parts import Part, Thinking
from innervoice.canon.rows import Host, ModelRow
from innervoice.wire.replay import Replay

__all__ = ["REPLAY"]


class _CohereReplay(Replay):
    def returned(self, part: Thinking, row: ModelRow, host: Host | None) -> Part | None:
        """Reasoning in a block; None for a plan, which has no place in a request."""
        block = part.origin.block if part.origin else None
        return None if isinstance(block, dict) and "tool_plan" in block else part


REPLAY = _CohereReplay()
