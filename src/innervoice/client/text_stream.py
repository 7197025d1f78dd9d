"""Events -> the answer or the reasoning as pieces of plain text, in the order of their parts.

A piece that was given out cannot be taken back, so a view follows a `Recast` as far as it adds to what was given. Up to the
place that is settled (`inline/marks.py`) a view gives out nothing that could be recast.

Joined, the pieces are the view of the same name of the whole response. Where reasoning was cut out of the text, white
space beside the cut may differ: the whole view knows what follows, and this one does not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from innervoice.canon.events import (
    Event,
    Finish,
    PartEnd,
    PartStart,
    Recast,
    TextDelta,
    ThinkingDelta,
)
from innervoice.canon.parts import Part, Text, Thinking, is_inline
from innervoice.inline.marks import Place

__all__ = ["Kind", "View"]

Kind: TypeAlias = Literal["text", "thinking"]


class _Entry:
    """A part as it is known so far."""

    __slots__ = ("coming", "given", "given_length", "inline", "length", "open", "shown")

    def __init__(self, *, shown: bool) -> None:
        self.shown = shown  # whether it is of the kind that is looked at
        self.open = True
        self.inline = False
        self.given: list[str] = []
        self.given_length = 0
        self.coming: list[str] = []
        self.length = 0

    def add(self, text: str) -> None:
        self.coming.append(text)
        self.length += len(text)

    def take(self, most: int) -> str:
        """The text up to this character that was not given out yet."""
        if most <= self.given_length:
            return ""
        text = "".join(self.coming)
        self.coming.clear()
        count = most - self.given_length
        if count < len(text):
            self.coming.append(text[count:])
            text = text[:count]
        self.given.append(text)
        self.given_length += len(text)
        return text


class View:
    """Takes events and gives the new pieces of one kind of text."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._entries: list[_Entry] = []
        self._position = 0
        self._between = ""  # what goes between what was given out and what comes next
        self._head = ""  # white space before anything else, which may yet go
        self._cut = False  # reasoning was cut out before anything else
        self._last = ""
        self._over = False

    def feed(self, events: Iterable[Event], bound: Place | None = None) -> list[str]:
        """The pieces that these events add, up to a bound."""
        for event in events:
            match event:
                case TextDelta() | ThinkingDelta():
                    entry = self._entries[event.index]
                    if entry.shown:
                        entry.add(event.text)
                case PartStart():
                    self._entries.append(_Entry(shown=event.type == self._kind))
                case PartEnd():
                    self._end(self._entries[event.index], event.part)
                case Recast():
                    self._recast(event)
                case Finish():
                    bound, self._over = None, True
                    for entry in self._entries:
                        entry.open = False
                case _:
                    pass
        pieces = [piece for piece in self._pieces(bound) if piece]
        if self._over and not self._last and not self._cut and self._kind == "text":
            pieces.append(self._head)  # an answer of nothing but white space
        return pieces

    def _end(self, entry: _Entry, part: Part) -> None:
        entry.open = False
        entry.inline = isinstance(part, Thinking) and is_inline(part)

    def _recast(self, event: Recast) -> None:
        """Takes other parts from one on; what was given out of them counts as far as it is still so."""
        given = "".join("".join(entry.given) for entry in self._entries[event.index :])
        made = [self._made(part) for part in event.parts]
        text = "".join("".join(entry.coming) for entry in made)
        same = len(given) if text.startswith(given) else _shared(given, text)
        for entry in made:
            same -= len(entry.take(min(same, entry.length)))
        self._entries[event.index :] = made
        self._position = min(self._position, event.index)

    def _made(self, part: Part) -> _Entry:
        entry = _Entry(shown=part.type == self._kind)
        if entry.shown and isinstance(part, (Text, Thinking)):
            entry.add(part.text)
        self._end(entry, part)
        entry.open = not getattr(part, "complete", True)
        return entry

    # ---- giving out ----------------------------------------------------------------------------

    def _pieces(self, bound: Place | None) -> Iterable[str]:
        while self._position < len(self._entries):
            entry = self._entries[self._position]
            last = bound is not None and self._position >= bound[0]
            if entry.shown:
                most = entry.length
                if bound is not None and last:
                    most = min(most, bound[1] if self._position == bound[0] else 0)
                yield self._joined(entry, entry.take(most))
            if last or (entry.shown and entry.open):
                return
            self._pass(entry)
            self._position += 1

    def _pass(self, entry: _Entry) -> None:
        """Goes behind a part."""
        if self._kind == "thinking":
            self._between, self._head = "\n\n", ""
        elif not entry.shown:
            self._between = " " if entry.inline and self._between != "\n\n" else "\n\n"
            self._cut = self._cut or entry.inline

    def _joined(self, entry: _Entry, text: str) -> str:
        """A piece with what stands between it and the one before."""
        if not text:
            if entry.given:
                self._between = ""
            return ""
        if not self._last:
            return self._first(text)
        if self._kind == "thinking" and self._between:
            # A part of nothing but white space is no reasoning.
            text = self._head + text
            self._head = text if text.isspace() else ""
            if self._head:
                return ""
        between, self._between = self._between, ""
        if self._kind == "text" and between:
            touching = not self._last.isspace() and not text[0].isspace()
            if not touching or (between == " " and not text[0].isalnum()):
                between = ""
        self._last = text[-1]
        return between + text

    def _first(self, text: str) -> str:
        """The head of all: white space is kept until it is known what it stands before."""
        text = self._head + text
        body = text.lstrip()
        if not body:
            self._head = text
            return ""
        self._head, self._between, self._last = "", "", text[-1]
        if not self._cut:
            return text
        # Behind a cut only the indentation of the first line stays.
        indentation = text[: len(text) - len(body)].rpartition("\n")
        return indentation[2] + body if indentation[1] else body


def _shared(one: str, other: str) -> int:
    """How many characters two texts have in common at their head."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low
