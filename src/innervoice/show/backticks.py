"""Text for Discord -> its code spans and code blocks, as Discord parses them.

Three backticks begin a block anywhere, and the next three end it. One or two begin a span, which the same
number ends. Inside code a backslash is an ordinary character.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Code", "code_in"]

_FENCE = "```"
_OPENER = re.compile(r"\\[^0-9A-Za-z\s]|`+")
_RUN = re.compile("`+")
_LANGUAGE = re.compile(r"[A-Za-z0-9_+\-.#]{0,30}\n")


class Code(NamedTuple):
    """A piece of code, and the text to put before and after each part of it."""

    start: int
    end: int
    opening: str
    body: str
    closing: str


def code_in(text: str) -> Iterator[Code]:
    """The code in order, including a block that the end of the text cuts off."""
    runs: dict[int, list[int]] = defaultdict(list)
    for run in _RUN.finditer(text):
        runs[len(run[0])].append(run.start())
    last_fence = text.rfind(_FENCE)
    position = 0
    while opener := _OPENER.search(text, position):
        position = opener.end()
        start, size = opener.start(), len(opener[0])
        if opener[0][0] == "\\":
            continue
        if size >= len(_FENCE):
            code = _block(text, start, is_closed=start + len(_FENCE) <= last_fence)
        else:
            code = _span(text, start, size, runs[size])
        if code is not None:
            yield code
            position = code.end


def _block(text: str, start: int, *, is_closed: bool) -> Code | None:
    begin = start + len(_FENCE)
    if not is_closed and start and text[start - 1] != "\n":
        return None
    closer = text.find(_FENCE, begin) if is_closed else len(text)
    language = _LANGUAGE.match(text, begin, closer)
    body = text[language.end() if language else begin : closer].removesuffix("\n")
    opening = language[0] if language else "\n"
    return Code(start, min(closer + len(_FENCE), len(text)), _FENCE + opening, body, f"\n{_FENCE}")


def _span(text: str, start: int, size: int, closers: list[int]) -> Code | None:
    place = bisect_left(closers, start + size)
    if place == len(closers):
        return None
    closer = closers[place]
    ticks = "`" * size
    return Code(start, closer + size, ticks, text[start + size : closer], ticks)
