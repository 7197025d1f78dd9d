"""A view -> Discord messages: reasoning behind a spoiler, then the answer.

Discord's limit is 2,000 code points in its API (github.com/discord/discord-api-docs/issues/1315, answered
by its staff) and 2,000 UTF-16 units in its clients and in JavaScript libraries. A text never has fewer
UTF-16 units than code points, so UTF-16 units are counted here.

Discord's parser, according to its open-source reimplementations: a spoiler ends at the first `||`, even
inside code or after a backslash, so every bar is escaped and no two are adjacent. Code begins at backticks
anywhere. A backslash hides a mention visually, but the server still notifies; a zero-width space after
the `@` prevents it.

Reasoning is literal. The answer keeps its markup except spoilers, masked links and mentions. A spoiler
never shares a message with an answer before it, because Discord might parse the code in that answer
differently than we do.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from innervoice.canon.value import Value
from innervoice.errors import UsageError
from innervoice.show.policy import Answer, Item, Policy, Showable, Thought, line_of, view_of
from innervoice.show.visible import visible

__all__ = ["LEAST", "LIMIT", "Code", "Packer", "Wrapper", "code_in", "render_discord"]

# ---- Text for Discord -> its code spans and code blocks, as Discord parses them.
#
# Three backticks begin a block anywhere, and the next three end it. One or two begin a span, which the same
# number ends. Inside code a backslash is an ordinary character.


_FENCE = "```"
_OPENER = re.compile(r"\\[^0-9A-Za-z\s]|`+")
_RUN = re.compile("`+")
_LANGUAGE = re.compile(r"[A-Za-z0-9_+\-.#]{0,30}\n")


class Code(NamedTuple):
    """A piece of code, and the text to put before and after each part of it."""

    start: int
    end: int
    opening: str
    body: str
    closing: str


def code_in(text: str) -> Iterator[Code]:
    """The code in order, including a block that the end of the text cuts off."""
    runs: dict[int, list[int]] = defaultdict(list)
    for run in _RUN.finditer(text):
        runs[len(run[0])].append(run.start())
    last_fence = text.rfind(_FENCE)
    position = 0
    while opener := _OPENER.search(text, position):
        position = opener.end()
        start, size = opener.start(), len(opener[0])
        if opener[0][0] == "\\":
            continue
        if size >= len(_FENCE):
            code = _block(text, start, is_closed=start + len(_FENCE) <= last_fence)
        else:
            code = _span(text, start, size, runs[size])
        if code is not None:
            yield code
            position = code.end


def _block(text: str, start: int, *, is_closed: bool) -> Code | None:
    begin = start + len(_FENCE)
    if not is_closed and start and text[start - 1] != "\n":
        return None
    closer = text.find(_FENCE, begin) if is_closed else len(text)
    language = _LANGUAGE.match(text, begin, closer)
    body = text[language.end() if language else begin : closer].removesuffix("\n")
    opening = language[0] if language else "\n"
    return Code(start, min(closer + len(_FENCE), len(text)), _FENCE + opening, body, f"\n{_FENCE}")


def _span(text: str, start: int, size: int, closers: list[int]) -> Code | None:
    place = bisect_left(closers, start + size)
    if place == len(closers):
        return None
    closer = closers[place]
    ticks = "`" * size
    return Code(start, closer + size, ticks, text[start + size : closer], ticks)


# ---- Sections of text, some of them wrapped -> messages of a limited size.
#
# A message that ends inside a wrapper closes it, and the next message opens it again. Text is split between
# lines if possible, else between words, else between characters, and never inside an escape.


LEAST = 120
"""The smallest limit: a message must have room for a short code span, or for a character in any wrapper."""

# Units that are not split: an escape, a silenced `@`, a code span, white space, a word.
_ATOM = re.compile(
    "\\\\[^0-9A-Za-z\\s]|@\N{ZERO WIDTH SPACE}|(`+)(?:[^`]|[^`].*?[^`])\\1(?!`)|\\s+|[^\\s\\\\@`]+|."
)


class Wrapper(Value, frozen=True):
    """The text before and after a section, in every message that has a piece of it."""

    opening: str = ""
    closing: str = ""
    must_not_precede: str = ""
    """A character that must not come right before `closing`; a space is put between them."""


class Packer:
    """Splits text into messages."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._messages: list[str] = []
        self._pieces: list[str] = []
        self._size = 0
        self._breaks = 0
        """Line feeds that are written once more text follows in the same message."""
        self._wrapper = Wrapper()
        self._is_open = False

    def add(self, text: str, wrapper: Wrapper) -> None:
        """Appends a section."""
        self._wrapper = wrapper
        first, *others = text.split("\n")
        self._add_line(first)
        for line in others:
            self._breaks += 1
            self._add_line(line)
        self._close()

    def end_line(self) -> None:
        """Starts the next section on a new line."""
        self._breaks = max(self._breaks, 1)

    def end_message(self) -> None:
        """Starts the next section in a new message."""
        self._close()
        if self._pieces:
            self._messages.append("".join(self._pieces))
        self._pieces.clear()
        self._size = 0
        self._breaks = 0

    def end(self) -> list[str]:
        """All messages."""
        self.end_message()
        return self._messages

    def _add_line(self, line: str) -> None:
        if not line or line.isspace():
            return
        if self._fits(line) or self._fits_alone(line):
            self._put(line)
            return
        for atom in _ATOM.finditer(line):
            for piece in [atom[0]] if self._fits_alone(atom[0]) else atom[0]:
                self._put(piece)

    def _put(self, piece: str) -> None:
        if not self._fits(piece):
            self.end_message()
        if not self._is_open:
            # Neither a message nor a wrapper begins with white space; it would be empty.
            if piece.isspace() and (self._wrapper.opening or not self._pieces):
                return
            self._append(self._due_breaks() + self._wrapper.opening)
            self._is_open = True
        else:
            self._append(self._due_breaks())
        self._breaks = 0
        self._append(piece)

    def _append(self, piece: str) -> None:
        if piece:
            self._pieces.append(piece)
            self._size += _units(piece)

    def _close(self) -> None:
        if self._is_open:
            guard = (
                " "
                if self._wrapper.must_not_precede
                and self._pieces[-1].endswith(self._wrapper.must_not_precede)
                else ""
            )
            self._append(guard + self._wrapper.closing)
        self._is_open = False

    def _due_breaks(self) -> str:
        return "\n" * self._breaks if self._pieces else ""

    def _fits(self, piece: str) -> bool:
        before = self._due_breaks() + ("" if self._is_open else self._wrapper.opening)
        return self._size + _units(before + piece) + self._reserve() <= self._limit

    def _fits_alone(self, piece: str) -> bool:
        return _units(self._wrapper.opening + piece) + self._reserve() <= self._limit

    def _reserve(self) -> int:
        return len(self._wrapper.closing) + len(self._wrapper.must_not_precede)


def _units(text: str) -> int:
    """The length in UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


# ---- messages

LIMIT = 2000

_BARE = Wrapper()
_SPOILER = Wrapper("||", "||", must_not_precede="|")
_LONG_SPAN = 80

_MENTION = re.compile(r"@(?=everyone|here|[!&]?\d+>)", re.IGNORECASE)
_SILENT = "@\N{ZERO WIDTH SPACE}"
_MARKUP = re.compile(r"[\\*_~`|<>\[\]]|:(?=//)|(?<![^\n])[ \t]*[#+\-]")
_MASK = re.compile(r"\\[^0-9A-Za-z\s]|[|\[\]`]")


def render_discord(value: Showable, show: Policy = "full", *, limit: int = LIMIT) -> list[str]:
    """The value as messages, none of them blank.

    :param value: A response, a message, or a list of them.
    :param show: How much of the reasoning: "full", "summary", "length" or "none".
    :param limit: The most UTF-16 units of a message.
    """
    if limit < LEAST:
        raise UsageError(f"limit must be {LEAST} or more, not {limit!r}")
    packer = Packer(limit)
    answered = False
    for turn in view_of(value, show):
        items = list(turn.items)
        if answered and items and _is_spoiler(items[0]):
            packer.end_message()
            answered = False
        if turn.role is not None:
            packer.add(f"**{turn.role}**\n", _BARE)
        for item in items:
            if answered and _is_spoiler(item):
                packer.end_message()
                answered = False
            answered = answered or isinstance(item, Answer)
            for text, wrapper in _stretches(item):
                packer.add(text, wrapper)
            packer.end_line()
    return packer.end()


def _is_spoiler(item: Item) -> bool:
    return isinstance(item, Thought) and bool(item.text)


def _stretches(item: Item) -> Iterator[tuple[str, Wrapper]]:
    match item:
        case Thought():
            yield f"-# {item.title}\n", _BARE
            yield _literal(visible(item.text).strip()), _SPOILER
        case Answer():
            yield from _answer(_MENTION.sub(_SILENT, visible(item.text).strip("\n")))
        case _:
            yield f"-# {_literal(line_of(item))}", _BARE


def _literal(text: str) -> str:
    """Clean text, escaped so that Discord shows exactly this text."""
    silent = _MENTION.sub(_SILENT, text)
    return _MARKUP.sub(lambda special: f"{special[0][:-1]}\\{special[0][-1]}", silent)


def _answer(text: str) -> Iterator[tuple[str, Wrapper]]:
    plain: list[str] = []
    position = 0
    for code in code_in(text):
        plain.append(_unmasked(text[position : code.start]))
        position = code.end
        if len(code.opening) < 3 and len(code.body) <= _LONG_SPAN and "\n" not in code.body:
            plain.append(text[code.start : code.end])
            continue
        yield "".join(plain), _BARE
        plain.clear()
        yield code.body, Wrapper(code.opening, code.closing)
    plain.append(_unmasked(text[position:]))
    yield "".join(plain), _BARE


def _unmasked(text: str) -> str:
    return _MASK.sub(lambda mask: mask[0] if len(mask[0]) > 1 else f"\\{mask[0]}", text)
