"""How items are sent back to the Responses API: by their seals, or by ids that the host has stored."""

from __future__ import annotations

from innervoice.canon.parts import Opaque, Part, Thinking
from innervoice.canon.rows import Host, ModelRow
from innervoice.wire.replay import Replay
from innervoice.wire.write import block_of

__all__ = ["REPLAY"]


class _ResponsesReplay(Replay):
    call_id = ("call_id",)
    result_id = ("call_id",)

    def groups(self, host: Host | None) -> bool:
        return host is not None and host.sealed_only

    def calls_last(self, host: Host | None) -> bool:
        return host is not None and host.calls_last

    def results_anywhere(self, host: Host | None) -> bool:
        return not self.calls_last(host)

    def is_unreadable(self, block: object, host: Host | None, *, stored: bool) -> bool:
        sealed = not isinstance(block, dict) or bool(block.get("encrypted_content"))
        return not sealed and not stored and self.groups(host)

    def is_unstored(self, block: object) -> bool:
        return isinstance(block, dict) and block.get("store") is False

    def is_lost(self, block: object) -> bool:
        return isinstance(block, dict) and not (
            block.get("encrypted_content") or block.get("content")
        )

    def returned(self, part: Thinking, row: ModelRow, host: Host | None) -> Part:
        """Without its readable content, where the host accepts only the seal."""
        block = block_of(part)
        readable = isinstance(block, dict) and block.get("content")
        return _without(part, "content") if readable and self.groups(host) else part

    def kept(self, part: Thinking) -> Thinking | None:
        """The seal alone: summary and content are for people, and the host reads the encrypted content."""
        block = block_of(part)
        if part.origin is None or not isinstance(block, dict) or not block.get("encrypted_content"):
            return part
        bare = {name: value for name, value in block.items() if name != "content"}
        return part.replace(text="", origin=part.origin.replace(block={**bare, "summary": []}))

    def without_id(self, part: Part) -> Part:
        return _without(part, "id")


def _without(part: Part, member: str) -> Part:
    """A part whose block lacks a member."""
    origin = part.origin
    if isinstance(part, Opaque) and isinstance(part.value, dict) and member in part.value:
        return part.replace(
            value={key: value for key, value in part.value.items() if key != member}
        )
    if origin is None or not isinstance(origin.block, dict) or member not in origin.block:
        return part
    block = {key: value for key, value in origin.block.items() if key != member}
    return part.replace(origin=origin.replace(block=block))


REPLAY = _ResponsesReplay()
