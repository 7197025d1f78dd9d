"""Markdown -> blocks that the page draws as elements, text by text: nothing in them can become markup, a link or a picture that loads.

A block or a piece of a line is a list whose first item is its kind; a plain piece is a string. The page shows addresses as text.

  blocks   ["p", PIECES]  ["h", LEVEL, PIECES]  ["pre", LANGUAGE, TEXT]  ["quote", BLOCKS]  ["hr"]
           ["ul", [BLOCKS, ...]]  ["ol", START, [BLOCKS, ...]]  ["table", [[PIECES, ...], ...]]
  pieces   "text"  ["b", PIECES]  ["i", PIECES]  ["s", PIECES]  ["code", TEXT]  ["link", PIECES, ADDRESS]  ["image", TEXT, ADDRESS]

It is the common part of what models write, not all of CommonMark; what is not recognized stays as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeAlias

__all__ = ["Block", "Piece", "blocks_of"]

Block: TypeAlias = list[Any]
Piece: TypeAlias = str | list[Any]

_LONGEST = 20_000
_DEEPEST = 6
_MARKED = re.compile(r"[*_`#>|~\[-]|^\s*\d+[.)]", re.MULTILINE)
"""What every construct has at least one of."""
_FENCE = re.compile(r"( {0,3})(`{3,}|~{3,})([^`]*)$")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")
_ITEM = re.compile(r"( {0,8})([-*+]|\d{1,9}[.)])([ \t]+|$)")
_QUOTE = re.compile(r" {0,3}> ?")
_CELLS = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")


def blocks_of(text: str) -> list[Block] | None:
    """The blocks of a text; None if it has no markup, so that it is shown as it is."""
    if not _MARKED.search(text):
        return None
    blocks = _blocks(text[:_LONGEST].split("\n"), 0)
    return None if all(block[0] == "p" and _is_plain(block[1]) for block in blocks) else blocks


def _is_plain(pieces: list[Piece]) -> bool:
    return all(isinstance(piece, str) for piece in pieces)


class _Lines:
    """Lines that are read one after the other."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.at = 0

    @property
    def is_over(self) -> bool:
        return self.at >= len(self.lines)

    @property
    def line(self) -> str:
        return self.lines[self.at]

    def peek(self) -> str:
        return self.lines[self.at + 1] if self.at + 1 < len(self.lines) else ""


def _blocks(given: Sequence[str], depth: int) -> list[Block]:
    lines = _Lines(given)
    blocks: list[Block] = []
    while not lines.is_over:
        line = lines.line
        if not line.strip():
            lines.at += 1
        elif fence := _FENCE.match(line):
            blocks.append(_fenced(lines, fence))
        elif heading := _HEADING.match(line):
            blocks.append(["h", len(heading[1]), _pieces((heading[2] or "").strip())])
            lines.at += 1
        elif _RULE.match(line):
            blocks.append(["hr"])
            lines.at += 1
        elif depth < _DEEPEST and _QUOTE.match(line):
            blocks.append(_quoted(lines, depth))
        elif depth < _DEEPEST and (item := _ITEM.match(line)):
            blocks.append(_list(lines, item, depth))
        elif "|" in line and "-" in lines.peek() and _CELLS.match(lines.peek()):
            blocks.append(_table(lines))
        else:
            blocks.append(_paragraph(lines))
    return blocks


def _fenced(lines: _Lines, fence: re.Match[str]) -> Block:
    mark, language = fence[2], fence[3].strip()
    indent = len(fence[1])
    code: list[str] = []
    lines.at += 1
    while not lines.is_over:
        line = lines.line
        lines.at += 1
        end = line.strip()
        if end.startswith(mark) and not end.strip(mark[0]):
            break
        code.append(line[min(indent, len(line) - len(line.lstrip(" "))) :])
    return ["pre", language, "\n".join(code)]


def _quoted(lines: _Lines, depth: int) -> Block:
    inside: list[str] = []
    while not lines.is_over and (mark := _QUOTE.match(lines.line)):
        inside.append(lines.line[mark.end() :])
        lines.at += 1
    return ["quote", _blocks(inside, depth + 1)]


def _list(lines: _Lines, first: re.Match[str], depth: int) -> Block:
    is_ordered = first[2][0].isdigit()
    items: list[list[Block]] = []
    while not lines.is_over:
        item = _ITEM.match(lines.line)
        if not item or item[2][0].isdigit() != is_ordered or _RULE.match(lines.line):
            break
        items.append(_blocks(_item_lines(lines, item), depth + 1))
    return ["ol", int(first[2][:-1]), items] if is_ordered else ["ul", items]


def _item_lines(lines: _Lines, item: re.Match[str]) -> list[str]:
    """The lines of an item: its own, and those that are indented below it."""
    indent = len(item[1])
    inside = [lines.line[item.end() :]]
    lines.at += 1
    while not lines.is_over:
        line = lines.line
        own = len(line) - len(line.lstrip(" "))
        if not line.strip():
            following = lines.peek()
            if not following.strip() or len(following) - len(following.lstrip(" ")) <= indent:
                break
        elif own <= indent and (_ITEM.match(line) or inside[-1] == "" or _starts(line)):
            break
        inside.append(line[min(own, indent + 2) :] if own > indent else line)
        lines.at += 1
    while not lines.is_over and not lines.line.strip() and _ITEM.match(lines.peek()):
        lines.at += 1  # white space between items
    return inside


def _starts(line: str) -> bool:
    """Whether a line ends the paragraph before it."""
    return bool(
        _FENCE.match(line)
        or _HEADING.match(line)
        or _RULE.match(line)
        or _QUOTE.match(line)
        or _ITEM.match(line)
    )


def _table(lines: _Lines) -> Block:
    rows = [_cells(lines.line)]
    lines.at += 2
    while not lines.is_over and "|" in lines.line and lines.line.strip():
        rows.append(_cells(lines.line))
        lines.at += 1
    width = max(map(len, rows))
    return ["table", [row + [[]] * (width - len(row)) for row in rows]]


def _cells(line: str) -> list[list[Piece]]:
    cells = line.strip().removeprefix("|").removesuffix("|").split("|")
    return [_pieces(cell.strip()) for cell in cells]


def _paragraph(lines: _Lines) -> Block:
    words = [lines.line]
    lines.at += 1
    while not lines.is_over and lines.line.strip() and not _starts(lines.line):
        if "|" in lines.line and _CELLS.match(lines.peek()) and "-" in lines.peek():
            break
        words.append(lines.line)
        lines.at += 1
    return ["p", _pieces("\n".join(line.strip() for line in words))]


# ---- A line -> its pieces. The first mark that has an end counts; a mark without one is text.


_PIECE = re.compile(
    r"(?P<ticks>`+)"
    r"|(?P<image>!)?\[(?P<words>[^\[\]\n]{0,500})\]\((?P<address>[^()\s]{0,2000})(?:\s+\"[^\"\n]{0,200}\")?\)"
    r"|<(?P<bare>https?://[^<>\s]{1,2000})>"
    r"|(?P<strong>\*\*|__)(?=\S)"
    r"|(?P<strike>~~)(?=\S)"
    r"|(?P<stress>[*_])(?=\S)"
    r"|\\(?P<literal>[\\`*_{}\[\]()#+.!|~>-])"
)
_MOST_FAILURES = 100
"""Marks without an end in one text; each is searched for, so that more of them would take long."""
_KINDS = {"strong": "b", "strike": "s", "stress": "i"}


def _pieces(text: str, depth: int = 0) -> list[Piece]:
    pieces: list[Piece] = []
    at = start = failures = 0
    while depth < _DEEPEST and failures < _MOST_FAILURES and (mark := _PIECE.search(text, at)):
        piece, end = _piece(text, mark, depth)
        if piece is None:
            at = end
            failures += 1
            continue
        pieces += [text[start : mark.start()]] if mark.start() > start else []
        pieces.append(piece)
        at = start = end
    pieces += [text[start:]] if start < len(text) else []
    return pieces


def _piece(text: str, mark: re.Match[str], depth: int) -> tuple[Piece | None, int]:
    """The piece at a mark, and where it ends; None for a mark that is only text."""
    piece: Piece | None = None
    end = mark.end()
    if ticks := mark["ticks"]:
        closing = _closing_ticks(text, mark.end(), ticks)
        if closing >= 0:
            piece, end = ["code", text[mark.end() : closing].strip() or " "], closing + len(ticks)
    elif mark["literal"]:
        piece = mark["literal"]
    elif mark["bare"]:
        piece = ["link", [mark["bare"]], mark["bare"]]
    elif mark["image"]:
        piece = ["image", mark["words"], mark["address"]]
    elif mark["words"] is not None:
        piece = ["link", _pieces(mark["words"], depth + 1), mark["address"]]
    else:
        name = next(name for name in _KINDS if mark[name])
        closing = _closing(text, mark, mark[name])
        if closing >= 0:
            inside = _pieces(text[mark.end() : closing], depth + 1)
            piece, end = [_KINDS[name], inside], closing + len(mark[name])
    return piece, end


def _closing_ticks(text: str, at: int, ticks: str) -> int:
    while (end := text.find(ticks, at)) >= 0:
        after = end + len(ticks)
        if text[end - 1] != "`" and text[after : after + 1] != "`":
            return end
        at = after
        while text[at : at + 1] == "`":
            at += 1
    return -1


def _closing(text: str, mark: re.Match[str], sign: str) -> int:
    """Where a stress ends; -1 if it does not. An underscore inside a word is none."""
    before = text[mark.start() - 1 : mark.start()]
    if sign[0] == "_" and before.isalnum():
        return -1
    at = mark.end() + 1
    limit = min(len(text), mark.end() + 2000)
    while (end := text.find(sign, at, limit)) >= 0:
        after = text[end + len(sign) : end + len(sign) + 1]
        is_longer = len(sign) == 1 and (after == sign or text[end - 1] == sign)
        is_inside = sign[0] == "_" and after.isalnum()
        if not text[end - 1].isspace() and not is_longer and not is_inside:
            is_double = len(sign) == 2 and after == text[mark.end()] == sign[0]  # ***both***
            return end + is_double
        at = end + (2 if is_longer else 1)
    return -1
