"""The arguments of a call for dialects whose calls have a JSON object.

Pieces are written once they are known to begin an object. Anything else, such as the text of a free-form call, is held back to its end and
written as the only member of one.
"""

from __future__ import annotations

from innervoice.canon.jsontext import dump_json
from innervoice.canon.parts import ToolCall
from innervoice.wire.json_access import as_dict
from innervoice.wire.write import input_of

__all__ = ["ObjectArguments"]


class ObjectArguments:
    """The arguments of one call, piece by piece."""

    def __init__(self, call: ToolCall) -> None:
        block = as_dict(call.origin.block if call.origin else None)
        self._is_free = "custom" in block or block.get("type") == "custom_tool_call"
        self._is_object = False
        self._held = ""

    def feed(self, text: str) -> str:
        """The text that is written for a piece now."""
        if self._is_object:
            return text
        self._held += text
        if self._is_free or not self._held.lstrip().startswith("{"):
            return ""
        self._is_object, text, self._held = True, self._held, ""
        return text

    def rest(self) -> str:
        """The text that is written at the end of the call."""
        if not self._held.strip():
            return ""
        return dump_json(input_of(ToolCall("", "", self._held))).decode()
