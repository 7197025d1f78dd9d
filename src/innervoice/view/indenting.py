"""A JSON text -> the same on several lines: only white space between tokens changes, every token stays as it was written."""

from __future__ import annotations

import re
from collections.abc import Iterator

from innervoice.canon.jsontext import load_json

__all__ = ["indented"]

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+', re.DOTALL)
_STEP = "  "
_DEEPEST = 40
"""Deeper indentation would only move the text out of sight."""


def indented(text: str) -> str:
    """The JSON on several lines; a text that is not an object or list stays as it is."""
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        load_json(text)
    except ValueError:
        return text
    return "".join(_pieces(_TOKEN.findall(text)))


def _pieces(tokens: list[str]) -> Iterator[str]:
    depth = 0
    before = ""
    for token in tokens:
        if token in ("}", "]"):
            depth -= 1
            if before not in ("{", "["):
                yield _line(depth)
        elif before in ("{", "[", ","):
            yield _line(depth)
        elif before == ":":
            yield " "
        yield token
        if token in ("{", "["):
            depth += 1
        before = token


def _line(depth: int) -> str:
    return "\n" + _STEP * min(depth, _DEEPEST)
