"""The numbers of `bench/gateway` -> a picture: processor time, waiting, and who loses reasoning."""

from __future__ import annotations

from typing import Any

from gateway_contenders import DIRECT, FLOOR, OURS
from plot import Bar, Panel, picture

_PASSED, _TRANSLATED = "messages anthropic", "chat anthropic"
_LEAST = 0.05
"""Milliseconds: what is less is noise."""


def drawn(results: dict[str, Any]) -> str:
    """Six panels."""
    lossy = {
        title
        for title, ways in results["loops"].items()
        if any(made.get("lost") or made.get("refused") for made in ways.values())
    }
    costs, waits, agents = results["costs"], results["waits"], results["agents"]
    panels = [
        Panel("1.5 kB passed on, processor time", _ratios(costs, _PASSED, "small", lossy)),
        Panel("an event translated, processor time", _ratios(costs, _TRANSLATED, "stream", lossy)),
        Panel("an agent of 100 turns, passed on", _agents(agents[_PASSED], lossy)),
        Panel("an agent of 100 turns, translated", _agents(agents[_TRANSLATED], lossy)),
        Panel(
            "added to the first token, passed on, p99 in ms",
            _added(waits[_PASSED], "first p99", lossy),
            " ms",
        ),
        Panel(
            "added to the first token, translated, p99 in ms",
            _added(waits[_TRANSLATED], "first p99", lossy),
            " ms",
        ),
    ]
    legend = (
        "multiples of a raw pass-through, or milliseconds; green: innervoice; hatched: loses the reasoning of a client"
        " that drops it"
    )
    return picture(panels, legend)


def _bar(title: str, value: float, lossy: set[str]) -> Bar:
    return Bar(title, value, ours=title == OURS, kept=title not in lossy)


def _ratios(costs: dict[str, Any], way: str, body: str, lossy: set[str]) -> list[Bar]:
    made = costs.get(way, {}).get(body, {})
    return _sorted(
        _bar(title, one["ratio"], lossy) for title, one in made.items() if title != FLOOR
    )


def _agents(made: dict[str, Any], lossy: set[str]) -> list[Bar]:
    floor = made.get(FLOOR, {}).get("seconds")
    if not floor:
        return []
    return _sorted(
        _bar(title, one["seconds"] / floor, lossy) for title, one in made.items() if title != FLOOR
    )


def _added(made: dict[str, Any], what: str, lossy: set[str]) -> list[Bar]:
    direct = made[DIRECT][what]
    return _sorted(
        _bar(title, max(_LEAST, one[what] - direct), lossy)
        for title, one in made.items()
        if title != DIRECT
    )


def _sorted(bars: Any) -> list[Bar]:
    return sorted(bars, key=lambda bar: bar.ratio)
