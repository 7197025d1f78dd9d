"""`innervoice bulk`: reasoning in data sets. The subcommands are in `bulk_commands.py`, which is imported when one runs."""

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
    """The subcommands."""

    modules = ("split", "map", "convert", "report")

    def command_named(self, name: str) -> click.Command:
        from innervoice.cli.bulk_commands import COMMANDS

        return COMMANDS[name]


@click.group("bulk", cls=BulkGroup, epilog=_EPILOG)
def command() -> None:
    """Split, check and convert the reasoning in datasets, batch files and logs."""
