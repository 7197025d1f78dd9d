"""Events -> the answer or the reasoning as pieces of plain text, in the order of their parts.

A piece that was yielded cannot be taken back, so a view follows a `Recast` only where it adds to the earlier pieces. With a
settled place (`inline/marks.py`) a view yields nothing after it, so nothing that a `Recast` could change.

Joined, the pieces are the view of the same name of the whole response. Where reasoning was cut out of the text, white
space next to the cut may differ: the whole view knows what follows, and this one does not.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Literal, TypeAlias

from innervoice.canon.events import Event, Finish, Recast
from innervoice.canon.parts import Part, Thinking, is_inline
from innervoice.folding import FoldedPart, PartFolder, content_of
from innervoice.inline.marks import SettledPlace

__all__ = ["Kind", "View"]

Kind: TypeAlias = Literal["text", "thinking"]


class _ViewedPart(FoldedPart):
    """A part, how much of its text was yielded, and, in `pieces`, the text that was not."""

    __slots__ = ("given", "given_length", "length", "shown")

    def __init__(self, kind: Kind, part: Part) -> None:
        super().__init__(part)
        self.shown = part.type == kind
        self.given: list[str] = []
        self.given_length = 0
        self.length = 0
        self.add(content_of(part))

    @property
    def inline(self) -> bool:
        """Whether it is reasoning that was cut out of the text."""
        return isinstance(self.part, Thinking) and is_inline(self.part)

    def add(self, text: str) -> None:
        if self.shown:
            self.pieces.append(text)
            self.length += len(text)

    def end(self, part: Part) -> None:
        self.part, self.is_open = part, False

    def take(self, most: int) -> str:
        """The text up to this character that was not yielded yet."""
        if most <= self.given_length:
            return ""
        text = "".join(self.pieces)
        self.pieces.clear()
        count = most - self.given_length
        if count < len(text):
            self.pieces.append(text[count:])
            text = text[:count]
        self.given.append(text)
        self.given_length += len(text)
        return text


class View:
    """Reads events and returns the new pieces of one kind of text."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._folder = PartFolder(partial(_ViewedPart, kind))
        self._position = 0
        self._between = ""  # separator between what was sent out and the next piece
        self._head = ""  # white space before anything else, which may yet go
        self._cut = False  # reasoning was cut out before anything else
        self._last = ""
        self._over = False

    def feed(self, events: Iterable[Event], bound: SettledPlace | None = None) -> list[str]:
        """The pieces that these events add, up to a bound."""
        for event in events:
            match event:
                case Recast():
                    self._recast(event)
                case Finish():
                    bound, self._over = None, True
                case _:
                    self._folder.feed(event)
        pieces = [piece for piece in self._pieces(bound) if piece]
        if self._over and not self._last and not self._cut and self._kind == "text":
            pieces.append(self._head)  # an answer of nothing but white space
        return pieces

    def _recast(self, event: Recast) -> None:
        """Replaces the parts from one on; text of the old ones that was yielded counts as yielded where the new ones begin the same."""
        old, new = self._folder.recast(event)
        passed = "".join("".join(viewed.given) for viewed in old)
        text = "".join("".join(viewed.pieces) for viewed in new)
        same = len(passed) if text.startswith(passed) else _shared(passed, text)
        for viewed in new:
            same -= len(viewed.take(min(same, viewed.length)))
        self._position = min(self._position, event.index)

    # ---- yielding ------------------------------------------------------------------------------

    def _pieces(self, bound: SettledPlace | None) -> Iterable[str]:
        while self._position < len(self._folder.parts):
            viewed = self._folder.parts[self._position]
            last = bound is not None and self._position >= bound[0]
            if viewed.shown:
                most = viewed.length
                if bound is not None and last:
                    most = min(most, bound[1] if self._position == bound[0] else 0)
                yield self._joined(viewed, viewed.take(most))
            if last or (viewed.shown and viewed.is_open and not self._over):
                return
            self._pass(viewed)
            self._position += 1

    def _pass(self, viewed: _ViewedPart) -> None:
        """Moves past a part."""
        if self._kind == "thinking":
            self._between, self._head = "\n\n", ""
        elif not viewed.shown:
            self._between = " " if viewed.inline and self._between != "\n\n" else "\n\n"
            self._cut = self._cut or viewed.inline

    def _joined(self, viewed: _ViewedPart, text: str) -> str:
        """A piece with the separator between it and the previous one."""
        if not text:
            if viewed.given:
                self._between = ""
            return ""
        if not self._last:
            return self._first(text)
        if self._kind == "thinking" and self._between:
            # A part of only white space is not reasoning.
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
        """The start of the view: white space is held back until other characters follow it."""
        text = self._head + text
        body = text.lstrip()
        if not body:
            self._head = text
            return ""
        self._head, self._between, self._last = "", "", text[-1]
        if not self._cut:
            return text
        # After a cut only the indentation of the first line stays.
        indentation = text[: len(text) - len(body)].rpartition("\n")
        return indentation[2] + body if indentation[1] else body


def _shared(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low
