"""Prompts and thoughts that are nearly those of an earlier row: by MinHash, with the package rensa, row after row.

Two texts are near if they share about seven of ten runs of three words. Prompts that differ in their numbers are different tasks, however much of
their text is the same. Each row is compared with the rows before it that are no duplicates themselves, so that a chain of small changes does
not join texts that are far apart.
"""

from __future__ import annotations

import re
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

from innervoice.bulk.leak import prompt_text
from innervoice.bulk.schema import Batch, Column, Step, Survey, column
from innervoice.errors import UsageError
from innervoice.installing import install_command
from innervoice.steering.repetition import words_of

__all__ = ["duplicates"]

_ADDS = {
    "prompt_near": Column("string", "The id of the first row whose prompt is nearly the same; null if there is none before this row."),
    "reasoning_near": Column("string", "The same for the reasoning."),
}  # fmt: skip

_GRAM = 3
_SLOTS = 96
_BANDS = 16
_SEED = 1
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


class _Noticed(NamedTuple):
    """What is kept of a row: its id, and the sketches of its texts."""

    id: str
    prompt: Any
    reasoning: Any


def duplicates(near: float = 0.7) -> Step:
    """The step; `near` is the share of equal runs of words from which on two texts are nearly the same."""
    if not 0 < near <= 1:
        raise UsageError(
            f"expected a share above 0 and at most 1 for texts that are near, not {near!r}"
        )
    survey = Survey(_look, partial(_Search, near))
    return Step("duplicates", survey.run, _ADDS, survey=survey)


def _look(batch: Batch) -> list[_Noticed]:
    ids = column(batch, "id", "duplicates")
    prompts = [prompt_text(prompt) for prompt in column(batch, "prompt", "duplicates")]
    thoughts = column(batch, "reasoning", "duplicates")
    return [
        _Noticed(str(row_id), _sketch(prompt, numbers=True), _sketch(thought or ""))
        for row_id, prompt, thought in zip(ids, prompts, thoughts, strict=True)
    ]


def _sketch(text: str, *, numbers: bool = False) -> Any:
    """The sketch of a text; None if it has no words. With `numbers`, texts with other numbers have nothing in common."""
    words = words_of(text.casefold())
    if not words:
        return None
    runs = zip(*(words[start:] for start in range(_GRAM)), strict=False)
    grams = set(map(" ".join, runs)) or {" ".join(words)}
    if numbers and (found := _NUMBER.findall(text)):
        mark = " ".join(found)
        grams = {f"{mark}|{gram}" for gram in grams}
    sketch = _rensa().RMinHash(num_perm=_SLOTS, seed=_SEED)
    sketch.update(list(grams))
    return sketch


class _Seen:
    """The texts that were no duplicates."""

    def __init__(self, near: float) -> None:
        self._near = near
        self._index = _rensa().RMinHashDeduplicator(
            threshold=near, num_perm=_SLOTS, use_lsh=True, num_bands=_BANDS, seed=_SEED
        )
        self._ids: list[str] = []

    def first_like(self, row_id: str, sketch: Any) -> str | None:
        """The id of the first text that is near; without one, this text is added."""
        if sketch is None:
            return None
        if like := self._index.get_duplicates(sketch):
            return self._ids[min(map(int, like))]
        self._index.add(str(len(self._ids)), sketch)
        self._ids.append(row_id)
        return None


class _Search:
    """Compares each row with those before it, as they come."""

    def __init__(self, near: float) -> None:
        self._prompts, self._thoughts = _Seen(near), _Seen(near)
        self._found: dict[int, Batch] = {}

    def add(self, number: int, noticed: list[_Noticed]) -> None:
        prompts, thoughts = self._prompts, self._thoughts
        self._found[number] = {
            "prompt_near": [prompts.first_like(row.id, row.prompt) for row in noticed],
            "reasoning_near": [thoughts.first_like(row.id, row.reasoning) for row in noticed],
        }

    def columns(self) -> dict[int, Batch]:
        return self._found


def _rensa() -> Any:
    try:
        return import_module("rensa")
    except ModuleNotFoundError:
        raise UsageError(f"the step 'duplicates' needs rensa: {install_command('bulk')}") from None
