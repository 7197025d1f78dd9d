"""Feeding a splitter in pieces, as a stream would."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import pairwise

import innervoice as iv

__all__ = ["check_events", "cut", "events_of", "streamed"]


def cut(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def cut_at_random(text: str, seed: int) -> list[str]:
    rng = random.Random(seed)
    ends = sorted({0, len(text), *(rng.randrange(len(text) + 1) for _ in range(rng.randrange(8)))})
    return [text[start:end] for start, end in pairwise(ends)]


def events_of(pieces: Iterable[str], **hints) -> list[iv.Event]:
    splitter = iv.Splitter(**hints)
    events = [event for piece in pieces for event in splitter.feed(piece)]
    return events + splitter.finish()


def streamed(pieces: Iterable[str], **hints) -> iv.Response:
    return iv.fold(events_of(pieces, **hints))


def check_events(events: list[iv.Event]) -> None:
    """Every part is started and ended exactly once, and its deltas join to its text."""
    texts: list[str] = []
    open_parts: set[int] = set()
    for event in events:
        match event:
            case iv.PartStart():
                assert event.index == len(texts)
                assert not open_parts, "a splitter has one part open at a time"
                texts.append("")
                open_parts.add(event.index)
            case iv.TextDelta() | iv.ThinkingDelta():
                assert event.index in open_parts
                assert event.text
                texts[event.index] += event.text
            case iv.PartEnd():
                open_parts.remove(event.index)
                if event.part.type != "opaque":
                    assert event.part.text == texts[event.index]
            case iv.Recast():
                was_open = {index for index in open_parts if index >= event.index}
                texts[event.index :] = [getattr(part, "text", "") for part in event.parts]
                open_parts -= was_open
                if was_open:
                    assert not event.parts[-1].complete
                    open_parts.add(len(texts) - 1)
            case _:
                raise AssertionError(event)
    assert not open_parts
