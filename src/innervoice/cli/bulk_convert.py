"""`innervoice bulk convert`: rows of any data set -> what a trainer reads."""

from __future__ import annotations

from typing import Any

import click

from innervoice.bulk.dividing import Divider
from innervoice.bulk.finding import find
from innervoice.bulk.history_rules import HISTORY
from innervoice.bulk.output import Output
from innervoice.bulk.requests import requests as join_requests
from innervoice.bulk.running import run
from innervoice.bulk.training.examples import examples_form, recipe
from innervoice.bulk.training.targets import FAMILIES, TARGETS
from innervoice.bulk.training.templates import load_template
from innervoice.cli.bulk_map import (
    divided_settings,
    map_options,
    steps_and_filter,
    summarize_division,
)
from innervoice.cli.bulk_options import (
    output_options,
    read_options_of,
    reading_options,
    usage_errors,
)
from innervoice.show.visible import visible

__all__ = ["command"]

_EPILOG = """\
\b
Examples:
  innervoice bulk convert batch_output.jsonl -o train.jsonl --to trl --for qwen3 --requests batch_input.jsonl
  innervoice bulk convert data/*.parquet -o train.parquet --to axolotl --for gpt-oss
  innervoice bulk convert rows.jsonl -o train.jsonl --to llama-factory --for qwen3 --where 'status == "answered" and loop_novelty > 0.1'
  innervoice bulk convert rows.jsonl -o rl.parquet --to verl --reference ground_truth

Every example is read back and compared. Answers that broke off are left out (--incomplete writes them). Rows that the filter, the model's template or this check rejects are written to a second file,
train.rejected.jsonl, with the reason. The settings for the trainer are printed.
"""


@click.command("convert", epilog=_EPILOG)
@click.argument("paths", nargs=-1, required=True)
@output_options
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
    help="Also write answers that broke off or are missing.",
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
@map_options
@reading_options
def command(
    *, paths: tuple[str, ...], output: str, format: str | None, processes: int, overwrite: bool, target: str, family: str | None, history: Any,  # noqa: A002
    reference: str | None, incomplete: bool, requests: str | None, check: bool, template: str | None, maps: tuple[str, ...], where: str | None, **values: Any
) -> None:  # fmt: skip
    """Write the rows of PATHS as examples for a trainer."""
    options = read_options_of(values).replace(whole_prompts=True)
    with usage_errors():
        maker = recipe(target, family, history, reference, incomplete=incomplete)
        finding = find(paths, options)
        click.echo(visible(str(finding)), err=True)
        maker = maker._replace(
            text_arguments=Output.at(output, format, finding.files[0]).has_schema
        )
        steps, expression = steps_and_filter(maps, where, finding, options)
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
            form=examples_form(maker, tools=bool(requests) or "tools" in finding.kept.values()),
            format=format,
            settings={**divided_settings(divider), "requests": requests},
            reads=[path for path in (requests, template) if path is not None],
            processes=processes,
            overwrite=overwrite,
            finding=finding,
        )
    summarize_division(result)
    for line in maker.settings:
        click.echo(f"{target}: {line}", err=True)
