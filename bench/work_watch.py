"""The watch on a thought: what it takes for each delta, as they arrive."""

from __future__ import annotations

from time import process_time

import innervoice as iv
from innervoice.canon.events import ThinkingDelta
from innervoice.steering.watch import Steering, ThoughtWatch
from payloads import payload

_PROVIDERS = {"chat": "deepseek", "anthropic": "anthropic", "gemini": "gemini"}


def seconds(rounds: int) -> dict[str, float]:
    """The seconds that the watch takes for a delta of each payload."""
    return {name: _seconds(name, provider, rounds) for name, provider in _PROVIDERS.items()}


def _seconds(name: str, provider: str, rounds: int) -> float:
    decoder = iv.StreamDecoder(provider=provider)
    events = [event for frame in payload(name).frames for event in decoder.feed(frame)]
    pieces = [[event] for event in events if isinstance(event, ThinkingDelta)]
    times = []
    for _ in range(max(rounds, 9)):
        watch = ThoughtWatch(Steering(10**6, "answer"), is_native=False, read=str)
        start = process_time()
        for piece in pieces:
            watch.feed(piece)
        times.append(process_time() - start)
    return min(times) / len(pieces)
