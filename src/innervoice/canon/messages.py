"""A turn of a conversation: a role and its parts in order."""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar, Literal, TypeAlias

from innervoice.canon.origin import Origin
from innervoice.canon.parts import Media, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from innervoice.canon.reasoning import Effort
from innervoice.canon.value import Value
from innervoice.canon.views import answer_of, thinking_of
from innervoice.errors import UsageError

__all__ = ["Message", "Role", "assistant", "system", "tool_result", "user"]

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


class Message(Value, frozen=True, tag="message", tag_field="type"):
    """One turn. `origin` holds wire members of the message that belong to none of its parts."""

    type: ClassVar[Literal["message"]] = "message"

    role: Role
    """ "user", "assistant", "system" or "tool"."""
    parts: tuple[Part, ...] = ()
    """The parts, in the order in which they were written."""
    origin: Origin | None = None
    """Members of the message on the wire that belong to none of its parts."""
    effort: Effort | Literal["default"] | None = None
    """The effort from this message on, until another message sets one; of a turn of the model, the one it was written with. "default": the
    model's own."""

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
        """The tool calls of the message, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    def _repr_html_(self) -> str:
        """The message as HTML, for notebooks."""
        return str(import_module("innervoice.show.forms").render_html(self))


def system(text: str) -> Message:
    """A system message.

    :param text: The instructions.
    """
    return Message("system", _parts(text))


def user(content: Any, *, effort: Effort | None = None) -> Message:
    """A turn of the user.

    :param content: Text, a part, a provider's own block as a dict, or a list of these.
    :param effort: The effort from this message on; None leaves it as it is.
    """
    return Message("user", _parts(content), effort=effort)


def assistant(content: Any) -> Message:
    """A turn of the model, written by the caller.

    :param content: Text, a part, a provider's own block as a dict, or a list of these.
    """
    return Message("assistant", _parts(content))


def tool_result(call_id: str, content: Any, error: bool = False) -> Message:
    """The result of a tool call.

    :param call_id: The id of the `ToolCall`.
    :param content: Text, parts, or any JSON value.
    :param error: Whether the tool failed.
    """
    if not isinstance(call_id, str) or not call_id:
        raise UsageError(f"a tool result needs the id of its call, a string, not {call_id!r}")
    if isinstance(content, str):
        return Message("tool", (ToolResult(call_id, content, error),))
    parts = _parts(content)
    content_parts = tuple(part for part in parts if isinstance(part, (Text, Media, Opaque)))
    if len(content_parts) != len(parts):
        raise UsageError("a tool result may hold text, media and a provider's own blocks")
    return Message("tool", (ToolResult(call_id, content_parts, error),))


def _parts(content: Any) -> tuple[Part, ...]:
    if isinstance(content, (list, tuple)):
        return tuple(part for item in content for part in _parts(item))
    match content:
        case str():
            return (Text(content),)
        case Text() | Thinking() | ToolCall() | ToolResult() | Media() | Opaque():
            return (content,)
        case {"type": "text", "text": str(text), **rest} if not rest:
            return (Text(text),)
        case dict():
            return (Opaque(content),)
        case _:
            raise UsageError(
                f"content must be text, a part, a dict or a list of these, not {type(content).__name__}"
            )
