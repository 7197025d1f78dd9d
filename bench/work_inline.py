"""Reasoning in the text: complete, in pieces, and in texts that are designed to be slow."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from statistics import median
from time import process_time
from typing import Any

import innervoice as iv
from crew import Crew, Timing
from texts import HOSTILE, hostile

WORKS = ("whole", "pieces4", "pieces20", "orphan", "mixed")


def measure(crew: Crew) -> dict[str, dict[str, dict[str, Timing]]]:
    """Work -> payload -> contender."""
    return {work: {"text": crew.timings(work, "text")} for work in WORKS}


def hostility(small: int) -> dict[str, tuple[float, float]]:
    """The growth factor for ten times as much hostile text: complete, and in pieces of 20."""
    return {
        name: (_growth(name, iv.split, small), _growth(name, _in_pieces, small)) for name in HOSTILE
    }


def _growth(name: str, work: Callable[[str], Any], small: int) -> float:
    times = []
    for size, repeat in ((small, 5), (small * 10, 1)):
        text = hostile(name, size)
        samples = []
        for _ in range(repeat):
            start = process_time()
            work(text)
            samples.append(process_time() - start)
        times.append(median(samples))
    return times[1] / max(times[0], 1e-9)


def _in_pieces(text: str) -> None:
    splitter = iv.Splitter()
    for start in range(0, len(text), 20):
        splitter.feed(text[start : start + 20])
    splitter.finish()


def held_back() -> int:
    """The maximum number of characters held back while a tag is never closed."""
    worst = 0
    for atom in ("a", "<th", "<think "):
        splitter = iv.Splitter()
        splitter.feed("So <think ")
        given = fed = 0
        for _ in range(100_000 // len(atom)):
            fed += len(atom)
            given += sum(len(getattr(event, "text", "")) for event in splitter.feed(atom))
            worst = max(worst, fed - given)
    return worst


def peak_of_openers() -> float:
    """The peak memory in bytes per character for a text of opening tags."""
    text = hostile("<think>", 1_000_000)
    tracemalloc.start()
    try:
        iv.split(text)
        return tracemalloc.get_traced_memory()[1] / len(text)
    finally:
        tracemalloc.stop()
