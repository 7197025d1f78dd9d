"""An answer that grows, in a request log: the steps of a stream, coalesced, and back.

A step is an event in its plain form. The end of a text does not repeat the text: its pieces are there. The last two words wait for the next
piece, so that a key that arrives in several pieces is still recognized, and so is a key after its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from innervoice.canon.events import (
    Event,
    PartEnd,
    PartStart,
    Recast,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
)
from innervoice.canon.parts import Part, Text, Thinking
from innervoice.canon.storage import plain_form, value_from
from innervoice.errors import DecodeError, InnervoiceError
from innervoice.folding import FoldedPart, PartFolder
from innervoice.sources.request_records import MOST_FILLED, Keeper, with_fillers

__all__ = ["GrowthWriter", "parts_so_far"]

_LONGEST_WORDS = 512
_LONGEST = 8192
_LAST_WORDS = re.compile(r"(?:\S+\s+){0,2}\S*\Z")
_PEM_START, _PEM_END = "-----BEGIN ", "-----END "
_DELTAS = {TextDelta: ("text_delta", "text"), ThinkingDelta: ("thinking_delta", "text"), ToolCallDelta: ("tool_call_delta", "arguments")}  # fmt: skip
_MEMBERS = dict(_DELTAS.values())
_FACTS = ("form", "complete", "origin")
"""The members of the end of a text, besides the text."""


class GrowthWriter:
    """The steps of one answer."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._held: dict[int, tuple[str, str]] = {}
        """The words that may continue, by the number of the part."""
        self._seen: set[int] = set()

    def steps(self, events: Iterable[Event]) -> list[dict[str, Any]]:
        """The steps that these events add."""
        pieces: list[tuple[str, int, list[str]] | dict[str, Any]] = []
        for event in events:
            match event:
                case TextDelta() | ThinkingDelta() | ToolCallDelta():
                    name, member = _DELTAS[type(event)]
                    text = getattr(event, member)
                    last = pieces[-1] if pieces else None
                    if isinstance(last, tuple) and last[:2] == (name, event.index):
                        last[2].append(text)
                    else:
                        pieces.append((name, event.index, [text]))
                case PartStart() | PartEnd() | Recast():
                    pieces += self._step(event)
        return [made for piece in pieces if (made := self._written(piece))]

    def _step(self, event: PartStart | PartEnd | Recast) -> list[dict[str, Any]]:
        keep = self._keeper.part
        if isinstance(event, PartStart):
            made: dict[str, Any] = {"event": "part_start", "index": event.index, "type": event.type}
            return [{**made, "part": keep(event.part)} if event.part else made]
        if isinstance(event, Recast):
            parts = [keep(part) for part in event.parts]
            return [{"event": "recast", "index": event.index, "parts": parts}]
        return [{"event": "part_end", "index": event.index, "whole": event.part}]

    def _written(self, piece: tuple[str, int, list[str]] | dict[str, Any]) -> dict[str, Any] | None:
        if isinstance(piece, tuple):
            return self._delta(*piece)
        if piece["event"] == "recast":
            self._held.clear()
            self._seen.clear()
        if piece["event"] != "part_end":
            return piece
        index, part = piece["index"], piece.pop("whole")
        held = self._held.pop(index, None)
        kept = self._keeper.part(part)
        if index not in self._seen or not isinstance(part, (Text, Thinking)):
            return {**piece, "part": kept}
        rest = {"rest": self._keeper.text(held[1])} if held else {}
        facts = {name: kept[name] for name in _FACTS if name in kept}
        return {**piece, **rest, **facts}

    def _delta(self, name: str, index: int, texts: list[str]) -> dict[str, Any] | None:
        self._seen.add(index)
        _, before = self._held.pop(index, (name, ""))
        text = before + "".join(texts)
        end = _settled(text)
        if end < len(text):
            self._held[index] = (name, text[end:])
        if not end:
            return None
        return {"event": name, "index": index, _MEMBERS[name]: self._keeper.text(text[:end])}


def _settled(text: str) -> int:
    """How much of a text can be written: the rest may belong to a key."""
    window = max(0, len(text) - _LONGEST)
    begun = text.rfind(_PEM_START, window)
    if begun >= 0 and _PEM_END not in text[begun:]:
        return begun
    found = _LAST_WORDS.search(text, max(0, len(text) - _LONGEST_WORDS))
    return found.start() if found else len(text)


def parts_so_far(steps: Iterable[Any]) -> tuple[Part, ...]:
    """The parts of an answer that has no end yet; raises `DecodeError` for a value that is not a step."""
    folder = PartFolder(FoldedPart)
    try:
        for step in steps:
            _feed(folder, step)
        return tuple(folded.now() for folded in folder.parts)
    except (InnervoiceError, TypeError, ValueError, LookupError, AttributeError) as error:
        raise DecodeError(f"expected the steps of an answer: {error}") from None


def _feed(folder: PartFolder[FoldedPart], step: Any) -> None:
    if not isinstance(step, dict):
        raise DecodeError(f"expected the steps of an answer, not {type(step).__name__}")
    name = step.get("event")
    if name in _MEMBERS:
        folder.add(step["index"], _text(step[_MEMBERS[name]]))
    elif name != "part_end" or "part" in step:
        folder.feed(value_from(with_fillers(step)))
    else:
        index = step["index"]
        folder.add(index, _text(step.get("rest", "")))
        folded = folder.parts[index]
        told = {"complete": True, **{name: step[name] for name in _FACTS if name in step}}
        folded.end(value_from({**plain_form(folded.now()), **told}))


def _text(piece: Any) -> str:
    """A piece of a text, or dots where only its length was kept."""
    if isinstance(piece, int):
        return "·" * min(max(piece, 0), MOST_FILLED)
    if not isinstance(piece, str):
        raise DecodeError(f"expected a piece of a text, not {type(piece).__name__}")
    return piece
