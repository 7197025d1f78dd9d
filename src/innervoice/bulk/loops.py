"""Reasoning that repeats itself, as four numbers for each row, in linear time.

`loop_period`   the length in characters of the shortest piece that the text ends with, four times or more in a row
`loop_novelty`  the share of word 8-grams in the last window that were not in the text before: 1.0 is all new, a stuck model is below 0.02
`loop_onset`    the character from which on the text repeats itself more than it adds anything new
`loop_alarm`    the character at which the watch of a client or of the gateway would have ended the reasoning (`steering/repetition.py`)

An exact period finds few of the stuck runs and is never wrong; novelty finds most of them (vllm issue 52677, read 2026-11-15). The user decides in a
filter which number is too low. Where a script has no spaces between words, a character is a word.
"""

from __future__ import annotations

from functools import partial
from itertools import islice
from threading import Lock
from typing import NamedTuple

from innervoice.bulk.schema import Batch, Column, Step, column
from innervoice.canon.bounded import Bounded
from innervoice.steering.repetition import RepetitionDetector, grams_of, word_places, words_of

__all__ = ["GRAM", "LoopNumbers", "grams_in", "loop_numbers", "loops"]

_ADDS = {
    "loop_period": Column("int32", "Characters of the piece that the reasoning ends with, repeated four times or more; null if it does not."),
    "loop_novelty": Column("double", "Share of new word 8-grams in the last window of the reasoning; null if it has fewer than eight words."),
    "loop_onset": Column("int32", "Character of the reasoning from which on it mostly repeats; null if it does not."),
    "loop_alarm": Column("int32", "Character of the reasoning at which a watch would have ended it; null if it would not."),
}  # fmt: skip

GRAM = 8
"""The words of an n-gram, here and where the answer is compared with the reasoning."""
_TAIL = 65_536
"""A period is searched for in so many characters at the end."""


class LoopNumbers(NamedTuple):
    """The four numbers; None where there is no result."""

    period: int | None
    novelty: float | None
    onset: int | None
    alarm: int | None = None


def loops(window: int = 4000, text: str = "reasoning") -> Step:
    """The step; `window` counts words, and `text` is the column to examine."""

    return Step("loops", partial(_run, window=window, text=text), _ADDS)


def _run(batch: Batch, *, window: int, text: str) -> Batch:
    numbers = [loop_numbers(value or "", window) for value in column(batch, text, "loops")]
    return {
        **batch,
        "loop_period": [row.period for row in numbers],
        "loop_novelty": [row.novelty for row in numbers],
        "loop_onset": [row.onset for row in numbers],
        "loop_alarm": [row.alarm for row in numbers],
    }


def loop_numbers(text: str, window: int = 4000) -> LoopNumbers:
    """The four numbers of a text."""
    detector = RepetitionDetector(keeps_words=True)
    alarm = detector.feed(text)
    words = detector.words()
    novelty, onset = _repeats(text, words_of(text) if words is None else words, window)
    return LoopNumbers(_period(text), novelty, onset, alarm)


def _period(text: str) -> int | None:
    """The shortest piece that covers the longest part of the end, four times or more.

    Reversed, the end of the text is a beginning: where it occurs again is a candidate. A beginning that is at least twice as long as the period
    occurs again after exactly one period, so trying lengths that grow by half finds each period that is repeated long enough.
    """
    backwards = text[-_TAIL:][::-1]
    best: tuple[int, int] | None = (
        None  # characters covered, and the period negated: the longest cover wins, then the shortest piece
    )
    length = 2
    while length < len(backwards):
        period = backwards.find(backwards[:length], 1)
        # A longer beginning cannot occur again any earlier, so what is not found now is not found later.
        if period < 0:
            break
        covered = period + _common_beginning(backwards, period)
        if covered >= 4 * period:
            best = max(best or (0, 0), (covered, -period))
        length = max(length + length // 2, period)
    return -best[1] if best else None


def _common_beginning(text: str, offset: int) -> int:
    """How far the text equals itself from `offset` on; by bisection, since comparing slices is faster than comparing characters."""
    low, high = 0, len(text) - offset
    if text[offset:] == text[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if text[low:middle] == text[offset + low : offset + middle]:
            low = middle
        else:
            high = middle
    return low


def _repeats(text: str, words: list[str], window: int) -> tuple[float | None, int | None]:
    """Novelty of the last window, and the onset."""
    grams = list(grams_of(words, GRAM))
    if not grams:
        return None, None
    known = set(grams)
    with _LOCK:
        _SETS[text] = known
    distinct = len(known)
    if distinct == len(grams):
        return 1.0, None
    before = grams[:-window]
    novelty = (distinct - len(set(before))) / (len(grams) - len(before))
    onset = _onset(grams)
    return novelty, None if onset is None else _place(text, onset)


_LOCK = Lock()
_SETS: Bounded[str, set[int]] = Bounded(600_000, weight=len)
"""The n-grams of the texts of a table, each of which the next step asks for."""


def grams_in(text: str) -> set[int]:
    """The different n-grams of a text."""
    with _LOCK:
        known = _SETS.pop(text)
    return set(grams_of(words_of(text), GRAM)) if known is None else known


def _onset(grams: list[int]) -> int | None:
    """Where the sum of (repeated: +1, new: -1) has its last minimum, if it has risen since."""
    seen: set[int] = set()
    height = lowest = onset = 0
    for index, gram in enumerate(grams, start=1):
        if gram in seen:
            height += 1
            continue
        seen.add(gram)
        height -= 1
        if height <= lowest:
            lowest, onset = height, index
    return onset if onset < len(grams) else None


def _place(text: str, word: int) -> int:
    """The character at which the word begins."""
    return next(islice(word_places(text), word, None), len(text))
