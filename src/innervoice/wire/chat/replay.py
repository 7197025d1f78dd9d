"""How turns are sent back to chat hosts: in the field, or between the tags, that the model's row names."""

from __future__ import annotations

from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, Text, Thinking
from innervoice.canon.rows import Host, ModelRow
from innervoice.wire.chat import DIALECT
from innervoice.wire.replay import Replay, demands_field

__all__ = ["REPLAY"]

_DETAILS = "reasoning_details"
_LISTS = (_DETAILS, "content")
"""Members that hold reasoning as entries of a list, not as a text."""


class _ChatReplay(Replay):
    def returned(self, part: Thinking, row: ModelRow, host: Host | None) -> Part | None:
        origin = part.origin
        if origin is None or not isinstance(origin.block, dict):
            return part
        block, from_client = origin.block, origin.provider is None
        is_entry = str(block.get("type", "")).startswith("reasoning.")
        if "type" in block and not (is_entry and from_client):
            return part  # a chunk of the content, or an entry of the details, goes back as it is
        if row.replay == "tags" and not is_entry:
            return Text(f"<think>{part.text}</think>\n", origin=origin.replace(block=None))
        if row.replay_field and row.replay_field not in _LISTS:
            if is_entry and not part.text:
                return None  # a field has no place for a seal
            return part.replace(origin=origin.replace(block={row.replay_field: part.text}))
        # A client may have used any host, with fields that this one does not have.
        names = [_DETAILS] if is_entry else list(block)
        lost = from_client and any(_refuses(name, row, host) for name in names)
        return None if lost else part

    def empty(self, row: ModelRow) -> Thinking | None:
        if not demands_field(row) or row.replay_field is None:
            return None
        origin = Origin(dialect=DIALECT.name, block={row.replay_field: ""})
        return Thinking("", "hidden", origin=origin)


def _refuses(name: str, row: ModelRow, host: Host | None) -> bool:
    """Whether a host refuses a field of a message, or gives it another meaning."""
    if row.replay_field == "content":
        return name != _DETAILS
    if host is None or name in host.refuses:
        return host is not None
    return DIALECT.name in host.strict and name not in (row.replay_field, *host.knows)


REPLAY = _ChatReplay()
