"""Batches -> counts, whose size does not depend on the number of rows.

Lengths are counted in buckets of an eighth of an octave, so a percentile is accurate within 5 percent. Tallies of parts of the data can be added up.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from innervoice.bulk.files import STANDARD_INPUT
from innervoice.bulk.finding import Finding, find
from innervoice.bulk.layouts import ReadOptions
from innervoice.bulk.processes import Progress, Reports, in_processes
from innervoice.bulk.reading import piece_bytes_of, pieces_of, tables_of
from innervoice.bulk.rows import RowReader
from innervoice.bulk.schema import Batch, Step, rows_in
from innervoice.bulk.table import Piece
from innervoice.privacy.secrets import redacted
from innervoice.show.amounts import share
from innervoice.show.policy import counted
from innervoice.show.visible import visible

__all__ = [
    "FLAGS",
    "LENGTHS",
    "SHARES",
    "WORDS",
    "Example",
    "Histogram",
    "Tallies",
    "bucket_of",
    "tally",
    "value_of",
]

WORDS: dict[str, str] = {
    "status": "Status",
    "markup": "Markup of the reasoning",
    "finish": "Finish reasons",
    "model": "Models",
    "reasoning_script": "Script of the reasoning",
    "answer_script": "Script of the answer",
    "tokens_by": "Who counted the tokens",
    "left_out": "Rows without an example",
    "rejected": "Rejected rows",
}
"""Columns whose values are counted, and their titles."""
LENGTHS: dict[str, str] = {
    "reasoning": "Characters of reasoning",
    "answer": "Characters of the answer",
    "reasoning_tokens": "Tokens of reasoning",
    "answer_tokens": "Tokens of the answer",
    "loop_period": "Period of a loop, in characters",
    "steps": "Paragraphs of reasoning",
    "reflections": "Words of second thoughts",
}
"""Columns whose lengths, or numbers, are counted in buckets."""
SHARES: dict[str, str] = {
    "loop_novelty": "Novelty of the last window",
    "reasoning_share": "Share of reasoning in the output",
    "copied_share": "Share of the answer copied from the reasoning",
    "script_mixing": "Reasoning in scripts other than its main one",
}
"""Columns of numbers from 0 to 1."""
FLAGS: dict[str, str] = {
    "answer_only_in_reasoning": "Final answer only in reasoning",
    "answer_in_prompt": "Final answer in the prompt",
    "secrets": "Key or password in the row",
}
"""Columns that are counted where they are true, or not empty."""
_TOKENS = ("tokens_by", "reasoning_tokens", "answer_tokens")
_SUMS = ("cost", "reasoning_cost")
_MOST = 1_000
"""How many different words of a column are counted separately; the others are counted together."""
_OTHERS = "(others)"
_EXAMPLES = 2
_EXCERPT = 600
_PER_OCTAVE = 8


class Example(NamedTuple):
    """An example row."""

    id: str
    reason: str
    reasoning: str
    answer: str


class Histogram:
    """Counts of whole numbers, in buckets that grow with the numbers."""

    def __init__(self) -> None:
        self.buckets: Counter[int] = Counter()

    def add(self, number: float) -> None:
        """Counts a number, 0 or larger."""
        self.buckets[bucket_of(number)] += 1

    def take(self, other: Histogram) -> None:
        """Adds the counts of another one."""
        self.buckets.update(other.buckets)

    @property
    def total(self) -> int:
        """How many numbers were counted."""
        return self.buckets.total()

    def percentile(self, share: float) -> int | None:
        """The number that this share of all numbers does not exceed, within the width of a bucket."""
        wanted = share * self.total
        passed = 0
        for bucket in sorted(self.buckets):
            passed += self.buckets[bucket]
            if passed >= wanted:
                return value_of(bucket)
        return None


def bucket_of(number: float) -> int:
    """The bucket of a number; 0 has its own."""
    return 0 if number < 1 else 1 + round(math.log2(number) * _PER_OCTAVE)


def value_of(bucket: int) -> int:
    """The number in the middle of a bucket."""
    return 0 if bucket <= 0 else round(2 ** ((bucket - 1) / _PER_OCTAVE))


class Tallies:
    """Everything that a report says about a data set."""

    def __init__(self) -> None:
        self.rows = 0
        self.reasoned = 0
        """Rows with reasoning."""
        self.words: dict[str, Counter[str]] = {}
        self.notes: Counter[str] = Counter()
        self.lengths: dict[str, Histogram] = {}
        self.shares: dict[str, list[int]] = {}
        """For each share, how many rows are in each of twenty equal steps."""
        self.flags: Counter[str] = Counter()
        self.flagged: set[str] = set()
        """The flags that were counted."""
        self.tokens: dict[str, Counter[str]] = {}
        """By who counted them: rows, tokens of reasoning and of the rest."""
        self.sums: dict[str, float] = {}
        self.examples: dict[str, list[Example]] = {}
        """By status and by note."""

    def add(self, batch: Batch) -> None:
        """Counts a batch."""
        self.rows += rows_in(batch)
        self.reasoned += sum(bool(text) for text in batch.get("reasoning", ()))
        for name in WORDS:
            if name in batch:
                self._add_words(name, batch[name])
        for codes in batch.get("notes", ()):
            self.notes.update({visible(code) for code in codes or ()})
        for name in LENGTHS:
            if name in batch:
                self._add_lengths(name, batch[name])
        for name in SHARES:
            if name in batch:
                self._add_shares(name, batch[name])
        for name in FLAGS:
            if name in batch:
                self.flagged.add(name)
                self.flags[name] += sum(bool(value) for value in batch[name])
        self._add_tokens(batch)
        for name in _SUMS:
            if name in batch:
                values = (value for value in batch[name] if value is not None)
                self.sums[name] = self.sums.get(name, 0.0) + sum(values)
        self._add_examples(batch)

    def take(self, other: Tallies) -> None:
        """Adds the tallies of the rows that follow."""
        self.rows += other.rows
        self.reasoned += other.reasoned
        for name, counter in other.words.items():
            self._add_counted(name, counter)
        self.notes.update(other.notes)
        for name, histogram in other.lengths.items():
            self.lengths.setdefault(name, Histogram()).take(histogram)
        for name, counts in other.shares.items():
            shares = self.shares.setdefault(name, [0] * len(counts))
            self.shares[name] = [one + more for one, more in zip(shares, counts, strict=True)]
        self.flags.update(other.flags)
        self.flagged |= other.flagged
        for counted_by, tokens in other.tokens.items():
            self.tokens.setdefault(counted_by, Counter()).update(tokens)
        for name, total in other.sums.items():
            self.sums[name] = self.sums.get(name, 0.0) + total
        for reason, examples in other.examples.items():
            own_examples = self.examples.setdefault(reason, [])
            own_examples += examples[: _EXAMPLES - len(own_examples)]

    def _add_tokens(self, batch: Batch) -> None:
        columns = [batch.get(name, ()) for name in _TOKENS]
        if not all(columns):
            return
        for counted_by, reasoned, answered in zip(*columns, strict=True):
            if counted_by is not None and reasoned is not None and answered is not None:
                counts = self.tokens.setdefault(counted_by, Counter())
                counts.update(rows=1, reasoning=reasoned, answer=answered)

    def token_lines(self) -> list[str]:
        """The share of reasoning in all output tokens, by who counted them."""
        return [
            _token_line(counted_by, counts) for counted_by, counts in sorted(self.tokens.items())
        ]

    def _add_words(self, name: str, values: Sequence[Any]) -> None:
        self._add_counted(
            name, Counter("(none)" if value is None else _short(name, value) for value in values)
        )

    def _add_counted(self, name: str, counter: Counter[str]) -> None:
        counts = self.words.setdefault(name, Counter())
        for word, count in counter.items():
            counts[word if word in counts or len(counts) < _MOST else _OTHERS] += count

    def _add_lengths(self, name: str, values: Iterable[Any]) -> None:
        histogram = self.lengths.setdefault(name, Histogram())
        for value in values:
            if value is not None:
                histogram.add(len(value) if isinstance(value, str) else value)

    def _add_shares(self, name: str, values: Iterable[Any]) -> None:
        counts = self.shares.setdefault(name, [0] * 20)
        for value in values:
            if value is not None:
                counts[min(max(int(value * 20), 0), 19)] += 1

    def _add_examples(self, batch: Batch) -> None:
        if not {"status", "answer", "reasoning"} <= batch.keys():
            return
        notes = batch.get("notes") or [()] * rows_in(batch)
        for index, (status, codes) in enumerate(zip(batch["status"], notes, strict=True)):
            for reason in map(visible, (str(status), *(codes or ()))):
                examples = self.examples.setdefault(reason, [])
                if len(examples) < _EXAMPLES:
                    examples.append(_example(batch, index, reason))


def _token_line(counted_by: str, counts: Counter[str]) -> str:
    about = "~" if counted_by == "estimate" else ""
    total = counts["reasoning"] + counts["answer"]
    words = {"provider": "as providers counted", "estimate": "estimated"}
    part = f"{about}{share(counts['reasoning'], total)} of {about}{total:,} tokens"
    by = words.get(counted_by, f"by {counted_by}")
    return f"{part}, {by}, in {counted(counts['rows'], 'row')}"


def _short(name: str, value: Any) -> str:
    # The text after the condition is the value of one row.
    return visible(str(value).split(": ", 1)[0] if name == "rejected" else str(value)[:100])


def _example(batch: Batch, index: int, reason: str) -> Example:
    id_ = batch["id"][index] if "id" in batch else index
    return Example(
        visible(str(id_)),
        reason,
        _excerpt(batch["reasoning"][index]),
        _excerpt(batch["answer"][index]),
    )


def _excerpt(text: str | None) -> str:
    """The beginning and the end of a text, without keys and control characters."""
    if not text:
        return ""
    # Before it is shortened: half of a key would not be found.
    text = redacted(text)
    if len(text) > _EXCERPT:
        half = _EXCERPT // 2
        text = f"{text[:half]}\n[{len(text) - 2 * half:,} characters]\n{text[-half:]}"
    return visible(text)


# ---- Files -> tallies: rows of any layout are read and split, rows that were already split are counted as they are.


class _TallyJob(NamedTuple):
    """What every process does with a piece."""

    finding: Finding
    options: ReadOptions
    steps: tuple[Step, ...]


def tally(
    paths: Iterable[str | os.PathLike[str]] | str | os.PathLike[str],
    options: ReadOptions | None = None,
    *,
    steps: Sequence[Step] = (),
    finding: Finding | None = None,
    processes: int = 1,
    progress: Progress | None = None,
) -> Tallies:
    """The tallies of files; the columns of steps are counted as well, and added where they are missing."""
    options = options or ReadOptions()
    finding = finding or find(paths, options, processes)
    if any(file.path == STANDARD_INPUT for file in finding.files):
        processes = 1  # another process has another one
    present = set(finding.passed_on.values())
    wanted = tuple(step for step in steps if not present >= step.adds.keys())
    job = _TallyJob(finding, options, wanted)
    pieces = enumerate(pieces_of(finding.files, piece_bytes_of(finding.files)))
    progress = progress or Progress(finding.size)
    tallies = Tallies()
    waiting: dict[int, Tallies] = {}
    taken = 0
    for number, tallied in in_processes(_tally_piece, job, pieces, processes, progress):
        waiting[number] = tallied
        # In the order of the rows: the first examples are those of the report.
        while taken in waiting:
            tallies.take(waiting.pop(taken))
            taken += 1
    return tallies


def _tally_piece(
    job: _TallyJob, number: int, piece: Piece, reports: Reports
) -> tuple[int, Tallies]:
    reader = RowReader(job.finding.layout, job.options, job.finding.detected)
    tallies = Tallies()
    for table in tables_of(piece):
        batch = reader.batch(table)
        for step in job.steps:
            batch = step.run(batch)
        tallies.add(batch)
        reports.add(len(table.numbers), table.size)
    reports.finish(piece)
    return number, tallies
