"""How the emulated model behaves, set by a suffix of its name or by a header.

`claude-opus-5-5+redact` and the header `x-innervoice-emulate: redact, slow=0.05` have the same form:
words with commas (in a name: plus signs) between them, some with a value.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from innervoice.canon.value import Value

__all__ = ["HEADER", "Behaviour", "behaviour_of"]

HEADER = "x-innervoice-emulate"
_MAGIC = "ANTHROPIC_MAGIC_STRING_TRIGGER_REDACTED_THINKING"
"""The documented text that makes Claude redact its thinking."""

Visible: TypeAlias = Literal["full", "summary", "hidden"]


class Behaviour(Value, frozen=True, kw_only=True):
    """Switches for tests and demonstrations."""

    redact: bool = False
    """Every second piece of reasoning is encrypted."""
    show: Visible | None = None
    """Shows its reasoning in full, as a summary, or not at all, whatever was requested."""
    inline: str | None = None
    """Writes its reasoning into the text, in tags of this name."""
    unclosed: bool = False
    """Leaves out the closing tag."""
    stutter: bool = False
    """Repeats a closing tag after its reasoning."""
    mirror: bool = False
    """Sends the reasoning in two fields."""
    silent: bool = False
    """Thinks, and returns no answer."""
    pieces: int = 1
    """How many pieces its reasoning has."""
    cut: int | None = None
    """The stream stops without its end after this many frames."""
    fail: int | None = None
    """The stream fails with an error after this many frames; 0: the request is refused."""
    slow: float = 0.0
    """Seconds between two frames."""
    size: int = 12
    """Characters in a delta."""
    unverified: bool = False
    """The organisation is not allowed to see summaries."""


_FLAGS = ("redact", "unclosed", "stutter", "mirror", "silent", "unverified")
_SHOWS = {"full": "full", "summarise": "summary", "summary": "summary", "hide": "hidden"}
_NUMBER = re.compile(r"[0-9]{1,6}")
_SECONDS = re.compile(r"[0-9]{1,2}(?:\.[0-9]{1,6})?")
_MOST_PIECES = 100
_NUMBERS = ("pieces", "cut", "fail", "size")


def behaviour_of(model: str, header: str | None, prompt: str) -> tuple[str, Behaviour]:
    """The model's name without the suffix, and its behaviour."""
    name, *words = model.split("+")
    switches: dict[str, object] = {"redact": _MAGIC in prompt}
    for word in [*words, *(header or "").split(",")]:
        key, _, value = word.strip().partition("=")
        if key in _FLAGS:
            switches[key] = True
        elif key in _SHOWS:
            switches["show"] = _SHOWS[key]
        elif key in _NUMBERS and _NUMBER.fullmatch(value):
            least = 1 if key in ("size", "pieces") else 0
            switches[key] = min(
                max(int(value), least), _MOST_PIECES if key == "pieces" else int(value)
            )
        elif key == "fail":
            switches["fail"] = 3
        elif key == "inline":
            switches["inline"] = value or "think"
        elif key == "slow":
            switches["slow"] = min(float(value), 10.0) if _SECONDS.fullmatch(value) else 0.02
    return name, Behaviour(**switches)  # type: ignore[arg-type]
