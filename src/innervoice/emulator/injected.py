"""The user's own text, without the context that programs put around it in tags.

Agents add `<system-reminder>`, `<environment_context>`, `<INSTRUCTIONS>` and similar tags to user messages and to tool results.
Some put the user's own words into tags as well (`<task>`, `<user_query>`): those are kept.
"""

from __future__ import annotations

import re
from bisect import bisect_left

__all__ = ["own_words"]

_TAG = re.compile(r"<(/?)([A-Za-z][\w-]{0,60})>")
_SPOKEN = {"task", "user_query", "user_request", "user_message", "question", "query", "feedback"}


def own_words(text: str) -> str:
    """The text without injected context; takes time in proportion to the text's length."""
    closers: dict[str, list[int]] = {}
    tags = list(_TAG.finditer(text))
    for tag in tags:
        if tag[1]:
            closers.setdefault(tag[2], []).append(tag.start())
    lines: list[str] = []
    place = 0
    for tag in tags:
        ends = closers.get(tag[2], [])
        after = bisect_left(ends, tag.end())
        if tag[1] or tag.start() < place or after == len(ends):
            continue
        lines.append(text[place : tag.start()])
        if tag[2] in _SPOKEN:
            lines.append(text[tag.end() : ends[after]])
        place = ends[after] + len(tag[0]) + 1
    lines.append(text[place:])
    return " ".join(piece.strip() for piece in lines if piece.strip())
