"""Prompts that are in a test set: found by runs of thirteen words that both have.

Runs that more than ten tasks of the test set share are its instructions, and say nothing of a single task. A task with fewer words than a run is
found only as a whole prompt, so that a short question inside another text is no alarm. Case and punctuation do not count.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from innervoice.bulk.files import input_files
from innervoice.bulk.leak import prompt_text
from innervoice.bulk.reading import pieces_of, tables_of
from innervoice.bulk.schema import Batch, Column, Step, column
from innervoice.bulk.table import Table
from innervoice.errors import UsageError

__all__ = ["contamination"]

_ADDS = {
    "contaminated_by": Column("string", "The task of the test set that most of the prompt's runs of words are in: file and row; null if there is none."),
    "contamination": Column("double", "The share of that task's runs of words that are in the prompt; 0 if no task is."),
}  # fmt: skip

_GRAM = 13
_COMMON = 10
_NAMES = ("question", "problem", "prompt", "instruction", "input", "query", "task", "text")
_WORD = re.compile(r"\w+")


class _Tasks(NamedTuple):
    """A test set."""

    names: list[str]
    sizes: list[int]
    """How many runs of words identify each task."""
    grams: dict[int, tuple[int, ...]]
    """A run of words -> the tasks that have it."""
    short: dict[str, int]
    """Whole texts of tasks that are shorter than a run."""


def contamination(*against: str, field: str | None = None) -> Step:
    """The step; `against` are files of test sets, and `field` the column or member with the task, by default one that is named question, problem, ..."""
    if not against:
        raise UsageError("expected at least one file of a test set")
    _tasks(
        against, field, _versions(against)
    )  # What cannot be read is said before anything is written.
    return Step("contamination", partial(_run, against=against, field=field), _ADDS)


def _run(batch: Batch, *, against: tuple[str, ...], field: str | None) -> Batch:
    tasks = _tasks(against, field, _versions(against))
    matches = [
        _match(prompt_text(prompt), tasks) for prompt in column(batch, "prompt", "contamination")
    ]
    return {
        **batch,
        "contaminated_by": [name for name, _ in matches],
        "contamination": [share for _, share in matches],
    }


def _match(prompt: str, tasks: _Tasks) -> tuple[str | None, float]:
    words = _words(prompt)
    whole = tasks.short.get(" ".join(words))
    if whole is not None:
        return tasks.names[whole], 1.0
    counts: Counter[int] = Counter()
    for gram in set(_grams(words)):
        counts.update(tasks.grams.get(gram, ()))
    if not counts:
        return None, 0.0
    best = max(counts, key=lambda task: (counts[task] / tasks.sizes[task], -task))
    return tasks.names[best], counts[best] / tasks.sizes[best]


def _versions(against: Sequence[str]) -> tuple[Any, ...]:
    """Which files these names mean now."""
    files = [Path(path) for path in against if Path(path).is_file()]
    return tuple((str(file.resolve()), file.stat().st_mtime_ns) for file in files)


@lru_cache(maxsize=2)
def _tasks(against: tuple[str, ...], field: str | None, _: tuple[Any, ...]) -> _Tasks:
    """The tasks of test sets; each process reads them once."""
    names: list[str] = []
    runs: list[set[int]] = []
    short: dict[str, int] = {}
    for name, text in _texts(against, field):
        words = _words(text)
        if words and len(words) < _GRAM:
            short.setdefault(" ".join(words), len(names))
        names.append(name)
        runs.append(set(_grams(words)))
    if not names:
        raise UsageError(f"the test set has no tasks: {', '.join(against)}")
    shared = Counter(gram for grams in runs for gram in grams)
    grams: dict[int, tuple[int, ...]] = {}
    sizes = []
    for number, own_grams in enumerate(runs):
        # A task that is nothing but instructions is still found by them.
        rare = {gram for gram in own_grams if shared[gram] <= _COMMON} or own_grams
        sizes.append(len(rare))
        for gram in rare:
            owners = grams.get(gram, ())
            if len(owners) < _COMMON:
                grams[gram] = (*owners, number)
    return _Tasks(names, sizes, grams, short)


def _texts(against: Sequence[str], field: str | None) -> Iterator[tuple[str, str]]:
    for file in input_files(against):
        for piece in pieces_of([file]):
            for table in tables_of(piece):
                if table.unreadable:
                    row, why = next(iter(table.unreadable.items()))
                    raise UsageError(f"{table.place(row)} of the test set cannot be read: {why}")
                texts = table.column(_field(table, field))
                for row, text in enumerate(texts):
                    if isinstance(text, str) and text.strip():
                        yield f"{Path(file.path).name}:{table.numbers[row]}", text


def _field(table: Table, field: str | None) -> str:
    """The column with the tasks."""
    names = (field,) if field else _NAMES
    name = next((name for name in names if name in table.columns), None)
    if name is None:
        expected = f"no column {field!r}" if field else "no column with the tasks"
        raise UsageError(
            f"{table.source} has {expected}; its columns are: {', '.join(table.columns) or 'none'}; name one with --against-column"
        )
    return name


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _grams(words: list[str]) -> list[int]:
    return list(map(hash, zip(*(words[start:] for start in range(_GRAM)), strict=False)))
