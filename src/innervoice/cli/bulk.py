"""`innervoice bulk`: reasoning in data sets. Every subcommand is a module `bulk_NAME`."""

from __future__ import annotations

import click

from innervoice.cli.commands import LazyGroup

__all__ = ["command"]

_EPILOG = """\
\b
Examples:
  innervoice bulk split rows.jsonl -o out.jsonl
  innervoice bulk split data/*.parquet -o out/ --text response
  innervoice bulk map rows.jsonl -o good.jsonl --where 'status == "answered" and loop_novelty > 0.1'
  innervoice bulk convert rows.jsonl -o train.jsonl --to trl --for qwen3
  innervoice bulk report out/ -o report.html

JSON lines need no extra package; Parquet and Arrow need innervoice[bulk].
"""


class BulkGroup(LazyGroup):
    """The subcommands, by the names of their modules."""

    modules = ("split", "map", "convert", "report")
    prefix = "bulk_"


@click.group("bulk", cls=BulkGroup, epilog=_EPILOG)
def command() -> None:
    """Split, check and convert the reasoning in datasets, batch files and logs."""
