"""The commands of `innervoice bulk`: split, map, convert and report, and the options that they share."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from innervoice.bulk.files import FORMATS
from innervoice.bulk.filtering import REJECTED, Divider, Filter, parse_filter
from innervoice.bulk.finding import Finding, find
from innervoice.bulk.layouts import ReadOptions
from innervoice.bulk.maps import step_names, steps_for, steps_named
from innervoice.bulk.output import Output, check_apart, check_stream
from innervoice.bulk.report.page import GENERATOR, render_lines, render_page
from innervoice.bulk.report.tallies import tally
from innervoice.bulk.requests import requests as join_requests
from innervoice.bulk.rows import schema_columns
from innervoice.bulk.running import Result, read, run, write_lines
from innervoice.bulk.sampling.best_of import best_of
from innervoice.bulk.sampling.contamination import contamination
from innervoice.bulk.schema import Step
from innervoice.bulk.secrets import secrets
from innervoice.bulk.training.checks import load_template
from innervoice.bulk.training.examples import examples_form, recipe
from innervoice.bulk.training.history_rules import HISTORY
from innervoice.bulk.training.targets import FAMILIES, TARGETS
from innervoice.cli.files import FileError, write_file
from innervoice.errors import UsageError
from innervoice.inline.formats import ROWS
from innervoice.show.visible import visible

__all__ = ["COMMANDS"]

F = TypeVar("F", bound=Callable[..., Any])


def _reading_options(function: F) -> F:
    """Adds the options for reading rows; `_read_options_of` collects them."""
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
        click.option("--skip-bad-files", is_flag=True, help="Read the rest if a file is damaged, with a row that says so. Default: an error."),
    )  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


def _read_options_of(values: dict[str, Any]) -> ReadOptions:
    """Takes the options of `_reading_options` from the values of a command."""
    taken = {name: values.pop(name) for name in ReadOptions.__struct_fields__ if name in values}
    markup, keep = taken["markup"], taken["keep"]
    taken["markup"] = None if markup is None else _names([markup])
    taken["keep"] = _names(keep) if keep else None
    return ReadOptions(**taken)


def _names(values: Any) -> tuple[str, ...]:
    names = [name.strip() for value in values for name in value.split(",")]
    return tuple(name for name in names if name and name != "none")


def _output_options(function: F) -> F:
    """Adds the options for the output and the number of processes."""
    options = (
        click.option("-o", "--output", required=True, metavar="PATH", help="Folder for part files, or a file: .jsonl[.gz|.zst], .parquet or .arrow."),
        click.option("--format", metavar="NAME", help="Format of the part files in a folder. Default: the format of the input."),
        _PROCESSES,
        click.option("--overwrite", is_flag=True, help="Replace the result of another run, once the new one is complete."),
    )  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_PROCESSES = click.option("-j", "--processes", type=click.IntRange(min=1), default=_cores, show_default="one per core", help="The number of processes.")  # fmt: skip


@contextmanager
def _usage_errors() -> Iterator[None]:
    """Turns our errors into errors of the command line, without the usage of the command if a file is at fault."""
    try:
        yield
    except UsageError as error:
        raise click.UsageError(str(error)) from None


# ---- split ---------------------------------------------------------------------------------------


_SPLIT_EXAMPLES = """\
\b
Examples:
  innervoice bulk split rows.jsonl -o out.jsonl
  innervoice bulk split data/*.parquet -o out/ --text response
  innervoice bulk split batch_output.jsonl -o rows.parquet      the output of a provider's batch
  innervoice bulk split 'hf://datasets/ORG/NAME/**/*.parquet' -o out/
  zcat rows.jsonl.gz | innervoice bulk split - -o -

Columns and markup are detected from 1,000 rows of all files and printed; options override them. A row that cannot be read gets the
status `unreadable`. If a run was interrupted, start it again and it resumes where it stopped.
"""


@click.command("split", epilog=_SPLIT_EXAMPLES)
@click.argument("paths", nargs=-1, required=True)
@_output_options
@_reading_options
@click.option("--dry-run", is_flag=True, help="Only print what was detected.")
def split(
    *, paths: tuple[str, ...], output: str, format: str | None, processes: int, overwrite: bool, dry_run: bool, **values: Any  # noqa: A002
) -> None:  # fmt: skip
    """Separate reasoning from the answers in PATHS: files, globs, folders, URLs, or "-"."""
    options = _read_options_of(values)
    with _usage_errors():
        finding = find(paths, options, processes)
        click.echo(visible(str(finding)), err=True)
        if dry_run:
            return
        if output == "-":
            check_stream((file.path for file in finding.files), sys.stdout)
            _summarize(
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
    _summarize(result.manifest["counts"], result)


def _summarize(counts: dict[str, Any], result: Result | None = None) -> None:
    """Prints a summary of the result to standard error."""
    statuses = ", ".join(f"{count:,} {status}" for status, count in counts["status"].items())
    click.echo(f"{counts['rows']:,} rows: {statuses or 'none'}", err=True)
    if result and result.reused:
        click.echo(f"{result.reused:,} parts were already there", err=True)
    for name, count in counts.get("unsplit", {}).items():
        click.echo(
            f"{count:,} texts with the markup {name} were not split: --markup {name} splits them",
            err=True,
        )
    for name, count in counts.get("lost", {}).items():
        click.echo(
            visible(
                f"{count:,} values of the column {name} do not fit its type and are null: write .jsonl to keep them, or leave it out with --keep"
            ),
            err=True,
        )
    for place, why in counts["troubles"][:5]:
        click.echo(visible(f"  {place}: {why}"), err=True)
    if result:
        click.echo(f"manifest: {result.path}", err=True)


# ---- map -----------------------------------------------------------------------------------------


_REDACT = "redact"
_STEP_NAMES = [*step_names(), _REDACT]

_MAP_EXAMPLES = """\
\b
Examples:
  innervoice bulk map rows.jsonl -o out.jsonl --map stats --map loops
  innervoice bulk map rows.jsonl -o out.jsonl --where 'status == "answered" and loop_novelty > 0.1'
  innervoice bulk map rows.jsonl -o out.jsonl --map redact
  innervoice bulk map samples.jsonl -o best.jsonl --best-of 1 --reference solution      rejection sampling
  innervoice bulk map rows.jsonl -o out.jsonl --map duplicates --where 'prompt_near is None' --against test.jsonl

\b
Steps:
  stats      lengths and tokens per part, paragraphs, backtracking words, shares of code and formulas
  loops      period, novelty of the last window, onset
  language   scripts of prompt, reasoning and answer
  leak       final answers that are only in the reasoning, or in the prompt; answers copied from the reasoning
  secrets    positions of keys and passwords; redact also replaces them
  cost       dollars for each answer, and for its reasoning
  strip, keep_last, unroll   the conversation, with the reasoning that a history rule keeps
  best_of    the answers to one prompt side by side: agreement, length, rank
  duplicates the first row with nearly the same prompt or reasoning

\b
best_of and duplicates look at all rows first, so the files are read twice. --against FILE adds contaminated_by and contamination: which task of a
test set the prompt has, and how much of it.

A filter supports column names, literals, comparisons, and, or, not, in, + - * / // %, len(...) and lower(...). Steps whose columns it
uses run automatically. Rejected rows are written to a second file, out.rejected.jsonl, with the reason.
"""


def _map_options(function: F) -> F:
    """Adds the options for steps and a filter."""
    for option in (
        click.option("--where", metavar="EXPRESSION", help="Keep only rows for which this is true."),
        click.option("--map", "maps", multiple=True, type=click.Choice(_STEP_NAMES), help="A step that adds columns; repeat it for several, which run in this order."),
    ):  # fmt: skip
        function = option(function)
    return function


@click.command("map", epilog=_MAP_EXAMPLES)
@click.argument("paths", nargs=-1, required=True)
@_output_options
@_map_options
@click.option(
    "--best-of",
    type=click.IntRange(min=1),
    metavar="N",
    help="Keep the N best answers to each prompt; the others are rejected.",
)
@click.option(
    "--reference",
    metavar="COLUMN",
    help="Column with the correct answer: wrong ones are not among the best.",
)
@click.option(
    "--against",
    multiple=True,
    metavar="FILE",
    help="File of a test set that the prompts are compared with; repeat it for several.",
)
@click.option(
    "--against-column",
    metavar="COLUMN",
    help="Column of the test set with the tasks. Default: question, problem, prompt, ...",
)
@_reading_options
def map_rows(
    *, paths: tuple[str, ...], output: str, format: str | None, processes: int, overwrite: bool, maps: tuple[str, ...], where: str | None, best_of: int | None,  # noqa: A002
    reference: str | None, against: tuple[str, ...], against_column: str | None, **values: Any
) -> None:  # fmt: skip
    """Split the rows of PATHS, add columns, and filter the rows."""
    options = _read_options_of(values)
    sampling = Sampling(best_of, reference, against, against_column)
    with _usage_errors():
        finding = find(paths, options, processes)
        click.echo(visible(str(finding)), err=True)
        steps, expression = _steps_and_filter(maps, where, finding, options, sampling)
        divider = Divider(expression)
        result = run(
            paths,
            output,
            options,
            steps=steps,
            divide=divider if expression else None,
            format=format,
            settings={**_divided_settings(divider), "sampling": sampling._asdict()},
            reads=against,
            processes=processes,
            overwrite=overwrite,
            finding=finding,
        )
    _summarize_division(result)


class Sampling(NamedTuple):
    """The options that choose among rows by what the others, or a test set, are."""

    best_of: int | None = None
    reference: str | None = None
    against: tuple[str, ...] = ()
    against_column: str | None = None

    def steps(self) -> list[Step]:
        """The steps that they need."""
        if self.against_column and not self.against:
            raise UsageError(
                "--against-column names a column of a test set; name its file with --against"
            )
        steps = [best_of(self.reference)] if self.best_of or self.reference else []
        if self.against:
            steps.append(contamination(*self.against, field=self.against_column))
        return steps

    def filtered(self, where: str | None) -> str | None:
        """The filter, with the one that they add."""
        best = f"sample_rank <= {self.best_of}" if self.best_of else None
        return (
            " and ".join(
                f"({one})" if one is where and best else one for one in (best, where) if one
            )
            or None
        )


def _steps_and_filter(
    maps: tuple[str, ...],
    where: str | None,
    finding: Finding,
    options: ReadOptions,
    sampling: Sampling = Sampling(),  # noqa: B008 - never changed
) -> tuple[list[Step], Filter | None]:
    """The requested steps, those whose columns the filter uses, and the filter."""
    chosen = sampling.steps()
    names = {step.name for step in chosen}
    steps = [*chosen, *steps_named(name for name in maps if name not in {_REDACT, *names})]
    where = sampling.filtered(where)
    if _REDACT in maps:
        steps = [*(step for step in steps if step.name != "secrets"), secrets(redact=True)]
    if where is None:
        return steps, None
    expression = parse_filter(where)
    # Steps that only the filter needs come first: redaction is the last step.
    steps = [*steps_for(expression, steps), *steps]
    columns = [
        *schema_columns(options),
        *finding.passed_on.values(),
        *(name for step in steps for name in step.adds),
    ]
    return steps, parse_filter(where, columns)


def _divided_settings(divider: Divider) -> dict[str, Any]:
    """The settings that the result depends on, for the manifest."""
    return {
        "where": divider.filter.expression if divider.filter else None,
        "recipe": divider.recipe._asdict() if divider.recipe else None,
        "trainer": divider.recipe.settings if divider.recipe else None,
        "check": divider.check,
        "template": divider.template,
    }


def _summarize_division(result: Result) -> None:
    """Prints a summary of the result to standard error, and how many rows were rejected."""
    _summarize(result.manifest["counts"], result)
    written: Counter[str] = Counter()
    for part in result.manifest["parts"]:
        written.update({name: file["rows"] for name, file in part.items()})
    rejected = f", {written[REJECTED]:,} rows rejected" if written[REJECTED] else ""
    click.echo(f"{written['']:,} rows written{rejected}", err=True)


# ---- convert -------------------------------------------------------------------------------------


_CONVERT_EXAMPLES = """\
\b
Examples:
  innervoice bulk convert batch_output.jsonl -o train.jsonl --to trl --for qwen3 --requests batch_input.jsonl
  innervoice bulk convert data/*.parquet -o train.parquet --to axolotl --for gpt-oss
  innervoice bulk convert rows.jsonl -o train.jsonl --to llama-factory --for qwen3 --where 'status == "answered" and loop_novelty > 0.1'
  innervoice bulk convert rows.jsonl -o rl.parquet --to verl --reference ground_truth

Every example is read back and compared. Answers that broke off, or have no prompt, are left out (--incomplete writes them). Rows that the filter, the model's template or this check rejects are written to a second file,
train.rejected.jsonl, with the reason. The settings for the trainer are printed.
"""


@click.command("convert", epilog=_CONVERT_EXAMPLES)
@click.argument("paths", nargs=-1, required=True)
@_output_options
@click.option(
    "--to",
    "target",
    required=True,
    type=click.Choice(list(TARGETS)),
    help="The trainer that reads the examples.",
)
@click.option(
    "--for",
    "family",
    type=click.Choice(list(FAMILIES)),
    help="The family of the model to train.",
)
@click.option(
    "--history",
    type=click.Choice(HISTORY),
    help="Which reasoning of a conversation is kept. Default: all, or what the family's template keeps.",
)
@click.option("--reference", metavar="COLUMN", help="Column with the correct answer, for verl.")
@click.option(
    "--requests",
    metavar="FILE",
    help="The requests of a batch, one per line; joined to the answers by id.",
)
@click.option(
    "--incomplete",
    is_flag=True,
    help="Also write answers that broke off or are missing, and those without a whole prompt.",
)
@click.option(
    "--check/--no-check",
    default=True,
    show_default=True,
    help="Read each example back and compare.",
)
@click.option(
    "--template",
    metavar="FILE",
    help="Chat template (.jinja or tokenizer_config.json), or with transformers a model's name: the reasoning must appear in its output exactly once.",
)
@_map_options
@_reading_options
def convert(
    *, paths: tuple[str, ...], output: str, format: str | None, processes: int, overwrite: bool, target: str, family: str | None, history: Any,  # noqa: A002
    reference: str | None, incomplete: bool, requests: str | None, check: bool, template: str | None, maps: tuple[str, ...], where: str | None, **values: Any
) -> None:  # fmt: skip
    """Write the rows of PATHS as examples for a trainer."""
    options = _read_options_of(values).replace(whole_prompts=True)
    with _usage_errors():
        maker = recipe(target, family, history, reference, incomplete=incomplete)
        finding = find(paths, options, processes)
        click.echo(visible(str(finding)), err=True)
        maker = maker._replace(
            text_arguments=Output.at(output, format, finding.files[0]).has_schema
        )
        steps, expression = _steps_and_filter(maps, where, finding, options)
        if requests is not None:
            steps.insert(0, join_requests(requests))
        elif finding.layout.kind == "answers":
            click.echo(
                "batch answers have no prompts: --requests FILE (the file that you sent) adds them",
                err=True,
            )
        divider = Divider(expression, maker, check, load_template(template) if template else None)
        result = run(
            paths,
            output,
            options,
            steps=steps,
            divide=divider,
            form=examples_form(
                maker, tools=bool(requests) or "tools" in finding.passed_on.values()
            ),
            format=format,
            settings={**_divided_settings(divider), "requests": requests},
            reads=[path for path in (requests, template) if path is not None],
            processes=processes,
            overwrite=overwrite,
            finding=finding,
        )
    _summarize_division(result)
    for line in maker.settings:
        click.echo(f"{target}: {line}", err=True)


# ---- report --------------------------------------------------------------------------------------


_REPORT_STEPS = ("stats", "loops", "language", "leak", "secrets")

_REPORT_EXAMPLES = """\
\b
Examples:
  innervoice bulk report out/ -o report.html
  innervoice bulk report rows.jsonl                     as text, on the terminal
  innervoice bulk report rows.jsonl --map none          only what the rows have: status, notes, markup, lengths
"""


@click.command("report", epilog=_REPORT_EXAMPLES)
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
    default=_REPORT_STEPS,
    show_default=True,
    type=click.Choice([*_REPORT_STEPS, "cost", "none"]),
    help="Steps that analyse the rows.",
)
@click.option("--title", help="The title of the page.")
@_PROCESSES
@_reading_options
def report(*, paths: tuple[str, ...], output: str | None, maps: tuple[str, ...], title: str | None, processes: int, **values: Any) -> None:  # fmt: skip
    """Summarize PATHS: status, notes, markup, lengths, loops, scripts, leaks, secrets, with examples."""
    options = _read_options_of(values)
    with _usage_errors():
        finding = find(paths, options, processes)
        click.echo(visible(str(finding)), err=True)
        if output is not None:
            _check_page(Path(output), paths, finding)
        steps = steps_named(name for name in maps if name != "none")
        tallies = tally(paths, options, steps=steps, finding=finding, processes=processes)
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


COMMANDS: dict[str, click.Command] = {
    "split": split,
    "map": map_rows,
    "convert": convert,
    "report": report,
}
