"""How turns go back to Converse; Claude's are signed there, too."""

from __future__ import annotations

from innervoice.wire.replay import Replay

__all__ = ["REPLAY"]


class _ConverseReplay(Replay):
    signed = True
    call_id = ("toolUse", "toolUseId")
    result_id = ("toolResult", "toolUseId")

    def is_unsigned(self, block: object) -> bool:
        match block:
            case {"reasoningContent": {"reasoningText": dict(text)}}:
                return not text.get("signature")
            case _:
                return False


REPLAY = _ConverseReplay()
