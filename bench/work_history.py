"""Histories of ten to ten thousand turns through `plan` and `encode`; time must grow linearly."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from contenders.histories import TARGETS, TURNS
from crew import Worker, spread
from peers import OURS

VERBS = ("plan", "encode")


def measure(python: Path, base: str, rounds: int) -> dict[str, dict[str, object]]:
    """Verb and target -> seconds by number of turns, and how 10,000 compare with 1,000."""
    worker = Worker(OURS._replace(title="histories", module="histories"), python, base)
    try:
        return {
            f"{verb}, {where}": _growth(worker, verb, where, rounds)
            for verb in VERBS
            for where in TARGETS
        }
    finally:
        worker.close()


def _growth(worker: Worker, verb: str, where: str, rounds: int) -> dict[str, object]:
    times: dict[int, list[float]] = {turns: [] for turns in TURNS}
    for _ in range(rounds):
        for turns in TURNS:
            # As many turns in all in every sample, so that the garbage collector comes into each of them equally often.
            count = TURNS[-1] // turns
            order = {"do": "time", "work": verb, "payload": f"{where}.{turns}", "count": count}
            times[turns].append(worker.ask(**order))
    growth = [long / short for short, long in zip(times[TURNS[-2]], times[TURNS[-1]], strict=True)]
    return {
        "seconds": {str(turns): median(taken) for turns, taken in times.items()},
        "growth": median(growth),
        "spread": spread(growth),
    }
