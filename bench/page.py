"""The numbers of a run -> docs/performance.md."""

from __future__ import annotations

from typing import Any

import gateway_page
import texts_of_page as words
from goals import GOALS, ahead, outcomes
from page_table import shown_range, table, times
from payloads import NAMES, payload
from peers import FLOOR, OURS
from work_client import CROWD
from work_names import UNITS

MARKS = {"kept": "", "lost": " †", "left in the text": " ‡", "wrong": " §"}
_NOISY = 0.15


def written(results: dict[str, Any]) -> str:
    """The text of the page."""
    sections = [
        words.HEAD,
        _machine(results),
        (
            "![time of each library as a multiple of the floor, for a call, a stream, concurrent streams and a first response]"
            "(pictures/performance.svg)"
        ),
        "## Targets\n\n" + targets(results),
        _ahead(results),
        _contests(results),
        _imports(results),
        _history(results),
        _memory(results),
        _hostile(results),
        _secrets(results),
        _long_names(results),
        gateway_page.section(results["gateway"]) if "gateway" in results else "",
        _left_out(results),
        words.FOOT.format(pace=results.get("pace", 0) * 1e6),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _machine(results: dict[str, Any]) -> str:
    on = results["machine"]
    worst = max(
        (
            timing["spread"]
            for payloads in results.get("contest", {}).values()
            for timings in payloads.values()
            for title, timing in timings.items()
            if title == OURS.title
        ),
        default=0.0,
    )
    noise = f"The interquartile range of our ratios is at most {worst:.0%} of their median"
    calm = "." if worst <= _NOISY else ", which is a lot: the machine was busy."
    pins = ", ".join(pin for pins in results["versions"].values() for pin in pins)
    unique = ", ".join(dict.fromkeys(pins.split(", ")))
    return (
        f"Measured on {on['date']} with Python {on['python']} on {on['system']}, {on['cores']} cores ({on['processor']}), in"
        f" {on['rounds']} rounds. {noise}{calm} Versions: {unique}."
    )


def targets(results: dict[str, Any]) -> str:
    """The targets, and the results."""
    rows = [
        (
            goal.work,
            goal.floor,
            goal.shown,
            shown_range(outcome, goal.unit),
            "met" if outcome.met else "missed",
        )
        for goal, outcome in zip(GOALS, outcomes(results), strict=True)
        if outcome.values
    ]
    return table(("work", "floor, 1x", "target", "here", ""), rows)


def _ahead(results: dict[str, Any]) -> str:
    rows = [
        (
            words.WORKS[line.work][0],
            NAMES.get(line.payload, ""),
            line.title,
            times(line.theirs),
            times(line.ours),
            words.VERDICTS[line.verdict],
        )
        for line in ahead(results)
    ]
    if not rows:
        return ""
    head = ("work", "", "", "there", "here", "reasoning there")
    return f"## Where another library is faster\n\n{words.AHEAD}\n\n{table(head, rows)}"


def _contests(results: dict[str, Any]) -> str:
    contest = results.get("contest", {})
    sections = []
    for work, (title, explained) in words.WORKS.items():
        if work in contest:
            made = f"### {title}\n\n{explained}\n\n{_contest(contest[work], work)}"
            sections.append(made)
    return "\n\n".join(["## All numbers", words.LEGEND, *sections])


def _contest(payloads: dict[str, dict[str, dict[str, Any]]], work: str) -> str:
    titles = [OURS.title]
    for timings in payloads.values():
        titles += [title for title in timings if title not in titles]
    titles.remove(FLOOR.title)
    head = ["", *(NAMES.get(name, name) for name in payloads)]
    floor = ["the floor", *(_floor(timings, name, work) for name, timings in payloads.items())]
    rows = [
        [title, *(_cell(timings.get(title)) for timings in payloads.values())] for title in titles
    ]
    return table(head, [floor, *rows])


def _floor(timings: dict[str, dict[str, Any]], name: str, work: str) -> str:
    seconds = timings[FLOOR.title]["seconds"]
    if work in ("delta", "stream"):
        return f"{seconds / len(payload(name).frames) * 1e6:.2f} µs per delta"
    if work == "streams":
        frames = len(payload(f"{name}.200.60").frames) * CROWD
        return f"{seconds / frames * 1e6:.1f} µs per delta"
    return f"{seconds * 1e6:.3g} µs" if seconds < 1e-3 else f"{seconds * 1e3:.3g} ms"


def _cell(timing: dict[str, Any] | None) -> str:
    if timing is None:
        return ""
    return f"{times(timing['ratio'])} ±{timing['spread'] / 2:.0%}{MARKS[timing['verdict']]}"


def _imports(results: dict[str, Any]) -> str:
    found = results.get("import")
    if not found:
        return ""
    rows = []
    for title, made in found.items():
        row = [title]
        for kind in ("import", "first"):
            one = made[kind]
            row += [
                f"{times(one['ratio'])} ({one['seconds'] * 1e3:.0f} ms)",
                f"{one['modules']}",
                f"{one['memory'] / 1e6:.0f} MB",
            ]
        rows.append([*row, f"{made['size'] / 1e6:.1f} MB", str(made["packages"])])
    head = (
        "", "import", "modules", "memory", "first response", "modules", "memory", "installed", "packages",
    )  # fmt: skip
    return f"## Import and installation\n\n{words.IMPORT}\n\n{table(head, rows)}"


def _history(results: dict[str, Any]) -> str:
    found = results.get("history")
    if not found:
        return ""
    turns = list(next(iter(found.values()))["seconds"])
    rows = [
        [
            name,
            *(f"{made['seconds'][count] * 1e3:.3g} ms" for count in turns),
            f"{times(made['growth'])} ±{made['spread'] / 2:.0%}",
        ]
        for name, made in found.items()
    ]
    head = ["", *(f"{int(count):,} turns" for count in turns), "10,000 to 1,000"]
    return f"## Histories\n\n{words.HISTORY}\n\n{table(head, rows)}"


def _memory(results: dict[str, Any]) -> str:
    found = results.get("memory")
    if not found:
        return ""
    sizes = list(next(iter(found.values())))
    rows = [
        [words.READERS[kind], *(f"{made[size] / 1e6:.1f} MB" for size in sizes)]
        for kind, made in found.items()
    ]
    return f"## Memory of a long stream\n\n{words.MEMORY}\n\n{table(['', *sizes], rows)}"


def _hostile(results: dict[str, Any]) -> str:
    found = results.get("hostile")
    if not found:
        return ""
    rows = [[f"`{name}`", times(whole), times(cut)] for name, (whole, cut) in found.items()]
    held = words.HELD.format(held=results["held"], peak=results["openers"])
    head = ("", "complete", "in pieces of 20")
    return f"## Hostile text\n\n{words.HOSTILE}\n\n{table(head, rows)}\n\n{held}"


def _secrets(results: dict[str, Any]) -> str:
    found = results.get("secrets")
    if not found:
        return ""
    rows = [[f"`{piece}`", times(usual), times(wary)] for piece, (usual, wary) in found.items()]
    return f"## Secrets in hostile text\n\n{words.SECRETS}\n\n{table(('', 'usual', 'wary'), rows)}"


def _long_names(results: dict[str, Any]) -> str:
    found = results.get("names")
    if not found:
        return ""
    rows = [[lookup, *map(times, factors)] for lookup, factors in found.items()]
    head = ("", *(f"`{unit}`" for unit in UNITS))
    return f"## Long names\n\n{words.NAMES}\n\n{table(head, rows)}"


def _left_out(results: dict[str, Any]) -> str:
    skipped = results.get("skipped") or {}
    if not skipped:
        return ""
    lines = [f"- {title}: {why}" for title, why in skipped.items()]
    return "## Left out\n\n" + "\n".join(lines)
