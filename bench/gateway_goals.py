"""The targets of the gateway, as ratios to the floor in the same run, and whether a run met them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway_contenders import FLOOR, LITELLM, OURS
from goals import Goal, Outcome, outcome

_BYTES = ("messages anthropic", "chat chat")
_TRANSLATED = ("chat anthropic", "messages chat")


def _ratios(
    ways: tuple[str, ...], *bodies: str, who: str = OURS, to: str = FLOOR
) -> Callable[[dict[str, Any]], dict[str, float]]:
    """The best times of one gateway as multiples of those of another one."""

    def values(results: dict[str, Any]) -> dict[str, float]:
        return {
            f"{way}, {body}": made[who]["best"] / made[to]["best"]
            for way in ways
            for body, made in results["costs"].get(way, {}).items()
            if body in bodies and who in made and to in made
        }

    return values


GOALS = (
    Goal("a request of 1.5 kB, passed on", "raw asyncio pass-through", 4, _ratios(_BYTES, "small")),
    Goal("an event, passed on", "raw asyncio pass-through", 1.6, _ratios(_BYTES, "stream")),
    Goal("an event, translated", "raw asyncio pass-through", 2.5, _ratios(_TRANSLATED, "stream")),
    Goal(
        "litellm's proxy, a request of 1.5 kB",
        "innervoice",
        60,
        _ratios(_BYTES + _TRANSLATED, "small", who=LITELLM, to=OURS),
        over=True,
    ),
    Goal(
        "litellm's proxy, an event",
        "innervoice",
        60,
        _ratios(_BYTES + _TRANSLATED, "stream", who=LITELLM, to=OURS),
        over=True,
    ),
)


def outcomes(results: dict[str, Any]) -> list[tuple[Goal, Outcome]]:
    """The goals, each with what a run gave."""
    return [(goal, outcome(goal, goal.values(results))) for goal in GOALS]
