"""Reading without HTTP: complete bodies, streams per delta, and bytes that belong to no event."""

from __future__ import annotations

import json
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


# Answers that are read in one dialect and written in another: payload, provider, dialect of the client.
PAIRS = tuple(
    (name, provider, dialect)
    for name, provider in (
        ("chat", "deepseek"),
        ("anthropic", "anthropic"),
        ("gemini", "gemini"),
        ("responses", "openai"),
    )
    for dialect in ("anthropic", "openai-chat", "openai-responses", "gemini")
)


def written(rounds: int) -> dict[str, float]:
    """How many times as long reading and writing a stream takes as reading it."""
    found: dict[str, float] = {}
    for name, provider, dialect in PAIRS:
        frames = payload(name).frames
        both, alone = [], []
        for _ in range(rounds):
            alone.append(_time(lambda f=frames, p=provider: _read(f, p)))
            both.append(_time(lambda f=frames, p=provider, d=dialect: _read_and_write(f, p, d)))
        found[f"{name} as {dialect}"] = min(both) / min(alone)
    return found


def _time(work: Callable[[], None]) -> float:
    start = process_time()
    work()
    return process_time() - start


def _read(frames: tuple[bytes, ...], provider: str) -> None:
    decoder = iv.StreamDecoder(provider=provider)
    for frame in frames:
        decoder.feed(frame)
    decoder.finish()


def _read_and_write(frames: tuple[bytes, ...], provider: str, dialect: str) -> None:
    decoder, encoder = iv.StreamDecoder(provider=provider), iv.StreamEncoder(dialect)
    for frame in frames:
        for event in decoder.feed(frame):
            encoder.feed(event, decoder.settled)
    for event in decoder.finish():
        encoder.feed(event)


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


def calls_growth(small: int) -> dict[str, float]:
    """How many times as long an answer with ten times as many calls takes, of which half have no id.

    Each sample reads the same number of calls, so that the garbage collector runs equally often.
    """
    times = []
    for count, answers in ((small, 10), (small * 10, 1)):
        body = _calls(count)
        samples = [_time(lambda b=body, a=answers: _decode(b, a)) for _ in range(9)]
        times.append(min(samples) / answers)
    return {"calls": times[1] / max(times[0], 1e-9)}


def _decode(body: bytes, times: int) -> None:
    for _ in range(times):
        iv.decode(body)


def _calls(count: int) -> bytes:
    """The ids of the first half are the numbers that the second half would get."""
    half = count // 2
    ids = [*(f"call_{half + number}" for number in range(half)), *[None] * half]
    blocks = [{"type": "tool_use", "id": call_id, "name": "f", "input": {}} for call_id in ids]
    body = {"id": "m", "type": "message", "role": "assistant", "content": blocks}
    return json.dumps(body).encode()
