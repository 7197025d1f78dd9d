"""The objects of a response of the Responses API; members can be read as attributes and as items."""

from __future__ import annotations

from typing import Any

from innervoice.bridges.litellm.litellm_object import LitellmObject, build, build_all

__all__ = ["ResponseAPIUsage", "ResponseItem", "ResponsesAPIResponse"]


class ResponseItem(LitellmObject):
    """An item of the output, or a part of one."""

    def __init__(self, **members: Any) -> None:
        if isinstance(members.get("content"), list):
            members["content"] = build_all(ResponseItem, members["content"])
        if isinstance(members.get("summary"), list):
            members["summary"] = build_all(ResponseItem, members["summary"])
        super().__init__(**members)


class ResponsesAPIResponse(LitellmObject):
    """A response of the Responses API."""

    id: str
    created_at: float
    model: str | None
    object: str
    status: str | None
    output: list[Any]
    usage: Any

    def __init__(self, **members: Any) -> None:
        members["output"] = build_all(ResponseItem, members.get("output") or [])
        members["usage"] = build(ResponseAPIUsage, members.get("usage"))
        super().__init__(**members)
        self._hidden_params: dict[str, Any] = {}

    @property
    def output_text(self) -> str:
        """The text of all messages."""
        entries = [
            entry for item in self.output if item.get("type") == "message" for entry in item.content
        ]
        return "".join(entry.text for entry in entries if entry.get("type") == "output_text")


class ResponseAPIUsage(LitellmObject):
    """Token counts, under the names of this API."""

    def __init__(self, **members: Any) -> None:
        super().__init__(
            **{name: build(ResponseAPIUsage, value) for name, value in members.items()}
        )
