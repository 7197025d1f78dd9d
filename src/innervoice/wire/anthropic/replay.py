"""How Claude's turns are sent back to the Messages API."""

from __future__ import annotations

from innervoice.wire.replay import Replay

__all__ = ["REPLAY"]


class _AnthropicReplay(Replay):
    signed = True
    call_id = ("id",)
    result_id = ("tool_use_id",)

    def is_unsigned(self, block: object) -> bool:
        match block:
            case {"type": "thinking", **rest}:
                return not rest.get("signature")
            case _:
                return False


REPLAY = _AnthropicReplay()
