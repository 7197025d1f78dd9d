"""Text of a model -> the same text with nothing in it that acts on the display.

A control character becomes its picture, and what has none becomes U+FFFD: an escape sequence cannot
move the cursor, and nobody has to guess where it was. So, too, with the characters that reorder what
stands around them (embeddings, overrides, isolates). The marks of right-to-left writing stay: they
reorder nothing but themselves. Every kind of line break becomes a line feed.
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
        range(0x2028, 0x202F),  # separators of lines, embeddings and overrides
        range(0x2066, 0x2070),  # isolates, and controls that Unicode gave up
        range(0xFFF9, 0xFFFC),  # annotations between the lines
    )
    for code in codes
    if code not in _KEPT
)
"""The characters that are never shown as they are."""


def _picture(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)
    return "\N{SYMBOL FOR DELETE}" if code == 0x7F else "\N{REPLACEMENT CHARACTER}"


_VISIBLE = {code: _picture(code) for code in DANGEROUS} | _BREAKS
_SURROGATE = re.compile("[\ud800-\udfff]")


def visible(text: str) -> str:
    """The text as it may be shown; of white space it has blanks, tabs and line feeds."""
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n").translate(_VISIBLE)
    if _SURROGATE.search(text):
        # The halves of an emoji that was cut in two are put together; a half alone is no character.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def one_line(text: str, limit: int = 200) -> str:
    """The text on one line, shortened to `limit` characters."""
    line = " ".join(visible(text[: 8 * limit]).split())
    return line if len(line) <= limit and len(text) <= 8 * limit else f"{line[: limit - 1]}…"
