"""How a single part is shown: its text, its title, facts and a picture.

The text is that of `show.render(..., "plain")`, without quotation marks; for calls and results, render shows the beginning on one line, and this all of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from innervoice.canon.jsontext import load_json
from innervoice.canon.messages import Message
from innervoice.canon.parts import Media, Opaque, Part, Thinking, ToolResult
from innervoice.privacy.redactor import Redactor
from innervoice.show.policy import (
    Answer,
    Block,
    Item,
    Result,
    ShownCall,
    Thought,
    counted,
    line_of,
    view_of,
)
from innervoice.show.visible import one_line, visible
from innervoice.view.row_types import Fact, fact, size

__all__ = [
    "block_title",
    "first_line",
    "image_of",
    "indented",
    "is_reasoning",
    "media_facts",
    "name_line",
    "opening_of",
    "part_text",
    "result_facts",
    "shown_item",
]

_SCREEN = Redactor("screen")
_FIRST = 160
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/avif")
_DATA_URL = re.compile("data:([a-z]{1,20}/[a-z0-9.+-]{1,40});base64,")
_LARGEST_IMAGE = 2_000_000


def part_text(part: Part, item: Item | None = None) -> str:
    """The full text of a part."""
    item = item or shown_item(part)
    match item:
        case None:
            return ""
        case Thought():
            # As in plain text, white space at the end of a line is left out.
            lines = visible(item.text).strip("\n").split("\n")
            return "\n".join([line.rstrip() for line in lines])
        case Answer():
            return visible(item.text).strip("\n")
        case ShownCall():
            return visible(indented(item.arguments))
        case Result():
            return visible(item.text).strip("\n")
        case _:
            return line_of(item)


def shown_item(part: Part) -> Item | None:
    """What the policy `full` shows of a single part; None if that is nothing."""
    items = view_of(Message("assistant", (part,)))[0].items
    return items[0] if items else None


def opening_of(part: Part) -> str:
    """What the policy `summary` shows of a thought."""
    items = view_of(Message("assistant", (part,)), "summary")[0].items
    thought = items[0] if items else None
    return visible(thought.text).strip("\n") if isinstance(thought, Thought) else ""


def first_line(text: str) -> str:
    line = text[: 8 * _FIRST].strip().partition("\n")[0]
    return one_line(line, _FIRST)


def is_reasoning(part: Part) -> bool:
    return isinstance(part, Thinking) or (
        isinstance(part, Opaque) and isinstance(shown_item(part), Thought)
    )


def block_title(item: Item | None) -> str:
    match item:
        case Thought():
            return "Hidden reasoning"
        case Block():
            return one_line(item.kind, 80)
        case _:
            return "block"


def name_line(name: str, limit: int) -> str:
    """A name that a model or a file gave, on one line."""
    return one_line(_SCREEN.name(name[:4000]), limit)


def result_facts(part: ToolResult, item: Item | None) -> Iterator[Fact]:
    if part.error:
        yield fact("error", "The tool reported an error.", "bad")
    text = item.text if isinstance(item, Result) else ""
    yield fact(counted(len(text), "character"))
    files = (
        [one for one in part.content if isinstance(one, Media)]
        if not isinstance(part.content, str)
        else []
    )
    if files:
        yield fact(counted(len(files), "file"))


def media_facts(part: Media) -> Iterator[Fact]:
    if part.mime and part.name:
        yield fact(part.mime)
    if part.data:
        yield fact(size(len(part.data) * 3 // 4))
    if part.url and not part.url.startswith("data:"):
        yield fact("by URL", _SCREEN.address(part.url[:4000]))


def image_of(part: Part) -> str | None:
    """A picture that the page may show: of a part, or the first of a result."""
    if isinstance(part, ToolResult) and not isinstance(part.content, str):
        images = (image for item in part.content if (image := image_of(item)))
        return next(images, None)
    if not isinstance(part, Media):
        return None
    mime, data = part.mime, part.data
    if not data and part.url and (address := _DATA_URL.match(part.url)):
        mime, data = address[1], part.url[address.end() :]
    if not data or mime not in _IMAGES or len(data) > _LARGEST_IMAGE or not _is_base64(data):
        return None
    return f"data:{mime};base64,{data}"


def _is_base64(data: str) -> bool:
    return data.isascii() and data.replace("+", "").replace("/", "").rstrip("=").isalnum()


# A JSON text -> the same on several lines: only white space between tokens changes, every token stays as it was
# written.


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
