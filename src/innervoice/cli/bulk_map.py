"""`innervoice bulk map`: adds columns to rows, and filters them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

import click

from innervoice.bulk.dividing import REJECTED, Divider
from innervoice.bulk.filtering import Filter, parse_filter
from innervoice.bulk.finding import Finding, find
from innervoice.bulk.maps import step_names, steps_for, steps_named
from innervoice.bulk.options import ReadOptions
from innervoice.bulk.rows import schema_columns
from innervoice.bulk.running import Result, run
from innervoice.bulk.schema import Step
from innervoice.bulk.secrets import secrets
from innervoice.cli.bulk_options import (
    output_options,
    read_options_of,
    reading_options,
    usage_errors,
)
from innervoice.cli.bulk_split import summarize
from innervoice.show.visible import visible

__all__ = ["command", "divided_settings", "map_options", "steps_and_filter", "summarize_division"]

F = TypeVar("F", bound=Callable[..., Any])
_REDACT = "redact"
_NAMES = [*step_names(), _REDACT]

_EPILOG = """\
\b
Examples:
  innervoice bulk map rows.jsonl -o out.jsonl --map stats --map loops
  innervoice bulk map rows.jsonl -o out.jsonl --where 'status == "answered" and loop_novelty > 0.1'
  innervoice bulk map rows.jsonl -o out.jsonl --map redact

\b
Steps:
  stats      lengths and tokens per part, paragraphs, backtracking words, shares of code and formulas
  loops      period, novelty of the last window, onset
  language   scripts of prompt, reasoning and answer
  leak       final answers that are only in the reasoning, or in the prompt; answers copied from the reasoning
  secrets    positions of keys and passwords; redact also replaces them
  cost       dollars for each answer, and for its reasoning
  strip, keep_last, unroll   the conversation, with the reasoning that a history rule keeps

A filter supports column names, literals, comparisons, and, or, not, in, + - * / // %, len(...) and lower(...). Steps whose columns it
uses run automatically. Rejected rows are written to a second file, out.rejected.jsonl, with the reason.
"""


def map_options(function: F) -> F:
    """Adds the options for steps and a filter."""
    for option in (
        click.option("--where", metavar="EXPRESSION", help="Keep only rows for which this is true."),
        click.option("--map", "maps", multiple=True, type=click.Choice(_NAMES), help="A step that adds columns; repeat it for several, which run in this order."),
    ):  # fmt: skip
        function = option(function)
    return function


@click.command("map", epilog=_EPILOG)
@click.argument("paths", nargs=-1, required=True)
@output_options
@map_options
@reading_options
def command(
    *, paths: tuple[str, ...], output: str, format: str | None, processes: int, overwrite: bool, maps: tuple[str, ...], where: str | None, **values: Any  # noqa: A002
) -> None:  # fmt: skip
    """Split the rows of PATHS, add columns, and filter the rows."""
    options = read_options_of(values)
    with usage_errors():
        finding = find(paths, options)
        click.echo(visible(str(finding)), err=True)
        steps, expression = steps_and_filter(maps, where, finding, options)
        divider = Divider(expression)
        result = run(
            paths,
            output,
            options,
            steps=steps,
            divide=divider if expression else None,
            format=format,
            settings=divided_settings(divider),
            processes=processes,
            overwrite=overwrite,
            finding=finding,
        )
    summarize_division(result)


def steps_and_filter(
    maps: tuple[str, ...], where: str | None, finding: Finding, options: ReadOptions
) -> tuple[list[Step], Filter | None]:
    """The requested steps, those whose columns the filter uses, and the filter."""
    steps = steps_named(name for name in maps if name != _REDACT)
    if _REDACT in maps:
        steps = [*(step for step in steps if step.name != "secrets"), secrets(redact=True)]
    if where is None:
        return steps, None
    expression = parse_filter(where)
    # Steps that only the filter needs come first: redaction is the last step.
    steps = [*steps_for(expression, steps), *steps]
    columns = [
        *schema_columns(options),
        *finding.kept.values(),
        *(name for step in steps for name in step.adds),
    ]
    return steps, parse_filter(where, columns)


def divided_settings(divider: Divider) -> dict[str, Any]:
    """The settings that the result depends on, for the manifest."""
    return {
        "where": divider.filter.expression if divider.filter else None,
        "recipe": divider.recipe._asdict() if divider.recipe else None,
        "trainer": divider.recipe.settings if divider.recipe else None,
        "check": divider.check,
        "template": divider.template,
    }


def summarize_division(result: Result) -> None:
    """Prints a summary of the result to standard error, and how many rows were rejected."""
    summarize(result.manifest["counts"], result)
    written: Counter[str] = Counter()
    for part in result.manifest["parts"]:
        written.update({name: file["rows"] for name, file in part.items()})
    rejected = f", {written[REJECTED]:,} rows rejected" if written[REJECTED] else ""
    click.echo(f"{written['']:,} rows written{rejected}", err=True)
