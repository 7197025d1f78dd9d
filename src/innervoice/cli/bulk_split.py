"""`innervoice bulk split`: separates the reasoning from the answers of a data set."""

from __future__ import annotations

import sys
from typing import Any

import click

from innervoice.bulk.finding import find
from innervoice.bulk.overlaps import check_stream
from innervoice.bulk.running import Result, run
from innervoice.bulk.streaming import read, write_lines
from innervoice.cli.bulk_options import (
    output_options,
    read_options_of,
    reading_options,
    usage_errors,
)
from innervoice.show.visible import visible

__all__ = ["command", "summarize"]

_EPILOG = """\
\b
Examples:
  innervoice bulk split rows.jsonl -o out.jsonl
  innervoice bulk split data/*.parquet -o out/ --text response
  innervoice bulk split batch_output.jsonl -o rows.parquet      the output of a provider's batch
  innervoice bulk split 'hf://datasets/ORG/NAME/**/*.parquet' -o out/
  zcat rows.jsonl.gz | innervoice bulk split - -o -

Columns and markup are detected from 1,000 rows and printed; options override them. A row that cannot be read gets the
status `unreadable`. If a run was interrupted, start it again and it resumes where it stopped.
"""


@click.command("split", epilog=_EPILOG)
@click.argument("paths", nargs=-1, required=True)
@output_options
@reading_options
@click.option("--dry-run", is_flag=True, help="Only print what was detected.")
def command(
    *, paths: tuple[str, ...], output: str, format: str | None, processes: int, overwrite: bool, dry_run: bool, **values: Any  # noqa: A002
) -> None:  # fmt: skip
    """Separate reasoning from the answers in PATHS: files, globs, folders, URLs, or "-"."""
    options = read_options_of(values)
    with usage_errors():
        finding = find(paths, options)
        click.echo(visible(str(finding)), err=True)
        if dry_run:
            return
        if output == "-":
            check_stream((file.path for file in finding.files), sys.stdout)
            summarize(
                write_lines(read(paths, options, finding=finding), sys.stdout.buffer).as_json()
            )
            return
        result = run(
            paths,
            output,
            options,
            finding=finding,
            format=format,
            processes=processes,
            overwrite=overwrite,
        )
    summarize(result.manifest["counts"], result)


def summarize(counts: dict[str, Any], result: Result | None = None) -> None:
    """Prints a summary of the result to standard error."""
    statuses = ", ".join(f"{count:,} {status}" for status, count in counts["status"].items())
    click.echo(f"{counts['rows']:,} rows: {statuses or 'none'}", err=True)
    if result and result.reused:
        click.echo(f"{result.reused:,} parts were already there", err=True)
    for place, why in counts["troubles"][:5]:
        click.echo(visible(f"  {place}: {why}"), err=True)
    if result:
        click.echo(f"manifest: {result.path}", err=True)
