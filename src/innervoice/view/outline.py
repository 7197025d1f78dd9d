"""All rows of a conversation in brief: what they are, how large they are, and the prompts that they answer.

The page draws it beside the text, moves by it, and finds the next thought in it, in rows that it has not fetched. So it is small: a letter and a
digit for each row.

  U   the head of a turn of the user      t   a thought        r   a result
  H   the head of another turn            x   a text           e   an error, of a tool or instead of an answer
  A   a folded text of the program        c   a call           m   anything else
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from math import log2

from innervoice.canon.parts import Media, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from innervoice.show.policy import counted
from innervoice.show.visible import one_line
from innervoice.sources.conversation import Turn
from innervoice.view.part_view import is_reasoning
from innervoice.view.row_types import Chapter, Fact, Outline, dollars, fact
from innervoice.view.rows import Timeline, is_aside, is_own_prompt
from innervoice.view.totals import Prices

__all__ = ["outline_of"]

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_TITLE = 120


def outline_of(timeline: Timeline) -> Outline:
    """The outline of a conversation."""
    kinds: list[str] = []
    sizes: list[str] = []
    chapters: list[_ChapterSum] = []
    prices = Prices()
    turns = timeline.conversation.turns
    ends = [*timeline.heads[1:], len(timeline)]
    for turn, head, end in zip(turns, timeline.heads, ends, strict=True):
        letters = "".join(_letters(turn))
        kinds.append(letters + "e" * (end - head - len(letters)))  # a remark
        sizes.append("0" + "".join(map(_digit, turn.message.parts)))
        sizes.append("0" * (end - head - 1 - len(turn.message.parts)))
        if letters[0] == "U":
            chapters.append(_ChapterSum(head, _words(turn)))
        if chapters:
            chapters[-1].add(turn, kinds[-1], prices)
    return Outline(
        kinds="".join(kinds),
        sizes="".join(sizes),
        chapters=[chapter.drawn() for chapter in chapters],
    )


class _ChapterSum:
    """A prompt, and what was added up since."""

    def __init__(self, n: int, title: str) -> None:
        self._n, self._title = n, title
        self._steps = self._thoughts = self._errors = 0
        self._cost = Decimal()

    def add(self, turn: Turn, letters: str, prices: Prices) -> None:
        self._steps += turn.message.role == "assistant"
        self._thoughts += letters.count("t")
        self._errors += letters.count("e")
        cost = prices.of(turn.answer) if turn.answer else None
        self._cost += cost.total if cost else 0

    def drawn(self) -> Chapter:
        return Chapter(n=self._n, title=self._title, facts=list(self._facts()))

    def _facts(self) -> Iterator[Fact]:
        if self._steps:
            yield fact(counted(self._steps, "step"))
        if self._thoughts:
            yield fact(counted(self._thoughts, "thought"))
        if self._errors:
            yield fact(counted(self._errors, "error"), tone="bad")
        if self._cost:
            yield fact(dollars(self._cost))


def _letters(turn: Turn) -> Iterator[str]:
    yield "U" if is_own_prompt(turn) else "H"
    for part in turn.message.parts:
        yield "e" if "api_error" in turn.marks else _letter(turn, part)


def _letter(turn: Turn, part: Part) -> str:
    match part:
        case ToolCall():
            return "c"
        case ToolResult():
            return "e" if part.error else "r"
        case Text():
            return "A" if is_aside(turn, part) else "x"
        case _:
            return "t" if is_reasoning(part) else "m"


def _digit(part: Part) -> str:
    return _DIGITS[min(len(_DIGITS) - 1, int(1.6 * log2(1 + _size(part))))]


def _size(part: Part) -> int:
    match part:
        case Text() | Thinking():
            return len(part.text)
        case ToolCall():
            return len(part.arguments)
        case ToolResult():
            content = part.content
            return len(content) if isinstance(content, str) else sum(map(_size, content))
        case Media():
            return len(part.data or "")
        case Opaque():
            return 100


def _words(turn: Turn) -> str:
    own = [
        part.text
        for part in turn.message.parts
        if isinstance(part, Text) and not is_aside(turn, part)
    ]
    text = " ".join(own).strip()[: 8 * _TITLE]
    return one_line(text.partition("\n")[0], _TITLE) if text else "a file"
