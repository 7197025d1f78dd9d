"""Which markup occurs in texts: found in a sample, and, for markup that no sample has, in each text that is left unsplit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from innervoice.bulk.fast_split import SplitText, TextSplitter
from innervoice.canon.parts import Thinking
from innervoice.canon.response import FinishReason, Response
from innervoice.inline.formats import DEFAULT_TAGS, ROWS, Format
from innervoice.inline.machine import SplitMachine
from innervoice.inline.vocabulary import rare_character, vocabulary

__all__ = [
    "Detected",
    "FileSplitter",
    "FoundMarkup",
    "detect",
    "find_markup",
    "markup_of_answers",
    "splitter_of",
]


# Which markup occurs in the texts of a sample: only that is searched for, because all of it would cost three times as
# much and find too much.
#
# The usual tags are always on. A format with special tokens is on if it marks complete reasoning in one text. Tags that are plain words
# (`<plan>`) must begin a text, in one of twenty; wrappers of answers (`<answer>`) must be around at least half of them.


_LONGEST = 32_000  # characters of a text that are examined
_TEXTS_FOR_WORDS = 20
_FEW = 3
_WRAPPERS = tuple(
    row.name for row in ROWS.values() if row.wrappers and not (row.opens or row.heads or row.closes)
)


class FoundMarkup(NamedTuple):
    """The markup in a sample of texts."""

    texts: int
    tags: dict[str, int]
    """The usual tags, and in how many texts each is the first."""
    rows: dict[str, int]
    """The rows of `inline/formats.py` that are switched on, and in how many texts each marks reasoning."""
    orphans: int = 0
    """How many texts end reasoning that they do not begin."""

    @property
    def begins_inside(self) -> bool:
        """Whether most texts begin inside reasoning: then short ones do, too."""
        return self.orphans >= _FEW and 2 * self.orphans > self.texts

    def __str__(self) -> str:
        """In words, for people."""
        counts = {**{f"<{name}>": count for name, count in self.tags.items()}, **self.rows}
        if not counts:
            return "none in the texts"
        return ", ".join(
            f"{name} ({count:,} of {self.texts:,} texts)" for name, count in counts.items()
        )


def find_markup(texts: Iterable[str]) -> FoundMarkup:
    """The markup of these texts."""
    looked_at = [
        text if len(text) <= _LONGEST else text[: _LONGEST - 4_000] + text[-4_000:]
        for text in texts
    ]
    usual = vocabulary(DEFAULT_TAGS)
    tags = Counter(match["name"].lower() for text in looked_at if (match := usual.find(text, 0)))
    rows = {name: count for name, row in ROWS.items() if (count := _count(row, looked_at))}
    splitter = TextSplitter(markup=rows)
    orphans = sum(map(splitter.ends_thought, looked_at))
    return FoundMarkup(len(looked_at), dict(tags.most_common()), rows, orphans)


def markup_of_answers(markup: FoundMarkup, responses: Sequence[Response]) -> FoundMarkup:
    """The markup with that of answers which were already split, as APIs send them."""
    splitter = TextSplitter(markup=tuple(ROWS))
    names = Counter(
        splitter.columns_of(response).markup
        for response in responses
        if any(note.code == "inline_thinking" for note in response.notes)
    )
    tags = Counter(markup.tags)
    tags.update({name or "think": count for name, count in names.items()})
    return markup._replace(texts=markup.texts + len(responses), tags=dict(tags.most_common()))


class Detected(NamedTuple):
    """What the texts of a file have in common."""

    markup: tuple[str, ...] = ()
    """Markup besides the usual tags."""
    begins_inside: bool = False
    """Whether texts that only end a thought began inside one."""


def detect(texts: Iterable[str | None]) -> Detected:
    """What a sample of texts has in common, as `innervoice bulk` finds it: for `split("text", detected=detect(sample))` in any engine."""
    markup = find_markup(text for text in texts if text)
    return Detected(tuple(markup.rows), markup.begins_inside)


class FileSplitter(TextSplitter):
    """Splits the texts of one file: what most of them have in common decides what one alone would leave open.

    With `searches`, a text that is left unsplit is searched for markup that is not switched on: a later part of a file may have another one.
    """

    def __init__(
        self,
        model: str | None = None,
        prefix_open: bool | None = None,
        detected: Detected | None = None,
        *,
        searches: bool = True,
    ) -> None:
        detected = detected or Detected()
        super().__init__(model, prefix_open, detected.markup)
        self._detected = detected
        self._searches = searches and prefix_open is None and model is None
        inside = detected.begins_inside and prefix_open is None
        self._inside = TextSplitter(model, True, detected.markup) if inside else None
        self.unsplit: Counter[str] = Counter()
        """Texts with markup that is switched off, by its name."""

    def split(self, text: str, finish: FinishReason | None = None) -> SplitText:
        """Splits a text."""
        split = super().split(text, finish)
        if split.reasoning is not None:
            return split
        if self._inside is not None and (self.ends_thought(text) or finish == "length"):
            inside = self._inside.columns_of(self._inside.response(text, finish))
            notes = dict.fromkeys(("orphan_closer", *inside.notes))
            return inside._replace(notes=tuple(notes)) if inside.reasoning is not None else split
        name = markup_in(text, self._detected.markup)
        if name is None:
            return split
        if not self._searches or ROWS[name].tags:
            self.unsplit[name] += 1
            return split
        return _with_markup(self._detected.markup, name).split(text, finish)


def splitter_of(
    texts: Iterable[str | None],
    model: str | None,
    prefix_open: bool | None,
    markup: Sequence[str] | None,
    detected: Detected | None,
) -> FileSplitter:
    """The splitter for these texts: by the markup that the caller names, by what was detected before, or else by what the texts have in common."""
    if markup is not None:
        return FileSplitter(model, prefix_open, Detected(tuple(markup)), searches=False)
    return FileSplitter(model, prefix_open, detected or detect(texts))


@lru_cache(maxsize=64)
def _with_markup(markup: tuple[str, ...], name: str) -> TextSplitter:
    return TextSplitter(markup=(*markup, name))


def markup_in(text: str, switched_on: Sequence[str]) -> str | None:
    """The markup besides the usual tags and that which is switched on that marks reasoning in a text."""
    for rare, rows in _by_character().items():
        if rare not in text:
            continue
        for needle, row in rows:
            if row.name in switched_on or needle not in text:
                continue
            if _begins_with_tag(row, text) if row.tags else _marks_reasoning(row, text):
                return row.name
    return None


@lru_cache(maxsize=1)
def _by_character() -> dict[str, list[tuple[str, Format]]]:
    """The needles of all markup of reasoning, by a rare character in them."""
    needles: dict[str, list[tuple[str, Format]]] = {}
    for row in ROWS.values():
        if row.name not in _WRAPPERS:
            for rare, needle in _needles(row):
                needles.setdefault(rare, []).append((needle, row))
    return needles


def _count(row: Format, texts: Sequence[str]) -> int:
    """In how many texts a row marks reasoning; 0 if that is not enough to switch it on."""
    needles = _needles(row)
    suspects = [
        text for text in texts if any(rare in text and needle in text for rare, needle in needles)
    ]
    if row.name in _WRAPPERS:
        count = sum(_is_wrapped(row, text) for text in suspects)
        return count if 2 * count >= len(texts) else 0
    if row.tags:
        count = sum(_begins_with_tag(row, text) for text in suspects)
        return count if count * _TEXTS_FOR_WORDS >= len(texts) else 0
    return sum(_marks_reasoning(row, text) for text in suspects)


def _needles(row: Format) -> list[tuple[str, str]]:
    """Strings of which a text with this markup contains some, each with a rare character of it: searching for that first is many times as fast."""
    if row.tags:
        return [("<", "<")]
    markers = [*row.opens, *row.headers, *row.wrappers, *row.heads, *row.closes]
    if row.bare_headers:
        # What is left between two channels without their tokens.
        markers += ["assistantfinal", "assistantanalysis", "assistantcommentary"]
    literals = {max(_HOLE.split(marker), key=len) for marker in markers}
    return [(rare_character(literal) or literal[0], literal) for literal in literals]


_HOLE = re.compile(r"\{\w+\}")


def _is_wrapped(row: Format, text: str) -> bool:
    """Whether the answer is between the wrappers."""
    opener, closer = row.wrappers[:2]
    _, separator, behind = text.partition(opener)
    before = text[: len(text) - len(behind) - len(opener)].rstrip() if separator else "-"
    return (not before or before.endswith(">")) and behind.rstrip().endswith(closer)


def _begins_with_tag(row: Format, text: str) -> bool:
    match = vocabulary(row.tags).find(text.lstrip()[:512], 0)
    return match is not None and not match.start() and match["name"].lower() not in DEFAULT_TAGS


def _marks_reasoning(row: Format, text: str) -> bool:
    words = vocabulary((), (row.name,))
    first = words.find(text, 0)
    if first is None:
        return False
    if not (row.opens or row.heads or row.headers):
        return True  # a closer that no other text has
    machine = SplitMachine(words)
    machine.feed(text)
    machine.finish()
    if any(note.code == "orphan_closer" for note in machine.notebook.notes()) and not row.channel:
        return False
    return any(isinstance(part, Thinking) and part.complete for part in machine.parts)
