"""The places of reasoning and text in the deltas of chat, by the block that a part came in.

Most have a field each. OpenRouter's `reasoning_details` are sent as fragments under their index, a signature in a last one without text, and
their text once more in `reasoning`. Mistral and some chat hosts send chunks in a list; one that has more than its text is sent whole.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from innervoice.canon.parts import Opaque, Part, Text, Thinking
from innervoice.wire.chat.reasoning import DETAILS, TEXTS
from innervoice.wire.json_access import as_dict

__all__ = ["Chunk", "Field", "Shape", "WholeChunk", "WholeDetails", "nothing_of", "shape_of"]

_SEALS = ("signature", "data")


class Shape(ABC):
    """How the pieces of one part are written."""

    runs_together: ClassVar[bool] = False
    """Whether parts of this shape are one text on the wire."""

    @abstractmethod
    def add(self, text: str) -> dict[str, Any] | None:
        """The delta of a piece; None if it is written later."""

    def end(self, part: Part, block: dict[str, Any] | None) -> dict[str, Any] | None:
        """The delta that ends the part; None if nothing is left to write."""
        return None


class Field(Shape):
    """A member of the delta, or several with the same text."""

    runs_together: ClassVar[bool] = True

    def __init__(self, *names: str) -> None:
        self.names = names

    def add(self, text: str) -> dict[str, Any]:
        return dict.fromkeys(self.names, text)

    def end(self, part: Part, block: dict[str, Any] | None) -> dict[str, Any] | None:
        """The entry of the details for the final part, if it has a seal."""
        entry = as_dict(block) if isinstance(part, Thinking) else {}
        is_sealed = any(entry.get(name) for name in _SEALS)
        return {"content": "", "reasoning": None, DETAILS: [entry]} if is_sealed else None


class _Details(Shape):
    """An entry of the details that has an index."""

    def __init__(self, entry: dict[str, Any]) -> None:
        self._shared = {
            name: value for name, value in entry.items() if name not in ("text", "summary", *_SEALS)
        }
        self._member = "summary" if entry.get("type") == "reasoning.summary" else "text"

    def add(self, text: str) -> dict[str, Any] | None:
        fragment = {**self._shared, self._member: text}
        return {"content": "", "reasoning": text, DETAILS: [fragment]}

    def end(self, part: Part, block: dict[str, Any] | None) -> dict[str, Any] | None:
        entry = as_dict(block)
        sealed = {name: entry[name] for name in _SEALS if name in entry}
        fragments = [{**self._shared, **sealed}] if sealed else []
        unsealed = {name: value for name, value in entry.items() if name not in sealed}
        if not getattr(part, "text", "") and (not sealed or unsealed != self._shared):
            fragments.insert(0, unsealed)
        return {"content": "", "reasoning": None, DETAILS: fragments} if fragments else None


class WholeDetails(Shape):
    """An entry without an index: its fragments could not be assigned to it, so neighbours are sent in one delta."""

    def add(self, text: str) -> dict[str, Any] | None:
        return None

    def end(self, part: Part, block: dict[str, Any] | None) -> dict[str, Any] | None:
        text = getattr(part, "text", "") or None
        return {"content": "", "reasoning": text, DETAILS: [block]}


class WholeChunk(Shape):
    """A chunk of the content that has more than its text."""

    def add(self, text: str) -> dict[str, Any] | None:
        return None

    def end(self, part: Part, block: dict[str, Any] | None) -> dict[str, Any] | None:
        return {"content": [block]}


class Chunk(Shape):
    """Reasoning as chunks of the content, in pieces."""

    def add(self, text: str) -> dict[str, Any]:
        inner = [{"type": "text", "text": text}]
        return {"content": [{"type": "thinking", "thinking": inner, "closed": True}]}

    def end(self, part: Part, block: dict[str, Any] | None) -> dict[str, Any] | None:
        signature = as_dict(block).get("signature")
        sealed: dict[str, Any] = {"type": "thinking", "thinking": [], "signature": signature}
        return {"content": [sealed]} if signature else None


def shape_of(part: Part, block: dict[str, Any] | None, usual: Shape) -> Shape:
    """The place of a part by its own block; `usual` for one without."""
    value = part.value if isinstance(part, Opaque) else block
    kind = value.get("type") if isinstance(value, dict) else None
    match part:
        case Text() if kind == "refusal":
            return Field("refusal")
        case Text():
            return WholeChunk() if kind in ("text", "output_text") else Field("content")
        case Thinking() if kind in ("thinking", "reasoning"):
            return WholeChunk()
        case Thinking() | Opaque() if block and _is_detail(block):
            return _Details(block) if isinstance(block.get("index"), (int, str)) else WholeDetails()
        case Thinking() if names := [name for name in block or () if name in TEXTS]:
            return Field(*names)
        case Thinking():
            return usual
        case _:
            return WholeChunk()


def _is_detail(block: dict[str, Any]) -> bool:
    return str(block.get("type", "")).startswith("reasoning.") or bool(
        {"data", "text", "summary", "signature"} & block.keys()
    )


def nothing_of(chunk: dict[str, Any]) -> dict[str, Any]:
    """A chunk that continues one and adds nothing; an empty one where none can."""
    match chunk:
        case {"type": "text" | "output_text"}:
            return {"type": "text", "text": ""}
        case {"type": "thinking", "thinking": inner}:
            return {"type": "thinking", "thinking": "" if isinstance(inner, str) else []}
        case _:
            return {}
