"""The steps by their names, and which of them adds a column that a filter uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from innervoice.bulk.detection import Detected, detect
from innervoice.bulk.filtering import Filter
from innervoice.bulk.leak import leak
from innervoice.bulk.loops import loops
from innervoice.bulk.running import split_batch
from innervoice.bulk.sampling.best_of import best_of
from innervoice.bulk.sampling.contamination import contamination
from innervoice.bulk.sampling.duplicates import duplicates
from innervoice.bulk.schema import COLUMNS, Step
from innervoice.bulk.secrets import secrets
from innervoice.bulk.stats import cost, language, stats
from innervoice.bulk.training.examples import to
from innervoice.bulk.training.history_rules import keep_last, strip, unroll
from innervoice.errors import UsageError
from innervoice.plugins import plugin, plugin_names

__all__ = ["MAPS", "split", "step_names", "steps_for", "steps_named"]


def split(
    text: str = "text",
    model: str | None = None,
    prefix_open: bool | None = None,
    markup: Iterable[str] | None = None,
    detected: Detected | None = None,
) -> Step:
    """The step that splits a column of texts: adds answer, reasoning, status, notes and markup.

    Without `markup`, it depends on what the texts have in common: `detected` is the result of `detect` for a sample of them. Without that, the
    adapters of the engines take the sample themselves, and a batch on its own is its own sample.
    """
    names = ("answer", "reasoning", "status", "notes", "markup")
    named = None if markup is None else tuple(markup)
    run = partial(
        split_batch,
        text=text,
        model=model,
        prefix_open=prefix_open,
        markup=named,
        detected=detected,
    )
    adds = {name: COLUMNS[name] for name in names}
    if named is not None or detected is not None:
        return Step("split", run, adds)
    detects = partial(_detecting, text=text, model=model, prefix_open=prefix_open)
    return Step("split", run, adds, detects)


def _detecting(
    sample: Callable[[str], list[Any]], *, text: str, model: str | None, prefix_open: bool | None
) -> Step:
    return split(text, model, prefix_open, detected=detect(sample(text)))


MAPS: dict[str, Callable[..., Step]] = {
    "split": split,
    "strip": strip,
    "keep_last": keep_last,
    "unroll": unroll,
    "to": to,
    "stats": stats,
    "loops": loops,
    "language": language,
    "leak": leak,
    "secrets": secrets,
    "cost": cost,
    "best_of": best_of,
    "duplicates": duplicates,
    "contamination": contamination,
}
"""The functions that create the steps, in the order in which they are listed; all but `to` and `contamination` need no argument."""

_ALONE = tuple(name for name in MAPS if name not in ("split", "to", "contamination"))


def step_names() -> list[str]:
    """The names of the steps that need no argument, those of other packages included."""
    return [*_ALONE, *(name for name in plugin_names("bulk_steps") if name not in MAPS)]


def steps_named(names: Iterable[str]) -> list[Step]:
    """The steps of these names, each once, in the order of the names."""
    steps = []
    for name in dict.fromkeys(names):
        if name not in step_names():
            raise UsageError(f"unknown step {name!r}; there are: {', '.join(step_names())}")
        steps.append((MAPS.get(name) or plugin("bulk_steps", name))())
    return steps


def steps_for(expression: Filter, present: Iterable[Step] = ()) -> list[Step]:
    """The further steps whose columns a filter reads."""
    added = {column for step in present for column in step.adds}
    wanted = [name for name in expression.names if name not in added and name not in COLUMNS]
    steps = []
    for name in ("stats", "loops", "language", "leak", "secrets", "cost", "best_of", "duplicates"):
        step = MAPS[name]()
        if any(column in step.adds for column in wanted):
            steps.append(step)
    return steps
