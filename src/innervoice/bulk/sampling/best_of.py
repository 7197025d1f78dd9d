"""Several answers to one prompt, side by side: how their reasoning differs, what most of them say, and which is the best.

An answer can be the best if it is complete, does not end in a loop, and is not wrong by the reference column, if one is named. Of those, the ones
whose final answer most of the others share come first, then shorter reasoning, then the order of the rows. Prompts are equal if their messages are;
rows without a prompt, and answers whose final answer is marked nowhere, are not compared.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from functools import partial
from statistics import median
from typing import Any, NamedTuple

from innervoice.bulk.leak import final_answer
from innervoice.bulk.loops import loop_numbers
from innervoice.bulk.schema import Batch, Column, Step, Survey, column, rows_in
from innervoice.canon.jsontext import dump_json

__all__ = ["best_of", "compared_answer"]

_ADDS = {
    "samples": Column("int32", "How many answers the prompt has; null without a prompt."),
    "sample_answer": Column("string", "The final answer in the form in which it is compared; null if none is marked."),
    "agreement": Column("double", "The share of the prompt's marked final answers that are this one; null if none is marked."),
    "correct": Column("bool", "Whether the final answer is the one of the reference column; null without a reference, or if none is marked."),
    "length_ratio": Column("double", "Characters of the reasoning, divided by the median of the prompt's answers; null if that is 0."),
    "sample_rank": Column("int32", "The place among the prompt's answers, from 1; null for one that is not complete, loops or is wrong."),
}  # fmt: skip

_STUCK = 0.02
"""Below this novelty a thought is a loop (facts of runs that were stuck: vllm issue 52677, read 2026-11-15)."""
_SHORT = 40
_DIGITS = 50
"""A number with more of them stays as it was written."""
_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]+)\}\s*\{([^{}]+)\}")
_WORDED = re.compile(r"\\(?:text|mathrm|mathbf|textbf)\s*\{([^{}]*)\}")
_DROPPED = re.compile(r"\\left|\\right|\\[,;! ]|[\s$]")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


class _Noticed(NamedTuple):
    """What is kept of a row."""

    prompt: bytes | None
    final: str | None
    correct: bool | None
    is_usable: bool
    length: int


def best_of(reference: str | None = None) -> Step:
    """The step; `reference` is a column with the correct answer. Filter by `sample_rank <= 1` for the best answer to each prompt."""
    survey = Survey(partial(_look, reference=reference), _Comparison)
    return Step("best_of", survey.run, _ADDS, survey=survey)


def compared_answer(text: str) -> str:
    """A final answer without what does not change it: spaces, dollar signs, a full stop, and the spelling of numbers and fractions."""
    text = _WORDED.sub(r"\1", _FRACTION.sub(r"\1/\2", text.strip()))
    text = _THOUSANDS.sub("", _DROPPED.sub("", text)).rstrip(".。").casefold()
    try:
        number = Decimal(text)
    except InvalidOperation:
        return text
    if not number.is_finite() or abs(number.adjusted()) > _DIGITS:
        return text
    return format(number.normalize(), "f")


def _look(batch: Batch, *, reference: str | None) -> list[_Noticed]:
    references = column(batch, reference, "best_of") if reference else [None] * rows_in(batch)
    columns = (column(batch, name, "best_of") for name in ("prompt", "answer", "reasoning", "status"))  # fmt: skip
    return [_noticed(*values) for values in zip(*columns, references, strict=True)]


def _noticed(
    prompt: list[dict[str, Any]] | None,
    answer: str | None,
    reasoning: str | None,
    status: str | None,
    reference: Any,
) -> _Noticed:
    final = _final(answer or "")
    expected = None if reference is None else str(reference)
    correct = None
    if expected is not None and final is not None:
        correct = compared_answer(final_answer(expected) or expected) == final
    loop = loop_numbers(reasoning or "")
    is_stuck = loop.period is not None or (loop.novelty is not None and loop.novelty < _STUCK)
    is_right = expected is None or correct is True
    return _Noticed(
        _key(prompt),
        final,
        correct,
        status == "answered" and not is_stuck and is_right,
        len(reasoning or ""),
    )


def _final(answer: str) -> str | None:
    """The final answer that is marked, or the whole answer if it is one short line."""
    marked = final_answer(answer)
    whole = answer.strip()
    if marked is None and whole and len(whole) <= _SHORT and "\n" not in whole:
        marked = whole
    return (compared_answer(marked) or None) if marked else None


def _key(prompt: list[dict[str, Any]] | None) -> bytes | None:
    if not prompt:
        return None
    said = [[message.get("role"), (message.get("content") or "").strip()] for message in prompt]
    return hashlib.blake2b(dump_json(said), digest_size=12).digest()


class _Comparison:
    """Compares the answers to each prompt when all rows were noticed."""

    def __init__(self) -> None:
        self._pieces: dict[int, list[_Noticed]] = {}

    def add(self, number: int, noticed: list[_Noticed]) -> None:
        self._pieces[number] = noticed

    def columns(self) -> dict[int, Batch]:
        prompts: dict[bytes, list[tuple[int, int, _Noticed]]] = {}
        results: dict[int, Batch] = {}
        for number, rows in self._pieces.items():
            results[number] = {name: [None] * len(rows) for name in _ADDS}
            for place, row in enumerate(rows):
                if row.prompt is not None:
                    prompts.setdefault(row.prompt, []).append((number, place, row))
        for samples in prompts.values():
            values = _values([row for _, _, row in samples])
            for (number, place, _), value in zip(samples, values, strict=True):
                for name in _ADDS:
                    results[number][name][place] = value[name]
        return results


def _values(samples: Sequence[_Noticed]) -> list[dict[str, Any]]:
    """The columns of the answers to one prompt."""
    finals = Counter(row.final or "" for row in samples)
    marked = len(samples) - finals.pop("", 0)
    middle = median(row.length for row in samples)
    usable = [index for index, row in enumerate(samples) if row.is_usable]
    usable.sort(key=lambda index: (-finals[samples[index].final or ""], samples[index].length))
    ranks = {index: rank for rank, index in enumerate(usable, start=1)}
    return [
        {
            "samples": len(samples),
            "sample_answer": row.final,
            "agreement": None if row.final is None else finals[row.final] / marked,
            "correct": row.correct,
            "length_ratio": row.length / middle if middle else None,
            "sample_rank": ranks.get(index),
        }
        for index, row in enumerate(samples)
    ]
