"""A request as its host would get it -> lines of JSON for people, with seals, ids that are seals, and files replaced by their size.

The seals are known from the parts of the conversation; members that hold seals in any dialect are replaced as well, for blocks that were
not read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from innervoice.canon.messages import Message
from innervoice.canon.parts import Media, Part, ToolResult
from innervoice.show.visible import visible
from innervoice.view.seals import sealed_values
from innervoice.view.wording import size

__all__ = ["request_lines"]

_SEALED_NAMES = re.compile(r"signature|encrypted|redacted", re.IGNORECASE)
_DATA_URL = re.compile(r"data:([\w.+/-]{0,80})[^,]{0,200},")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{400,}={0,2}")
_DEEPEST = 100


def request_lines(body: dict[str, Any], messages: Iterable[Message]) -> list[str]:
    """The body of a request as lines, without seals and files."""
    known: dict[str, str] = {}
    for message in messages:
        for part in message.parts:
            known.update(_placeholders(part))
    shown = _shown(body, known, sealed=False, depth=0)
    text = json.dumps(shown, indent=2, ensure_ascii=False, default=str)
    return visible(text).split("\n")


def _placeholders(part: Part) -> dict[str, str]:
    """Values of a part that must not be shown -> their replacements."""
    found: dict[str, str] = {}
    for path, value in sealed_values(part):
        for seal in _texts(value):
            word = "id" if path == "id" else "sealed"
            found[seal] = f"<{word}, {size(len(seal.encode('utf-8', 'surrogatepass')))}>"
    match part:
        case Media(data=str(data)) if data:
            found[data] = f"<{part.mime or 'data'}, {size(len(data) * 3 // 4)}>"
        case ToolResult(content=tuple(content)):
            for item in content:
                found.update(_placeholders(item))
    return found


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list, tuple)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _shown(value: Any, known: dict[str, str], *, sealed: bool, depth: int) -> Any:
    match value:
        case str():
            return _shown_text(value, known, sealed=sealed)
        case dict() | list() | tuple() if depth > _DEEPEST:
            return "<nested too deeply to show>"
        case dict():
            hides = _hides(value)
            return {
                str(name): _shown(
                    item,
                    known,
                    sealed=sealed
                    or bool(_SEALED_NAMES.search(str(name)))
                    or (hides and name == "data"),
                    depth=depth + 1,
                )
                for name, item in value.items()
            }
        case list() | tuple():
            return [_shown(item, known, sealed=sealed, depth=depth + 1) for item in value]
        case _:
            return value


def _hides(block: dict[str, Any]) -> bool:
    """Whether a block has its seal in a member that holds files in other blocks."""
    kind = block.get("type")
    return isinstance(kind, str) and bool(_SEALED_NAMES.search(kind))


def _shown_text(text: str, known: dict[str, str], *, sealed: bool) -> str:
    if text in known:
        return known[text]
    if sealed and text:
        return f"<sealed, {size(len(text.encode('utf-8', 'surrogatepass')))}>"
    if address := _DATA_URL.match(text):
        return f"<{address[1] or 'data'}, {size((len(text) - address.end()) * 3 // 4)}>"
    if _BASE64.fullmatch(text) and not text.isalpha():
        return f"<data, {size(len(text) * 3 // 4)}>"
    return text
