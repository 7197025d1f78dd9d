"""How long a client waits because of a gateway: until the first token, and between two tokens; and what an agent of 100 turns costs."""

from __future__ import annotations

import json
from typing import Any

from gateway_asking import Asker, Failed
from gateway_contenders import DIRECT, FLOOR, WAYS
from gateway_upstream import TURN
from main import told

AGENT_TURNS = 100
_STREAMS = 160
_CROWD = 8
"""Streams at a time: few, so that none waits for the processor."""
_WAYS = (WAYS[0], WAYS[2])
"""One that is passed on, one that is translated."""


def waits(asker: Asker) -> dict[str, dict[str, dict[str, float]]]:
    """Way -> gateway -> milliseconds until the first token, and between two, without a gateway first."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for way in _WAYS:
        made = found[" ".join(way)] = {}
        for title in [DIRECT, *asker.running]:
            if title != DIRECT and not asker.can(title, way):
                continue
            told(f"waiting for {title}, {' to '.join(way)}")
            try:
                made[title] = _waiting(asker, title, way)
            except Failed as error:
                asker.skip(f"{title}, {' to '.join(way)}, waiting", error)
    return found


def _waiting(asker: Asker, title: str, way: tuple[str, str]) -> dict[str, float]:
    through = FLOOR if title == DIRECT else title
    spoken = asker.spoken(through, way)
    body = json.dumps(asker.conversation(through, spoken, "Go on.").body(stream=True))
    more: dict[str, Any] = {"count": _STREAMS, "crowd": _CROWD, "waits": True}
    if title == DIRECT:
        more["port"] = int(asker.addresses.canned.rpartition(":")[2])
    asker.answered(through, spoken, body, **{**more, "count": _CROWD})  # warms up
    answer = asker.answered(through, spoken, body, **more)
    firsts, gaps = answer["firsts"], answer["gaps"]
    return {
        "first p50": _share(firsts, 0.5),
        "first p99": _share(firsts, 0.99),
        "gap p50": _share(gaps, 0.5),
        "gap p99": _share(gaps, 0.99),
    }


def _share(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1e3


def agents(asker: Asker, *, drops: bool = False) -> dict[str, dict[str, dict[str, float]]]:
    """Way -> gateway -> seconds of processor time for all turns of one agent, whose history grows with each.

    With `drops` it keeps no reasoning, and moves its cache mark with every turn where its API has one.
    """
    found: dict[str, dict[str, dict[str, float]]] = {}
    for way in _WAYS:
        made = found[" ".join(way)] = {}
        for title in asker.running:
            if not asker.can(title, way):
                continue
            what = "an agent that drops reasoning" if drops else "an agent"
            told(f"{what}, {AGENT_TURNS} turns through {title}, {' to '.join(way)}")
            try:
                made[title] = _agent(asker, title, asker.spoken(title, way), drops=drops)
            except (Failed, KeyError, TypeError, ValueError) as error:
                asker.skip(f"{title}, {' to '.join(way)}, an agent", repr(error))
    return found


def _agent(asker: Asker, title: str, way: tuple[str, str], *, drops: bool) -> dict[str, float]:
    question = f"Read all parts, one by one. {TURN.decode()}"
    talk = asker.conversation(title, way, question, drops=drops)
    talk.marks = drops
    before = asker.running[title].cpu()
    size = 0
    for _ in range(AGENT_TURNS):
        body = json.dumps(talk.body())
        size = len(body)
        if not talk.take(json.loads(asker.answered(title, way, body)["last"])):
            raise Failed("the call of the tool was lost")
    return {"seconds": asker.running[title].cpu() - before, "size": size}
