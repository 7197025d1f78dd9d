"""Where a part came from, and what must be sent back there.

A *seal* is opaque state inside a wire block: a signature, encrypted content, redacted data, an item
id. It is stored once, inside `Origin.block`, byte for byte; `Origin.seals` names the members of the
block that are seals, as paths joined by dots (`reasoningText.signature`).

A part cut out of a text keeps the markup that was removed around and inside it: `Markup(at, text)`
was before character `at` of the part's text. `restore` inserts it again, so the content string
that the model wrote is rebuilt byte for byte (invariant I2).
"""

from __future__ import annotations

from typing import Any, ClassVar

from innervoice.canon.value import Value

__all__ = ["Markup", "Origin", "weave"]


class Markup(Value, frozen=True, array_like=True):
    """Characters that were removed from a text, and the character of it before which they were."""

    at: int
    """The character of the text before which they were."""
    text: str
    """The characters."""


class Origin(Value, frozen=True, kw_only=True):
    """Provider, model, dialect and account of a part, and its wire block."""

    hidden: ClassVar[frozenset[str]] = frozenset({"block", "item", "led_by", "members"})

    provider: str | None = None
    """The provider that the part was received from."""
    model: str | None = None
    """The model that wrote it."""
    dialect: str | None = None
    """The wire format of `block`."""
    scope: str | None = None
    """The account that its seals are bound to."""
    block: Any = None
    """The exact wire block as JSON, seals included."""
    seals: tuple[str, ...] = ()
    """Paths of the members of `block` that are seals."""
    item: str | None = None
    """The id of the wire item that several parts share."""
    cache_mark: Any = None
    """A cache mark on the part in another dialect, in Anthropic's form."""
    members: Any = None
    """Members of a block of another dialect that the target's block has as well, in its form."""
    led_by: str | None = None
    """The id of the reasoning item before it; a host that stores items refuses the part without that item."""
    prefix: str | None = None
    """Digest of everything before the part when the model wrote it, for blocks that are bound to it."""
    markup: tuple[Markup, ...] | None = None
    """What was removed from the text; None for a part that was never inside a text."""
    invented: tuple[str, ...] = ()
    """Fields of the part that were missing on the wire and filled by innervoice."""


def weave(text: str, markup: tuple[Markup, ...]) -> str:
    """Puts removed markup back into the text it was removed from."""
    pieces: list[str] = []
    position = 0
    for removed in markup:
        pieces += text[position : removed.at], removed.text
        position = removed.at
    pieces.append(text[position:])
    return "".join(pieces)
