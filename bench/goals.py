"""The targets, as ratios to a floor in the same run, and whether a run met them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import payloads as recorded
from peers import FLOOR, OURS, OURS_AIOHTTP, OURS_HTTPTOOLS, VARIANTS


class Goal(NamedTuple):
    """An upper or lower limit."""

    work: str
    floor: str
    limit: float
    values: Callable[[dict[str, Any]], dict[str, float]]
    """The values of a run, by payload."""
    over: bool = False
    """Speed instead of time: more is better."""
    unit: str = "x"

    @property
    def shown(self) -> str:
        """The limit as text."""
        return f"{'>=' if self.over else '<='} {self.limit:g}{self.unit}"


class Outcome(NamedTuple):
    """The result of a run for one goal."""

    values: dict[str, float]
    met: bool


class Ahead(NamedTuple):
    """A library that takes less time than we do."""

    title: str
    work: str
    payload: str
    theirs: float
    ours: float
    verdict: str


def _contest(
    work: str, who: str = OURS.title, *, tags: bool | None = None
) -> Callable[[dict[str, Any]], dict[str, float]]:
    """The ratios of a work; `tags` says whether those of reasoning in tags, or those of all others."""

    def values(results: dict[str, Any]) -> dict[str, float]:
        payloads = results.get("contest", {}).get(work, {})
        return {
            name: timings[who]["ratio"]
            for name, timings in payloads.items()
            if who in timings and tags in (None, name == "tags")
        }

    return values


def _speed(*works: str) -> Callable[[dict[str, Any]], dict[str, float]]:
    def values(results: dict[str, Any]) -> dict[str, float]:
        contest = results.get("contest", {})
        return {
            work: 1 / contest[work]["text"][OURS.title]["ratio"]
            for work in works
            if work in contest
        }

    return values


def _import(results: dict[str, Any]) -> dict[str, float]:
    made = results.get("import", {}).get(OURS.title)
    return {"import": made["import"]["ratio"]} if made else {}


def _history(results: dict[str, Any]) -> dict[str, float]:
    return {name: made["growth"] for name, made in results.get("history", {}).items()}


def _stray(results: dict[str, Any]) -> dict[str, float]:
    found: dict[str, float] = results.get("stray", {})
    return found


def _calls(results: dict[str, Any]) -> dict[str, float]:
    found: dict[str, float] = results.get("calls", {})
    return found


def _written(results: dict[str, Any]) -> dict[str, float]:
    found: dict[str, float] = results.get("written", {})
    return found


def _watch(results: dict[str, Any]) -> dict[str, float]:
    """The share of the watch in the cost of a delta, in percent."""
    streams = results.get("contest", {}).get("stream", {})
    return {
        name: 100
        * seconds
        * len(recorded.payload(name).frames)
        / streams[name][OURS.title]["seconds"]
        for name, seconds in results.get("watch", {}).items()
        if OURS.title in streams.get(name, {})
    }


def _memory(results: dict[str, Any]) -> dict[str, float]:
    """Memory growth per byte, for a stream ten times as long."""
    found = results.get("memory", {})
    return {kind: made["50 MB"] / 50e6 for kind, made in found.items()}


GOALS = (
    Goal(
        "a whole body of 8 kB to parts", "typed `msgspec` decode", 3.5, _contest("body", tags=False)
    ),
    Goal(
        "the same, reasoning in tags",
        "the same, nothing split",
        5.5,
        _contest("body", tags=True),
    ),
    Goal("one streamed delta, without HTTP", "frame split and JSON decode", 2.6, _contest("delta")),
    Goal("one delta read and written in another dialect", "reading it", 2.2, _written),
    Goal("one streamed delta, client", "bare httpx2 doing the same", 1.35, _contest("stream")),
    Goal("the watch on a thought, per delta", "one streamed delta, client", 3, _watch, unit=" %"),
    Goal("one call, client", "bare httpx2 doing the same", 1.25, _contest("call", tags=False)),
    Goal(
        "the same, reasoning in tags",
        "the same, nothing split",
        1.25,
        _contest("call", tags=True),
    ),
    Goal("64 streams at a time, over httpx2", "bare httpx2, async", 1.6, _contest("streams")),
    Goal(
        "the same over httptools, the default where it is installed",
        "bare httpx2, async",
        1.2,
        _contest("streams", OURS_HTTPTOOLS.title),
    ),
    Goal(
        "the same over aiohttp",
        "bare httpx2, async",
        0.6,
        _contest("streams", OURS_AIOHTTP.title),
    ),
    Goal("1 MB of Markdown split, speed", "`str.find`", 0.1, _speed("whole"), over=True),
    Goal(
        "the same in pieces of 4 and 20",
        "`str.find` in each",
        0.25,
        _speed("pieces4", "pieces20"),
        over=True,
    ),
    Goal("48 kB before an orphan closer, speed", "`str.find`", 0.05, _speed("orphan"), over=True),
    Goal("100 texts of 5 kB, speed", "`str.find`", 0.03, _speed("mixed"), over=True),
    Goal("import", "`import msgspec`", 2, _import),
    Goal("plan and encode of 10,000 turns", "the same of 1,000", 12, _history),
    Goal("200,000 chunks that belong to no event", "20,000 of them", 12, _stray),
    Goal("8,000 calls, half of them without an id", "800 calls", 12, _calls),
    Goal("memory of a stream of 50 MB", "the stream itself", 0.1, _memory),
)


def outcomes(results: dict[str, Any]) -> list[Outcome]:
    """The results of a run, in the order of the goals."""
    return [outcome(goal, goal.values(results)) for goal in GOALS]


def outcome(goal: Goal, values: dict[str, float]) -> Outcome:
    """Whether these values meet a goal."""
    if goal.over:
        return Outcome(values, all(value >= goal.limit for value in values.values()))
    return Outcome(values, all(value <= goal.limit for value in values.values()))


def ahead(results: dict[str, Any]) -> list[Ahead]:
    """Every work and payload in which another library takes less time than we do."""
    found = []
    for work, payloads in results.get("contest", {}).items():
        for payload, timings in payloads.items():
            ours = timings[OURS.title]["ratio"]
            found += [
                Ahead(title, work, payload, timing["ratio"], ours, timing["verdict"])
                for title, timing in timings.items()
                if title not in {peer.title for peer in (FLOOR, OURS, *VARIANTS)}
                and timing["ratio"] < ours
            ]
    return found
