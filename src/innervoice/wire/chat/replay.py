"""How turns go back to chat hosts: in the field, or between the tags, that the model's row names."""

from __future__ import annotations

from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, Text, Thinking
from innervoice.canon.rows import Host, ModelRow
from innervoice.wire.chat import DIALECT
from innervoice.wire.replay import Replay, demands_field

__all__ = ["REPLAY"]

_DETAILS = "reasoning_details"


class _ChatReplay(Replay):
    def returned(self, part: Thinking, row: ModelRow, host: Host | None) -> Part:
        origin = part.origin
        if origin is None or not isinstance(origin.block, dict):
            return part
        if "type" in origin.block:
            if self._has_other_place(origin, row):
                # Reasoning without text has no place in a field.
                block = {row.replay_field: part.text} if part.text else None
                return part.replace(origin=origin.replace(block=block))
            return part  # a chunk of the content, or an entry of the details, goes back as it is
        if row.replay == "tags":
            return Text(f"<think>{part.text}</think>\n", origin=origin.replace(block=None))
        if row.replay_field and row.replay_field != _DETAILS:
            return part.replace(origin=origin.replace(block={row.replay_field: part.text}))
        return part

    def _has_other_place(self, origin: Origin, row: ModelRow) -> bool:
        """Whether an entry of the details came from a client, of whichever host, and this host has a field in their place."""
        is_entry = str(origin.block["type"]).startswith("reasoning.")
        return is_entry and origin.provider is None and row.replay_field not in (None, _DETAILS)

    def empty(self, row: ModelRow) -> Thinking | None:
        if not demands_field(row) or row.replay_field is None:
            return None
        origin = Origin(dialect=DIALECT.name, block={row.replay_field: ""})
        return Thinking("", "hidden", origin=origin)


REPLAY = _ChatReplay()
