"""How turns are sent back to Converse; Claude's are signed there as well."""

from __future__ import annotations

from innervoice.canon.parts import Part, Thinking
from innervoice.canon.rows import Host, ModelRow
from innervoice.canon.target import UNKNOWN_MODEL
from innervoice.wire.controls import is_claude
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

    def returned(self, part: Thinking, row: ModelRow, host: Host | None) -> Part | None:
        """Without a signature, which models other than Claude refuse: a client may have changed the model since.

        For an unknown model, signed parts are sent back unchanged.
        """
        origin = part.origin
        match origin.block if origin else None:
            case {"reasoningContent": {"reasoningText": {"signature": _, **rest}}} if (
                origin and row is not UNKNOWN_MODEL and not is_claude(row)
            ):
                block = {"reasoningContent": {"reasoningText": rest}}
                return part.replace(origin=origin.replace(block=block, seals=()))
            case _:
                return part


REPLAY = _ConverseReplay()
