"""The ordered pieces of a message.

`complete` says whether the wire format (or the closing tag) ended the part: an incomplete one is readable,
but is never sent back as sealed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Literal, TypeAlias

from innervoice.canon.origin import Origin, weave
from innervoice.canon.value import Value

__all__ = [
    "Form",
    "Media",
    "Opaque",
    "Part",
    "Text",
    "Thinking",
    "ToolCall",
    "ToolResult",
    "is_inline",
    "restore",
]

Form: TypeAlias = Literal["full", "summary", "hidden"]


class Text(Value, frozen=True, tag="text", tag_field="type"):
    """A piece of the answer."""

    type: ClassVar[Literal["text"]] = "text"

    text: str
    """The text, without markup of reasoning."""
    complete: bool = True
    """Whether the end of the part was received."""
    origin: Origin | None = None
    """Where it came from, with its wire block; None for one that the caller wrote."""


class Thinking(Value, frozen=True, tag="thinking", tag_field="type"):
    """A piece of reasoning; `text` is "" if the provider hides it."""

    type: ClassVar[Literal["thinking"]] = "thinking"

    text: str = ""
    """The reasoning, or its summary; "" if the provider hides it."""
    form: Form = "full"
    """What `text` is: "full", "summary" or "hidden"."""
    complete: bool = True
    """Whether the end of the part was received."""
    origin: Origin | None = None
    """Where it came from, with its wire block; None for one that the caller wrote."""


class ToolCall(Value, frozen=True, tag="tool_call", tag_field="type"):
    """A tool call; `arguments` is text, JSON unless the model wrote something else."""

    type: ClassVar[Literal["tool_call"]] = "tool_call"

    id: str
    """The id that the result of the call refers to."""
    name: str
    """The name of the tool."""
    arguments: str = ""
    """The arguments as text: JSON, unless the model wrote something else."""
    complete: bool = True
    """Whether the end of the part was received."""
    origin: Origin | None = None
    """Where it came from, with its wire block; None for one that the caller wrote."""


class ToolResult(Value, frozen=True, tag="tool_result", tag_field="type"):
    """The result of a tool call, for the model to read."""

    type: ClassVar[Literal["tool_result"]] = "tool_result"

    call_id: str
    """The id of the call."""
    content: str | tuple[Text | Media | Opaque, ...] = ""
    """Text, or a tuple of parts."""
    error: bool = False
    """Whether the tool failed."""
    origin: Origin | None = None
    """Where it came from, with its wire block; None for one that the caller wrote."""


class Media(Value, frozen=True, tag="media", tag_field="type"):
    """An image, a document or audio, as base64 data or by its URL."""

    type: ClassVar[Literal["media"]] = "media"
    hidden: ClassVar[frozenset[str]] = frozenset({"data"})

    mime: str | None = None
    """The media type, such as `image/png`."""
    data: str | None = None
    """The content in base64; None if it is at `url`."""
    url: str | None = None
    """Where the content is; None if it is in `data`."""
    complete: bool = True
    """Whether the end of the part was received."""
    origin: Origin | None = None
    """Where it came from, with its wire block; None for one that the caller wrote."""
    name: str | None = None
    """The name of the file, for APIs that show it to the model."""


class Opaque(Value, frozen=True, tag="opaque", tag_field="type"):
    """A block that innervoice passes on without interpreting it; `value` is its JSON."""

    type: ClassVar[Literal["opaque"]] = "opaque"
    hidden: ClassVar[frozenset[str]] = frozenset({"value"})

    value: Any
    """The block as JSON."""
    complete: bool = True
    """Whether the end of the part was received."""
    origin: Origin | None = None
    """Where it came from, with its wire block; None for one that the caller wrote."""


Part: TypeAlias = Text | Thinking | ToolCall | ToolResult | Media | Opaque


def is_inline(part: Part) -> bool:
    """Whether the part was cut out of a text."""
    return part.origin is not None and part.origin.markup is not None


def restore(parts: Iterable[Part]) -> str:
    """The text as the model wrote it, removed markup included, from the parts cut out of it.

    :param parts: The parts of a response of `split`, in their order.
    """
    return "".join(_written(part) for part in parts)


def _written(part: Part) -> str:
    match part:
        case Text() | Thinking():
            text = part.text
        case Opaque(value={"text": str(text)}) if is_inline(part):
            pass
        case _:
            return ""
    markup = part.origin.markup if part.origin else None
    return weave(text, markup) if markup else text
