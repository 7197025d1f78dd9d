"""What is known about data before it is read: its files, its layout, its markup, and the columns that are passed on."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from innervoice.bulk.answers import answers_in
from innervoice.bulk.fast_split import TextSplitter
from innervoice.bulk.files import STANDARD_INPUT, InputFile, input_files
from innervoice.bulk.kinds import find_layout, layout_text
from innervoice.bulk.layouts import SAMPLE_ROWS, Layout, ReadOptions
from innervoice.bulk.reading import as_sessions, sample_of, trouble_in
from innervoice.bulk.rows import kept_names
from innervoice.bulk.table import Table
from innervoice.canon.parts import Thinking
from innervoice.errors import UsageError
from innervoice.inline.formats import DEFAULT_TAGS, ROWS, Format
from innervoice.inline.machine import SplitMachine
from innervoice.inline.vocabulary import vocabulary

__all__ = ["Finding", "FoundMarkup", "find", "find_markup"]


class Finding(NamedTuple):
    """What was found in a sample."""

    files: list[InputFile]
    layout: Layout
    markup: FoundMarkup
    rows: int
    """How many rows were examined."""
    columns: list[str]
    passed_on: dict[str, str]
    """The columns of the rows that are passed on, and their names in the result."""
    fields: int
    """How many answers of the sample have reasoning in a separate field or column."""

    @property
    def size(self) -> int | None:
        """The bytes of all files, if known."""
        sizes = [file.size for file in self.files]
        return None if None in sizes else sum(size or 0 for size in sizes)

    def __str__(self) -> str:
        """In words, for people."""
        lines = [
            f"layout: {layout_text(self.layout)} (found in {self.rows:,} rows)",
            f"markup: {self.markup}",
        ]
        if self.fields:
            lines.append(f"reasoning in a separate field: {self.fields:,} answers")
        if self.passed_on:
            lines.append(f"passed on: {', '.join(_renamed(self.passed_on))}")
        return "\n".join(lines)


def _renamed(columns: dict[str, str]) -> Iterable[str]:
    return (old if old == new else f"{old} as {new}" for old, new in columns.items())


def find(
    paths: Iterable[str | os.PathLike[str]] | str | os.PathLike[str], options: ReadOptions
) -> Finding:
    """Examines a sample of the files; raises `UsageError` if there are none, or their layout is unknown."""
    files = input_files([paths] if isinstance(paths, (str, os.PathLike)) else paths)
    sample = sample_of(files, SAMPLE_ROWS)
    try:
        finding = find_in(files, sample, options)
    except UsageError:
        is_said = (
            options.messages
            or options.generations
            or options.text
            or options.answer
            or options.reasoning
        )
        sessions = None if is_said else as_sessions(files, any_source=True)
        if not sessions:
            raise
        return _of_sessions(sessions)
    # A line of a session log may look like an API's answer, and one of its members like a text.
    is_guess = finding.layout.kind == "answers" or (
        finding.layout.kind == "text" and not (options.text or options.answer)
    )
    sessions = as_sessions(files) if is_guess else None
    return _of_sessions(sessions) if sessions else finding


def _of_sessions(files: list[InputFile]) -> Finding:
    return Finding(files, Layout(kind="sessions", id="id"), FoundMarkup(0, {}, {}), 0, [], {}, 0)


def find_in(
    files: list[InputFile], sample: Sequence[dict[str, Any]], options: ReadOptions
) -> Finding:
    """What is found in this sample."""
    TextSplitter(
        options.model, options.prefix_open, options.markup or ()
    )  # wrong hints are reported before anything is done
    if not sample:
        trouble = trouble_in(files)
        raise UsageError(
            f"no row could be read; {trouble}" if trouble else "the files have no rows"
        )
    layout = find_layout(sample, options)
    table = Table.of_rows(files[0].path if files else STANDARD_INPUT, list(sample))
    answers = [answer for answer in answers_in(table, layout) if answer.response is None]
    texts = [answer.text for answer in answers if answer.text]
    columns = list(table.columns)
    passed_on = kept_names(columns, layout, options)
    markup = find_markup(texts)
    if options.markup is not None:
        markup = markup._replace(rows=dict.fromkeys(options.markup, 0))
    fields = sum(bool(answer.reasoning) for answer in answers)
    return Finding(files, layout, markup, len(sample), columns, passed_on, fields)


# Which markup occurs in the texts of a sample: only that is searched for, because all of it would cost three times as
# much and find too much.
#
# The usual tags are always on. A format with special tokens is on if it marks complete reasoning in one text. Tags that are plain words
# (`<plan>`) must begin a text, in one of twenty; wrappers of answers (`<answer>`) must be around at least half of them.


_LONGEST = 32_000  # characters of a text that are examined
_TEXTS_FOR_WORDS = 20
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
    return FoundMarkup(len(looked_at), dict(tags.most_common()), rows)


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
    return [
        (next((one for one in _RARE if one in literal), literal[0]), literal)
        for literal in literals
    ]


_HOLE = re.compile(r"\{\w+\}")
_RARE = "◁▷|[_"


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
