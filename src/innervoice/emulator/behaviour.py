"""How the emulated model behaves: told by the end of its name, by a header, or by neither.

`claude-opus-5-5+redact` and the header `x-innervoice-emulate: redact, slow=0.05` say the same kind of thing:
words with commas (in a name: plus signs) between them, some with a value.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from innervoice.canon.value import Value

__all__ = ["HEADER", "Behaviour", "behaviour_of"]

HEADER = "x-innervoice-emulate"
_MAGIC = "ANTHROPIC_MAGIC_STRING_TRIGGER_REDACTED_THINKING"
"""The documented text that makes Claude redact its thinking."""

Visible: TypeAlias = Literal["full", "summary", "hidden"]


class Behaviour(Value, frozen=True, kw_only=True):
    """What a model is told to do, for a test or a demonstration."""

    redact: bool = False
    """Every second piece of reasoning comes encrypted."""
    show: Visible | None = None
    """Shows its reasoning in full, as a summary, or not at all, whatever was asked."""
    inline: str | None = None
    """Writes its reasoning into the text, in tags of this name."""
    unclosed: bool = False
    """Forgets the closing tag."""
    stutter: bool = False
    """Repeats a closing tag behind its reasoning."""
    mirror: bool = False
    """Sends the reasoning in two fields."""
    silent: bool = False
    """Thinks, and says nothing."""
    pieces: int = 1
    """How many pieces its reasoning has."""
    cut: int | None = None
    """The stream ends without an end after so many frames."""
    fail: int | None = None
    """The stream breaks off with an error after so many frames; 0: the request is refused."""
    slow: float = 0.0
    """Seconds between two frames."""
    size: int = 12
    """Characters in a delta."""
    unverified: bool = False
    """The organisation may not have summaries."""


_FLAGS = ("redact", "unclosed", "stutter", "mirror", "silent", "unverified")
_SHOWS = {"full": "full", "summarise": "summary", "summary": "summary", "hide": "hidden"}
_NUMBERS = ("pieces", "cut", "fail", "size")


def behaviour_of(model: str, header: str | None, prompt: str) -> tuple[str, Behaviour]:
    """The model's own name, and how it shall behave."""
    name, *words = model.split("+")
    told: dict[str, object] = {"redact": _MAGIC in prompt}
    for word in [*words, *(header or "").split(",")]:
        key, _, value = word.strip().partition("=")
        if key in _FLAGS:
            told[key] = True
        elif key in _SHOWS:
            told["show"] = _SHOWS[key]
        elif key in _NUMBERS and value.isdigit():
            told[key] = int(value)
        elif key == "fail":
            told["fail"] = 3
        elif key == "inline":
            told["inline"] = value or "think"
        elif key == "slow":
            told["slow"] = float(value or 0.02)
    return name, Behaviour(**told)  # type: ignore[arg-type]
