"""How steps go back to the Interactions API: thoughts by their signatures.

1. A thought without a signature is refused, though the API itself may send one beside a call (googleapis/js-genai 1735).
2. Gemini 3 and later wants a signed thought before the calls of each step; calls have no signature of their own. A thought with the
   value that skips the check is accepted in its place (earendil-works/pi 2172, read 2026-11-16).
"""

from __future__ import annotations

from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, Thinking, ToolCall
from innervoice.canon.rows import Host, ModelRow
from innervoice.wire.gemini.replay import REPLAY as GEMINI
from innervoice.wire.gemini.replay import SKIP
from innervoice.wire.interactions import DIALECT
from innervoice.wire.json_access import as_dict
from innervoice.wire.replay import Replay
from innervoice.wire.write import block_of

__all__ = ["REPLAY"]

_SEAL = "signature"


class _InteractionsReplay(Replay):
    call_id = ("id",)
    result_id = ("call_id",)

    def returned(self, part: Thinking, row: ModelRow, host: Host | None) -> Part | None:
        return part if as_dict(block_of(part)).get(_SEAL) else None

    def kept(self, part: Thinking) -> Thinking | None:
        """The signature alone: a summary is for people."""
        origin, block = part.origin, as_dict(block_of(part))
        if origin is None:
            return part
        if not block.get(_SEAL):
            return None
        bare = {name: value for name, value in block.items() if name != "summary"}
        return part.replace(text="", origin=origin.replace(block=bare))

    def fills(self, row: ModelRow) -> bool:
        return True

    def skips(self, model: str) -> bool:
        return GEMINI.skips(model)

    def is_signed(self, parts: tuple[Part, ...]) -> bool:
        for part in parts:
            if isinstance(part, ToolCall):
                return False
            if isinstance(part, Thinking) and as_dict(block_of(part)).get(_SEAL):
                return True
        return False

    def with_skip(self, parts: tuple[Part, ...], call: ToolCall) -> tuple[Part, ...]:
        block = {"type": "thought", _SEAL: SKIP}
        origin = Origin(dialect=DIALECT.name, block=block, seals=(_SEAL,))
        at = next(number for number, part in enumerate(parts) if part is call)
        return (*parts[:at], Thinking("", "hidden", origin=origin), *parts[at:])


REPLAY = _InteractionsReplay()
