"""Reading without HTTP: complete bodies, streams per delta, and bytes that belong to no event."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import process_time

import innervoice as iv
from crew import Crew, Timing
from payloads import MAKERS, payload


def measure(crew: Crew) -> dict[str, dict[str, dict[str, Timing]]]:
    """Work -> payload -> contender."""
    return {work: {name: crew.timings(work, name) for name in MAKERS} for work in ("body", "delta")}


def deltas_of(name: str) -> int:
    """The number of frames in the stream of a payload."""
    return len(payload(name).frames)


# Chunks of bytes that belong to no event, by name; so many of them.
STRAY: dict[str, Callable[[int], list[bytes]]] = {
    "JSON lines between events": lambda count: [b"data: {}\n\n[\n", *[b',{"a": 1}\n'] * count],
    "blanks before an answer": lambda count: [b"\n"] * count,
    "an invalid byte in each event": lambda count: [b'data: {"a": "\xff"}\n\n'] * count,
}


def stray_growth(small: int) -> dict[str, float]:
    """How many times as long ten times as many such chunks take."""
    return {name: _growth(make, small) for name, make in STRAY.items()}


def _growth(make: Callable[[int], list[bytes]], small: int) -> float:
    times = []
    for count in (small, small * 10):
        samples = []
        for _ in range(5):
            start = process_time()
            for _ in iv.decode_stream(make(count)):
                pass
            samples.append(process_time() - start)
        times.append(median(samples))
    return times[1] / max(times[0], 1e-9)
