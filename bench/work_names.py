"""Long names of models: how many times as long ten times the length takes."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import process_time
from typing import Any

from innervoice.catalog.lookup import card_of, family_of, model_row_of
from innervoice.catalog.targets import split_id

UNITS = ("-", "a", "gpt-")
LOOKUPS: dict[str, Callable[[str], Any]] = {
    "row of a model": lambda name: model_row_of(name, "openai", "openai-chat"),
    "card of a model": card_of,
    "family": family_of,
    "provider and model": split_id,
}


def growth(small: int) -> dict[str, tuple[float, ...]]:
    """Lookup -> the factor for a name of each unit."""
    return {
        lookup: tuple(_factor(work, unit, small) for unit in UNITS)
        for lookup, work in LOOKUPS.items()
    }


def _factor(work: Callable[[str], Any], unit: str, small: int) -> float:
    times = []
    for size in (small, small * 10):
        samples = []
        for number in range(9):  # each name is another, since lookups are cached
            name = unit * (size // len(unit)) + str(number)
            start = process_time()
            work(name)
            samples.append(process_time() - start)
        times.append(median(samples))
    return times[1] / max(times[0], 1e-9)
