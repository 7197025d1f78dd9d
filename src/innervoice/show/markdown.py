"""A view -> Markdown: reasoning in a collapsed `<details>`, the answer as the model wrote it.

Reasoning is quoted and literal: every line begins with `> `, and everything that has a meaning in Markdown
or HTML is escaped, so that no line can end the quote or the element, open a fence, load an image or mention
a user. Blank lines separate the elements from the text, as CommonMark requires.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from innervoice.show.lines import line_of
from innervoice.show.policy import Answer, Policy, Showable, ShownTurn, Thought, view_of
from innervoice.show.sanitize import sanitize
from innervoice.show.visible import visible

__all__ = ["literal", "render_markdown"]

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_SPECIAL = re.compile(r"[&<>]|[\\`*_\[\]~|$]|@(?=\w)")
_MARKER = re.compile(r"""[!"#%'()+,\-./:;=?^{}]|\d{1,9}(?=[.)])""")


def render_markdown(value: Showable, show: Policy = "full", *, html: bool = False) -> str:
    """The value as Markdown; `html=True` keeps the answer's HTML, which is escaped otherwise."""
    blocks = [block for turn in view_of(value, show) for block in _blocks(turn, html=html)]
    return "\n\n".join(blocks)


def literal(text: str) -> str:
    """One line of clean text, escaped so that Markdown shows exactly this line."""
    body = text.lstrip(" \t")
    indent = len(text[: len(text) - len(body)].expandtabs(4)) if body else 0
    marker = _MARKER.match(body)
    head = ""
    if marker:
        number = marker[0] if marker[0].isdigit() else ""
        head = f"{number}\\{body[len(number)]}"
        body = body[len(number) + 1 :]
    return "&nbsp;" * indent + head + _SPECIAL.sub(_escaped, body)


def _blocks(turn: ShownTurn, *, html: bool) -> Iterator[str]:
    if turn.role is not None:
        yield f"**{turn.role}**"
    for item in turn.items:
        match item:
            case Thought(text=""):
                yield f"*{item.title}*"
            case Thought():
                yield _details(item)
            case Answer():
                answer = visible(item.text).strip("\n")
                yield answer if html else sanitize(answer)
            case _:
                yield _code(line_of(item))


def _details(thought: Thought) -> str:
    lines = [literal(line.rstrip()) for line in visible(thought.text).strip("\n").split("\n")]
    # Two trailing spaces are a line break.
    broken = [
        f"> {line}  " if line and following else f"> {line}".rstrip()
        for line, following in zip(lines, [*lines[1:], ""], strict=True)
    ]
    quote = "\n".join(broken)
    return f"<details>\n<summary>{escape(thought.title)}</summary>\n\n{quote}\n\n</details>"


def _code(line: str) -> str:
    """The line in a code span that its own backticks cannot end."""
    fence = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
    return f"{fence} {line} {fence}" if len(fence) > 1 else f"`{line}`"


def _escaped(special: re.Match[str]) -> str:
    character = special[0]
    if character == "@":
        # A backslash would not stop GitHub and others from notifying the user with this name.
        return "@\N{ZERO WIDTH SPACE}"
    return _ENTITIES.get(character) or f"\\{character}"
