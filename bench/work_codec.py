"""Reading without HTTP: complete bodies, and streams per delta."""

from __future__ import annotations

from crew import Crew, Timing
from payloads import MAKERS, payload


def measure(crew: Crew) -> dict[str, dict[str, dict[str, Timing]]]:
    """Work -> payload -> contender."""
    return {work: {name: crew.timings(work, name) for name in MAKERS} for work in ("body", "delta")}


def deltas_of(name: str) -> int:
    """The number of frames in the stream of a payload."""
    return len(payload(name).frames)
