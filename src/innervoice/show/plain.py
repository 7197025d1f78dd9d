"""A view -> plain text.

Every line of reasoning begins with `> `, so that reasoning cannot be mistaken for the answer.
"""

from __future__ import annotations

from collections.abc import Iterator

from innervoice.show.lines import line_of
from innervoice.show.policy import Answer, Policy, Showable, ShownTurn, Thought, view_of
from innervoice.show.visible import visible

__all__ = ["QUOTE", "render_plain"]

QUOTE = "> "


def render_plain(value: Showable, show: Policy = "full") -> str:
    """The value as plain text, without a trailing line feed."""
    return "\n\n".join(filter(None, map(_turn, view_of(value, show))))


def _turn(turn: ShownTurn) -> str:
    blocks = list(_blocks(turn))
    if turn.role is not None:
        blocks.insert(0, f"{turn.role}:")
        return "\n".join(blocks[:2]) + "".join(f"\n\n{block}" for block in blocks[2:])
    return "\n\n".join(blocks)


def _blocks(turn: ShownTurn) -> Iterator[str]:
    lines: list[str] = []
    for item in turn.items:
        if not isinstance(item, (Thought, Answer)):
            lines.append(line_of(item))
            continue
        if lines:
            yield "\n".join(lines)
            lines = []
        yield _thought(item) if isinstance(item, Thought) else visible(item.text).strip("\n")
    if lines:
        yield "\n".join(lines)


def _thought(thought: Thought) -> str:
    if not thought.text:
        return thought.title
    lines = visible(thought.text).strip("\n").split("\n")
    return "\n".join([f"{thought.title}:", *(f"{QUOTE}{line}".rstrip() for line in lines)])
