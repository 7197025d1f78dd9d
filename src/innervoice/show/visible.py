"""A model's text -> the same text without characters that affect the display.

A control character is replaced by its visible symbol, or by U+FFFD if it has none, so an escape sequence
cannot move the cursor and readers see where it was. The same goes for characters that reorder the text
around them (embeddings, overrides, isolates). Right-to-left marks are kept, because they do not reorder
other text. Every kind of line break becomes a line feed.
"""

from __future__ import annotations

import re

__all__ = ["DANGEROUS", "one_line", "visible"]

_BREAKS = {0x0D: "\n", 0x85: "\n", 0x2028: "\n", 0x2029: "\n"}
_KEPT = {0x09, 0x0A}

DANGEROUS = frozenset(
    code
    for codes in (
        range(0x20),
        range(0x7F, 0xA0),
        range(0x2028, 0x202F),  # line separators, embeddings and overrides
        range(0x2066, 0x2070),  # isolates and deprecated controls
        range(0xFFF9, 0xFFFC),  # interlinear annotations
    )
    for code in codes
    if code not in _KEPT
)
"""The characters that are always replaced."""


def _picture(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)
    return "\N{SYMBOL FOR DELETE}" if code == 0x7F else "\N{REPLACEMENT CHARACTER}"


_VISIBLE = {code: _picture(code) for code in DANGEROUS} | _BREAKS
_SURROGATE = re.compile("[\ud800-\udfff]")


def visible(text: str) -> str:
    """The text without control characters, except tabs and line feeds."""
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n").translate(_VISIBLE)
    if _SURROGATE.search(text):
        # Join the surrogate halves of an emoji that was split; a lone half is not a character.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def one_line(text: str, limit: int = 200) -> str:
    """The text on one line, shortened to `limit` characters."""
    line = " ".join(visible(text[: 8 * limit]).split())
    return line if len(line) <= limit and len(text) <= 8 * limit else f"{line[: limit - 1]}…"
