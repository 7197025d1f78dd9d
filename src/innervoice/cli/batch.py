"""`innervoice batch`: a file of requests, answered by a provider's batch API at half the price."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from innervoice.catalog.targets import split_id
from innervoice.cli.connect import setting_of
from innervoice.cli.parameters import EFFORT, FILE, MODEL
from innervoice.client.sync import Client
from innervoice.errors import InnervoiceError, UsageError
from innervoice.installing import install_command
from innervoice.show.visible import visible

__all__ = ["command"]

F = TypeVar("F", bound=Callable[..., Any])

_EPILOG = """\
\b
Examples:
  innervoice batch submit prompts.jsonl -m anthropic/claude-opus-5-5 -e high
  innervoice batch status prompts.jsonl
  innervoice batch fetch prompts.jsonl -o rows.parquet      waits, and repeats what expired or failed

\b
A line of the file is a request: {"id": "q1", "prompt": "Why is the sky blue?"}
Instead of prompt it may have messages, and further system, effort, max_tokens, temperature, tools, model and so on.

What happened is written to a folder beside the file, prompts.jsonl.batch: after an interruption, run the same command
again. Nothing is submitted twice.
"""
_WIDTH = 24


@click.group("batch", epilog=_EPILOG)
def command() -> None:
    """Answer a file of requests with the batch API of OpenAI, Anthropic or Gemini."""


def _waiting_option(text: str, *, default: bool) -> Callable[[F], F]:
    def add(function: F) -> F:
        every = click.option("--every", type=click.FloatRange(min=0.01), default=30.0, show_default=True, help="Seconds between two questions for the status.")  # fmt: skip
        wait = click.option("--wait/--no-wait", default=default, show_default=True, help=text)
        return wait(every(function))

    return add


@contextmanager
def _one_sentence() -> Iterator[None]:
    try:
        yield
    except UsageError as error:
        raise click.UsageError(str(error)) from None
    except InnervoiceError as error:
        raise click.ClickException(f"{error} (run the same command again to continue)") from None


def _client(base_url: str | None, model: str) -> Client:
    if base_url is None:
        return Client()
    parsed = split_id(model)
    return Client(base_url=base_url, provider=parsed.provider if parsed else None)


# ---- submit --------------------------------------------------------------------------------------


@command.command("submit")
@click.argument("file", type=FILE)
@click.option("-m", "--model", type=MODEL, required=True, help="The model, as provider/model; a line may name another of the same provider.")  # fmt: skip
@click.option("-e", "--effort", type=EFFORT, help="none, minimal, low, medium, high, xhigh, max, or a number of tokens.")  # fmt: skip
@click.option("-s", "--system", help="The system prompt.")
@click.option("--max-tokens", type=int, help="The limit on output tokens, including reasoning.")
@click.option("--base-url", is_eager=True, help="Another base URL for the provider's API.")
@click.option("--at-most", type=click.IntRange(min=1), metavar="N", help="The most requests in one batch. Default: the provider's limit.")  # fmt: skip
@click.option("--attempts", type=click.IntRange(min=1), default=3, show_default=True, help="How often a request is sent that expires or fails for a passing reason.")  # fmt: skip
@click.option("-y", "--yes", is_flag=True, help="Submit without asking.")
@_waiting_option("Wait for the answers.", default=False)
def submit(
    *, file: str, model: str, effort: str | None, system: str | None, max_tokens: int | None, base_url: str | None, at_most: int | None,
    attempts: int, yes: bool, wait: bool, every: float
) -> None:  # fmt: skip
    """Submit the requests of FILE, after an estimate of their cost."""
    from innervoice.batch import RequestDefaults, Submission, estimate

    fields = {"system": system, "max_tokens": max_tokens, "reasoning": setting_of(effort, "full")}
    defaults = RequestDefaults(
        model, {name: value for name, value in fields.items() if value is not None}
    )
    with _one_sentence():
        client = _client(base_url, model)
        submission, read = Submission.planned(
            client, Path(file), model, defaults, base_url=base_url, at_most=at_most, attempts=attempts
        )  # fmt: skip
        for code, count in read.notes.items():
            click.echo(f"{code}: {count:,} requests", err=True)
        if submission.is_new:
            parts = len(submission.state.parts)
            batches = "1 batch" if parts == 1 else f"{parts:,} batches"
            cost = estimate(submission.folder.requests, submission.provider, submission.dialect)
            click.echo(f"{read.requests:,} requests to {model} in {batches}; {cost}.", err=True)
            if not (yes or _is_confirmed()):
                submission.discard()
                raise click.ClickException("nothing was submitted")
        submission.submit()
        for part in submission.state.parts:
            click.echo(f"{part.batch or '-'}  {len(part.requests):,} requests  {part.word}")
        if wait:
            _wait(submission, every)
    if not wait:
        click.echo(f"Next: innervoice batch fetch {file} -o rows.jsonl", err=True)


def _is_confirmed() -> bool:
    if not sys.stdin.isatty():
        raise click.UsageError("there is nobody to ask; --yes submits without asking")
    return click.confirm("Submit?", err=True)


# ---- status --------------------------------------------------------------------------------------


@command.command("status")
@click.argument("file", type=FILE)
@_waiting_option("Wait until all batches are over.", default=False)
def status(*, file: str, wait: bool, every: float) -> None:
    """Show how far the batches of FILE are. Nothing is submitted again here."""
    from innervoice.batch import Submission

    with _one_sentence():
        submission = Submission.opened(_client, Path(file))
        submission.update(collect=wait)
        if wait:
            _wait(submission, every)
    for part in submission.state.parts:
        progress = f"{part.done:,} of {len(part.requests):,} done"
        bad = f", {part.failed:,} failed" if part.failed else ""
        attempt = f"  attempt {part.attempt}" if part.attempt > 1 else ""
        why = f"  {part.problem}" if part.problem else ""
        click.echo(visible(f"{part.batch or '-'}  {part.word or part.step}  {progress}{bad}{attempt}{why}"))  # fmt: skip
    click.echo(_line(submission.tally()), err=True)


# ---- fetch ---------------------------------------------------------------------------------------


@command.command("fetch")
@click.argument("file", type=FILE)
@click.option("-o", "--output", required=True, metavar="PATH", help="Folder for part files, or a file: .jsonl[.gz|.zst], .parquet or .arrow.")  # fmt: skip
@click.option("--format", metavar="NAME", help="Format of the part files in a folder.")
@click.option("--overwrite", is_flag=True, help="Replace the result of another run, once the new one is complete.")  # fmt: skip
@click.option("--partial", is_flag=True, help="Do not wait: write what there is, with a row for each missing answer.")  # fmt: skip
@click.option("--every", type=click.FloatRange(min=0.01), default=30.0, show_default=True, help="Seconds between two questions for the status.")  # fmt: skip
def fetch(*, file: str, output: str, format: str | None, overwrite: bool, partial: bool, every: float) -> None:  # noqa: A002  # fmt: skip
    """Wait for the answers to FILE and write a row for each: the columns of `bulk split`, with the prompt and the cost."""
    from innervoice.batch import Submission, write_rows

    with _one_sentence():
        submission = Submission.opened(_client, Path(file))
        submission.update()
        if not partial:
            _wait(submission, every)
        result = write_rows(submission, output, format=format, overwrite=overwrite)
    if "cost" not in result.manifest["steps"]:
        click.echo(f"no column with the cost: {install_command('prices')}", err=True)
    counts = result.manifest["counts"]
    statuses = ", ".join(f"{count:,} {name}" for name, count in counts["status"].items())
    click.echo(f"{counts['rows']:,} rows: {statuses}", err=True)
    for place, why in counts["troubles"][:5]:
        click.echo(visible(f"  {place}: {why}"), err=True)
    if submission.tally().failed:
        raise click.exceptions.Exit(1)


# ---- waiting -------------------------------------------------------------------------------------


def _wait(submission: Any, every: float) -> None:
    """Waits until no batch is running, and submits what is repeated; shows how far it is."""
    last_line = ""
    while True:
        submission.submit()
        submission.update()
        tally = submission.tally()
        line = _line(tally)
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{line}" + ("\n" if tally.is_over else ""))
            sys.stderr.flush()
        elif line != last_line:
            click.echo(line, err=True)
        last_line = line
        if tally.is_over:
            return
        time.sleep(every)


def _line(tally: Any) -> str:
    share = (tally.answered + tally.failed) / tally.requests if tally.requests else 1.0
    bar = "█" * int(share * _WIDTH)
    facts = [f"{tally.answered:,} of {tally.requests:,} answered"]
    if tally.failed:
        facts.append(f"{tally.failed:,} failed")
    if tally.repeated:
        facts.append(f"{tally.repeated:,} sent again")
    if tally.running or tally.unsent:
        facts.append(f"{tally.running + tally.unsent:,} of {tally.batches:,} batches not over")
    return f"{bar:·<{_WIDTH}} {share:>4.0%}  {', '.join(facts)}"
