"""`innervoice bulk report`: the contents of a data set, on one page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from innervoice.bulk.files import FORMATS
from innervoice.bulk.finding import Finding, find
from innervoice.bulk.maps import steps_named
from innervoice.bulk.overlaps import check_apart
from innervoice.bulk.report.counting import tally
from innervoice.bulk.report.lines import render_lines
from innervoice.bulk.report.page import GENERATOR, render_page
from innervoice.cli.bulk_options import read_options_of, reading_options, usage_errors
from innervoice.cli.files import FileError, write_file
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
        if output is not None:
            _check_page(Path(output), paths, finding)
        steps = steps_named(name for name in maps if name != "none")
        tallies = tally(paths, options, steps=steps, finding=finding)
    if output is None:
        click.echo(render_lines(tallies), nl=False)
        return
    page = render_page(tallies, title or f"Reasoning in {', '.join(paths)}")
    if _is_stream(Path(output)):
        Path(output).write_text(page, "utf-8")
    else:
        write_file(output, page.encode(), force=True)
    click.echo(f"{tallies.rows:,} rows: {output}", err=True)


def _check_page(output: Path, paths: tuple[str, ...], finding: Finding) -> None:
    """Raises an error if the page would be written over an input or somebody else's file, or where a later run would read it as rows."""
    is_read = any(suffix in FORMATS for suffix in output.suffixes)
    check_apart([*(file.path for file in finding.files), *(paths if is_read else ())], [output])
    if os.path.lexists(output) and not _is_stream(output) and not _is_page(output):
        raise FileError(f"{output} exists and is not a report of innervoice; choose another path.")


def _is_stream(path: Path) -> bool:
    """Whether a path is a terminal, a pipe or a device, such as /dev/stdout."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _is_page(path: Path) -> bool:
    """Whether a file is an older page, or empty."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        beginning = stream.read(1000)
    return GENERATOR.encode() in beginning or not (beginning or path.is_symlink())
