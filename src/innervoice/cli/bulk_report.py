"""`innervoice bulk report`: the contents of a data set, on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from innervoice.bulk.finding import find
from innervoice.bulk.maps import steps_named
from innervoice.bulk.report.counting import tally
from innervoice.bulk.report.lines import render_lines
from innervoice.bulk.report.page import render_page
from innervoice.cli.bulk_options import read_options_of, reading_options, usage_errors
from innervoice.cli.files import FileError
from innervoice.show.visible import visible

__all__ = ["command"]

_STEPS = ("stats", "loops", "language", "leak", "secrets")

_EPILOG = """\
\b
Examples:
  innervoice bulk report out/ -o report.html
  innervoice bulk report rows.jsonl                     as text, on the terminal
  innervoice bulk report rows.jsonl --map none          only what the rows have: status, notes, markup, lengths
"""


@click.command("report", epilog=_EPILOG)
@click.argument("paths", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Write an HTML page; without it, text to standard output.",
)
@click.option(
    "--map",
    "maps",
    multiple=True,
    default=_STEPS,
    show_default=True,
    type=click.Choice([*_STEPS, "cost", "none"]),
    help="Steps that analyse the rows.",
)
@click.option("--title", help="The title of the page.")
@reading_options
def command(*, paths: tuple[str, ...], output: str | None, maps: tuple[str, ...], title: str | None, **values: Any) -> None:  # fmt: skip
    """Summarize PATHS: status, notes, markup, lengths, loops, scripts, leaks, secrets, with examples."""
    options = read_options_of(values)
    with usage_errors():
        finding = find(paths, options)
        click.echo(visible(str(finding)), err=True)
        steps = steps_named(name for name in maps if name != "none")
        tallies = tally(paths, options, steps=steps, finding=finding)
    if output is None:
        click.echo(render_lines(tallies), nl=False)
        return
    page = render_page(tallies, title or f"Reasoning in {', '.join(paths)}")
    try:
        Path(output).write_text(page, "utf-8")
    except OSError as error:
        raise FileError(f"Cannot write {output}: {error.strerror}.") from None
    click.echo(f"{tallies.rows:,} rows: {output}", err=True)
