"""A turn of a conversation: a role and its parts in order."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, ToolCall
from innervoice.canon.value import Value
from innervoice.canon.views import answer_of, thinking_of

__all__ = ["Message", "Role"]

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


class Message(Value, frozen=True, tag="message", tag_field="type"):
    """One turn. `origin` holds what the wire said of the message itself, beside its parts."""

    type: ClassVar[str] = "message"

    role: Role
    parts: tuple[Part, ...] = ()
    origin: Origin | None = None

    @property
    def text(self) -> str:
        """The answer, never reasoning."""
        return answer_of(self.parts)

    @property
    def thinking(self) -> str | None:
        """The readable reasoning."""
        return thinking_of(self.parts)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls it asks for, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))
