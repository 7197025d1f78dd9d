"""The targets of the gateway, as ratios to a bare ASGI application in the same run, and whether a run met them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway_contenders import BARE, DIRECT, LITELLM, OURS, OURS_WITHOUT_STORE
from goals import Goal, Outcome, outcome

_BYTES = ("messages anthropic", "chat chat")
_TRANSLATED = ("chat anthropic", "messages chat")
_ALL = _BYTES + _TRANSLATED
_BARE = "a bare ASGI application"


def _ratios(
    ways: tuple[str, ...], *bodies: str, who: str = OURS, to: str = BARE
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


def _share_of_store(results: dict[str, Any]) -> dict[str, float]:
    """What the store takes of the time of a small request."""
    without = _ratios(_ALL, "small", who=OURS_WITHOUT_STORE, to=OURS)(results)
    return {name: max(0.0, 1 - ratio) for name, ratio in without.items()}


def _agents(kind: str) -> Callable[[dict[str, Any]], dict[str, float]]:
    def values(results: dict[str, Any]) -> dict[str, float]:
        return {
            way: made[OURS]["seconds"] / made[BARE]["seconds"]
            for way, made in results.get(kind, {}).items()
            if OURS in made and BARE in made
        }

    return values


def _added(what: str, to: str) -> Callable[[dict[str, Any]], dict[str, float]]:
    """Milliseconds that a client waits longer with us than with another."""

    def values(results: dict[str, Any]) -> dict[str, float]:
        return {
            way: made[OURS][what] - made[to][what]
            for way, made in results.get("waits", {}).items()
            if OURS in made and to in made
        }

    return values


GOALS = (
    Goal("a request of 1.5 kB, passed on", _BARE, 5, _ratios(_BYTES, "small")),
    Goal("a request of 1.5 kB, translated", _BARE, 7, _ratios(_TRANSLATED, "small")),
    Goal("the store's share of them", "the whole request", 0.25, _share_of_store),
    Goal("50 kB, reasoning dropped", _BARE, 15, _ratios(_ALL, "50 kB dropped")),
    Goal("400 kB, reasoning dropped", _BARE, 12, _ratios(_ALL, "400 kB dropped")),
    Goal("an event, passed on", _BARE, 1.3, _ratios(_BYTES, "stream")),
    Goal("an event, translated", _BARE, 2, _ratios(_TRANSLATED, "stream")),
    Goal("an agent of 100 turns", _BARE, 2.5, _agents("agents")),
    Goal("first token, p50", "no gateway", 1.5, _added("first p50", DIRECT), unit=" ms more"),
    Goal("first token, p99", _BARE, 5, _added("first p99", BARE), unit=" ms more"),
    Goal(
        "litellm's proxy, a request of 1.5 kB",
        "innervoice",
        30,
        _ratios(_ALL, "small", who=LITELLM, to=OURS),
        over=True,
    ),
    Goal(
        "litellm's proxy, an event",
        "innervoice",
        20,
        _ratios(_ALL, "stream", who=LITELLM, to=OURS),
        over=True,
    ),
)


def outcomes(results: dict[str, Any]) -> list[tuple[Goal, Outcome]]:
    """The goals, each with what a run gave."""
    return [(goal, outcome(goal, goal.values(results))) for goal in GOALS]
