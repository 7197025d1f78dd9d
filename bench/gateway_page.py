"""The numbers of `bench/gateway` -> its part of docs/performance.md."""

from __future__ import annotations

import re
from typing import Any

import gateway_goals
import texts_of_gateways as words
from gateway_contenders import DIRECT, FLOOR, NOT_MEASURED
from goals import Goal, Outcome
from page_table import shown_range, table, times

_TITLE = "## Gateways"
_SECTION = re.compile(r"^## Gateways\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_BEFORE = re.compile(r"^## (?:Left out|Method|How it is measured)$", re.MULTILINE)
"""The sections that stay last."""
_NOISY = 0.15
_PLOT = "![Processor time and waiting, by gateway](pictures/gateways.svg)"


def put_into(page: str, results: dict[str, Any]) -> str:
    """The page with this part in it: in the place of the old one, else before the last sections."""
    made = section(results)
    if _SECTION.search(page):
        return _SECTION.sub(lambda _: made + "\n\n", page, count=1).rstrip() + "\n"
    found = _BEFORE.search(page)
    if found:
        return f"{page[: found.start()]}{made}\n\n{page[found.start() :]}"
    return f"{page.rstrip()}\n\n{made}\n".lstrip()


def section(results: dict[str, Any]) -> str:
    """This part of the page."""
    parts = [
        _TITLE,
        words.HEAD,
        _machine(results),
        "### Targets of the gateway\n\n" + targets(results),
        _PLOT,
        _costs(results),
        _agents(results),
        _agents(results, "forgetful"),
        _waits(results),
        _loops(results),
        _memory(results),
        _skipped(results),
    ]
    return "\n\n".join(part for part in parts if part)


def targets(results: dict[str, Any]) -> str:
    """The targets, and the results."""
    rows = [
        (
            goal.work,
            goal.floor,
            goal.shown,
            shown_range(outcome, goal.unit),
            _verdict(goal, outcome),
        )
        for goal, outcome in gateway_goals.outcomes(results)
    ]
    return table(("work", "floor, 1x", "target", "here", ""), rows)


def _verdict(_goal: Goal, outcome: Outcome) -> str:
    if not outcome.values:
        return "not measured"
    return "met" if outcome.met else "missed"


def _machine(results: dict[str, Any]) -> str:
    on = results["machine"]
    worst = max(
        (
            made["spread"]
            for bodies in results["costs"].values()
            for gateways in bodies.values()
            for made in gateways.values()
        ),
        default=0.0,
    )
    calm = "." if worst <= _NOISY else ", which is a lot: the machine was busy."
    pins = ", ".join(f"{title} ({pin})" for title, pin in results["versions"].items())
    return (
        f"Measured on {on['date']} with Python {on['python']} on {on['system']}, {on['cores']} cores ({on['processor']}), load"
        f" {on['load']}, best of {on['rounds']} rounds, in {results['minutes']:.0f} minutes. Between the rounds the times differ by at most"
        f" {worst:.0%} of their median{calm} Versions: {pins}."
    )


def _costs(results: dict[str, Any]) -> str:
    parts = [f"### Processor time of a gateway\n\n{words.COSTS}"]
    for way, bodies in results["costs"].items():
        titles = list(dict.fromkeys(title for made in bodies.values() for title in made))
        head = ["", *(words.BODIES.get(name, name) for name in bodies)]
        rows = [
            [title, *(_cell(made.get(title), title) for made in bodies.values())]
            for title in titles
        ]
        parts.append(f"{words.WAYS[way]}\n\n{table(head, rows)}")
    return "\n\n".join(parts)


def _cell(made: dict[str, Any] | None, title: str) -> str:
    if made is None:
        return ""
    if title == FLOOR:
        return _microseconds(made["best"])
    return f"{times(made['ratio'])} ({_microseconds(made['best'])})"


def _microseconds(value: float) -> str:
    if value >= 1e6:
        return f"{value / 1e6:.3g} s"
    return f"{value / 1000:.3g} ms" if value >= 1000 else f"{value:.3g} µs"


def _agents(results: dict[str, Any], kind: str = "agents") -> str:
    ways = results.get(kind, {})
    titles = list(dict.fromkeys(title for made in ways.values() for title in made))
    if not titles:
        return ""
    rows = [[title, *(_agent(made, title) for made in ways.values())] for title in titles]
    head = ["", *(words.WAYS[way].rstrip(":") for way in ways)]
    title, text = words.AGENTS[kind]
    return f"### {title}\n\n{text}\n\n{table(head, rows)}"


def _agent(made: dict[str, dict[str, float]], title: str) -> str:
    if title not in made:
        return ""
    seconds = made[title]["seconds"]
    floor = made.get(FLOOR, {}).get("seconds")
    taken = _microseconds(seconds * 1e6)
    return taken if title == FLOOR or not floor else f"{times(seconds / floor)} ({taken})"


def _waits(results: dict[str, Any]) -> str:
    parts = []
    for way, made in results.get("waits", {}).items():
        if DIRECT not in made:
            continue
        rows = [
            [title, *(_wait(one, made[DIRECT], what, title) for what in made[DIRECT])]
            for title, one in made.items()
        ]
        parts.append(f"{words.WAYS[way]}\n\n{table(('', *words.WAITED), rows)}")
    if not parts:
        return ""
    return "\n\n".join([f"### Waiting for tokens\n\n{words.WAITS}", *parts])


def _wait(made: dict[str, float], direct: dict[str, float], what: str, title: str) -> str:
    if title == DIRECT:
        return f"{made[what]:.2f} ms"
    return f"{made[what] - direct[what]:+.2f} ms"


def _loops(results: dict[str, Any]) -> str:
    ways = list(words.WAYS)
    rows = [
        [title, *(_loop(made.get(way)) for way in ways)] for title, made in results["loops"].items()
    ]
    if not rows:
        return ""
    head = ["", *(words.WAYS[way].rstrip(":") for way in ways)]
    return f"### What a client that drops reasoning loses\n\n{words.LOOPS}\n\n{table(head, rows)}"


def _loop(made: dict[str, Any] | None) -> str:
    if made is None:
        return ""
    if made.get("problem"):
        return f"not measured: {made['problem']}"
    turns = f"{made['turns']} of 3 turns"
    refused = f"**refused in turn {made['turns'] + 1}**" if made["refused"] else turns
    return f"{refused}, {made['lost']} of {made['due']} seals lost"


def _memory(results: dict[str, Any]) -> str:
    rows = [
        [
            title,
            f"{made['before'] / 1e6:.0f} MB",
            f"{made['open'] / 1e6:.0f} MB",
            f"{(made['open'] - made['before']) / made['streams'] * 1000 / 1e6:.0f} MB",
        ]
        for title, made in results["memory"].items()
        if made["streams"]
    ]
    if not rows:
        return ""
    head = ("", "before", "1,000 streams open", "for 1,000 streams")
    return f"### Memory of open streams\n\n{words.MEMORY}\n\n{table(head, rows)}"


def _skipped(results: dict[str, Any]) -> str:
    lines = [
        f"| {title} | not measured: {_line(why)} |" for title, why in results["skipped"].items()
    ]
    if not lines:
        return ""
    return "### Not measured\n\n| gateway | |\n| --- | --- |\n" + "\n".join(lines)


def _line(text: str) -> str:
    """A reason as a cell of a table; those of programs may have anything in them."""
    if text in NOT_MEASURED.values():
        return text
    return " ".join(text.split()).replace("|", "/").replace("`", "'").replace("<", "(")[:200]
