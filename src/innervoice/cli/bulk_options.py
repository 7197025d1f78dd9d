"""What all commands of `innervoice bulk` share: how rows are read, where they go, how many processes run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from innervoice.bulk.options import ReadOptions
from innervoice.errors import UsageError
from innervoice.inline.formats import ROWS

__all__ = ["output_options", "read_options_of", "reading_options", "usage_errors"]

F = TypeVar("F", bound=Callable[..., Any])


def reading_options(function: F) -> F:
    """Adds the options for reading rows; `read_options_of` collects them."""
    options = (
        click.option("--text", multiple=True, metavar="COLUMN", help="Column with a text of the model; repeat it for several, one row each."),
        click.option("--messages", metavar="COLUMN", help="Column with a list of messages."),
        click.option("--generations", metavar="COLUMN", help="Column with a list of texts."),
        click.option("--reasoning", metavar="COLUMN", help="Column with reasoning; use it with --answer."),
        click.option("--answer", metavar="COLUMN", help="Column with the answer."),
        click.option("--prompt", metavar="COLUMN", help="Column with the prompt."),
        click.option("--id", metavar="COLUMN", help="Column with the id of a row."),
        click.option("--model-column", metavar="COLUMN", help="Column with the model's name."),
        click.option("--finish", metavar="COLUMN", help="Column with the finish reason."),
        click.option("--markup", metavar="NAMES", help=f"Markup besides the usual tags, separated by commas; 'none' for no other. Default: what is found. {', '.join(ROWS)}."),
        click.option("-m", "--model", help="The model that wrote the texts; its card says which markup it uses."),
        click.option("--prefix-open/--no-prefix-open", default=None, help="The texts start inside thinking, or do not."),
        click.option("--keep", multiple=True, metavar="COLUMN", help="Keep only these other columns; 'none' for none. Default: all that are not read."),
        click.option("--parts", is_flag=True, help="Write the column `parts`: all parts in order, with their origin."),
        click.option("--raw", is_flag=True, help="Write the column `raw`: the row as it was."),
    )  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


def read_options_of(values: dict[str, Any]) -> ReadOptions:
    """Takes the options of `reading_options` from the values of a command."""
    taken = {name: values.pop(name) for name in ReadOptions.__struct_fields__ if name in values}
    markup, keep = taken["markup"], taken["keep"]
    taken["markup"] = None if markup is None else _names([markup])
    taken["keep"] = _names(keep) if keep else None
    return ReadOptions(**taken)


def _names(values: Any) -> tuple[str, ...]:
    names = [name.strip() for value in values for name in value.split(",")]
    return tuple(name for name in names if name and name != "none")


def output_options(function: F) -> F:
    """Adds the options for the output and the number of processes."""
    options = (
        click.option("-o", "--output", required=True, metavar="PATH", help="Folder for part files, or a file: .jsonl[.gz|.zst], .parquet or .arrow."),
        click.option("--format", metavar="NAME", help="Format of the part files in a folder. Default: the format of the input."),
        click.option("-j", "--processes", type=click.IntRange(min=1), default=_cores, show_default="one per core", help="The number of processes."),
        click.option("--overwrite", is_flag=True, help="Replace the result of another run, once the new one is complete."),
    )  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def usage_errors() -> Iterator[None]:
    """Turns our errors into errors of the command line, without the usage of the command if a file is at fault."""
    try:
        yield
    except UsageError as error:
        raise click.UsageError(str(error)) from None
