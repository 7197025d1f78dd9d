"""A part while it is being written: its pieces so far, and the markup that was removed from it."""

from __future__ import annotations

from itertools import islice
from re import compile as compile_expression
from typing import Literal, TypeAlias

from innervoice.canon.origin import Markup, Origin, weave
from innervoice.canon.parts import Opaque, Part, Text, Thinking
from innervoice.canon.views import BLANKS, is_blank

__all__ = ["Draft", "DraftKind", "as_text", "as_thinking", "ended_at", "without_label"]

DraftKind: TypeAlias = Literal["text", "thinking", "opaque"]

_NONBLANK = compile_expression(f"[^{BLANKS}]")


class Draft:
    """An open part. Every operation costs time for the new text only, not for the existing text."""

    _length = 0
    _removed_at = 0
    _measured = 0  # how many of the pieces `_length` counts
    _read = 0  # how many of them `unread` returned
    _counted = 0  # how many of them `count_nonblank` counted

    def __init__(self, kind: DraftKind, index: int, origin: Origin | None = None) -> None:
        self.kind = kind
        self.index = index
        self._origin = origin
        self.pieces: list[str] = []
        self._markup: list[Markup] = []
        self._removed: list[str] = []  # the markup that was removed last, at one place

    def length(self) -> int:
        """The number of characters so far."""
        if self._measured < len(self.pieces):
            self._length += sum(map(len, self.pieces[self._measured :]))
            self._measured = len(self.pieces)
        return self._length

    def unread(self) -> str:
        """The text since the last call."""
        text = "".join(self.pieces[self._read :])
        self._read = len(self.pieces)
        return text

    def count_nonblank(self, most: int) -> int:
        """How many characters since the last call are not white space.

        Counting stops at `most`; after that it need not be called again.
        """
        count = 0
        for piece in self.pieces[self._counted :]:
            if count < most and not is_blank(piece):
                count += sum(1 for _ in islice(_NONBLANK.finditer(piece), most - count))
        self._counted = len(self.pieces)
        return count

    def remove(self, markup: str) -> None:
        """Records that this markup was here."""
        at = self.length()
        if self._removed and at != self._removed_at:
            self._markup.append(Markup(self._removed_at, "".join(self._removed)))
            self._removed.clear()
        self._removed_at = at
        self._removed.append(markup)

    def cut(self, at: int) -> str:
        """Removes and returns everything from this character on.

        All text before it was read and counted, and nothing was removed after it.
        """
        taken: list[str] = []
        rest = self.length() - at
        while rest > 0:
            piece = self.pieces.pop()
            if len(piece) > rest:
                self.pieces.append(piece[:-rest])
                piece = piece[-rest:]
            taken.append(piece)
            rest -= len(piece)
        self._length = at
        self._measured = self._read = self._counted = len(self.pieces)
        return "".join(reversed(taken))

    def tail(self, most: int) -> str:
        """The last characters after the last removed markup."""
        pieces: list[str] = []
        count = min(most, self.length() - self._removed_at)
        for piece in reversed(self.pieces):
            if count <= 0:
                break
            pieces.append(piece[-count:])
            count -= len(piece)
        return "".join(reversed(pieces))

    def is_blank(self) -> bool:
        """Whether there is only white space."""
        return all(map(is_blank, self.pieces))

    def part(self, *, complete: bool) -> Part:
        """The part so far."""
        text = "".join(self.pieces)
        last = [Markup(self._removed_at, "".join(self._removed))] if self._removed else []
        markup = (*self._markup, *last)
        match self.kind:
            case "text":
                origin = marked(self._origin, markup) if markup else self._origin
                return Text(text, complete, origin)
            case "thinking":
                return Thinking(text, complete=complete, origin=marked(self._origin, markup))
            case "opaque":
                value = {"type": "call_in_text", "header": markup[0].text, "text": text}
                return Opaque(value, complete, marked(self._origin, markup))


def marked(origin: Origin | None, markup: tuple[Markup, ...]) -> Origin:
    """The origin of a text's part from which markup was removed."""
    return origin.replace(markup=markup) if origin else Origin(markup=markup)


def as_thinking(parts: list[Part], closer: str, origin: Origin | None) -> Thinking:
    """One complete thinking part from adjacent text and thinking parts, closed by this tag."""
    pieces: list[str] = []
    markup: list[Markup] = []
    length = 0
    for part in parts:
        assert isinstance(part, (Text, Thinking))
        for removed in (part.origin.markup or ()) if part.origin else ():
            _add(markup, length + removed.at, removed.text)
        pieces.append(part.text)
        length += len(part.text)
    _add(markup, length, closer)
    return Thinking("".join(pieces), origin=marked(origin, tuple(markup)))


def ended_at(at: int, thinking: Part, origin: Origin | None) -> tuple[Thinking, Text]:
    """Thinking cut in two at this character: the part before it, and the rest as text, tags included."""
    assert isinstance(thinking, Thinking)
    assert thinking.origin is not None
    removed = thinking.origin.markup or ()
    before = tuple(mark for mark in removed if mark.at <= at)
    behind = tuple(Markup(mark.at - at, mark.text) for mark in removed if mark.at > at)
    rest = weave(thinking.text[at:], behind)
    return Thinking(thinking.text[:at], origin=marked(origin, before)), Text(rest, origin=origin)


def as_text(before: Part | None, thinking: Part, origin: Origin | None, *, label: bool) -> Text:
    """Thinking turned back into text, tags included, joined to the text before it.

    With `label` the markup was only a label, and stays removed.
    """
    assert isinstance(thinking, Thinking)
    assert thinking.origin is not None
    removed = thinking.origin.markup or ()
    text = thinking.text if label else weave(thinking.text, removed)
    markup = list(removed) if label else []
    if isinstance(before, Text):
        markup = [Markup(mark.at + len(before.text), mark.text) for mark in markup]
        markup = [*((before.origin.markup or ()) if before.origin else ()), *markup]
        text = before.text + text
    return Text(text, origin=marked(origin, tuple(markup)) if markup else origin)


def without_label(part: Part, at: int, label: str) -> Part:
    """A part of which a label at this character is removed."""
    assert isinstance(part, (Text, Thinking))
    removed = (part.origin.markup or ()) if part.origin else ()
    markup = [mark for mark in removed if mark.at <= at]
    _add(markup, at, label)
    for mark in removed:
        if mark.at > at:
            _add(markup, mark.at - len(label), mark.text)
    text = part.text[:at] + part.text[at + len(label) :]
    return part.replace(text=text, origin=marked(part.origin, tuple(markup)))


def _add(markup: list[Markup], at: int, text: str) -> None:
    """Adds removed markup, joined to the last if it was at the same position."""
    if markup and markup[-1].at == at:
        text = markup.pop().text + text
    markup.append(Markup(at, text))
