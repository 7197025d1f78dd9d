"""`innervoice lint`: what would be refused of a history, before it is sent."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from innervoice.canon.jsontext import dump_json
from innervoice.errors import DecodeError, InnervoiceError
from innervoice.history.foreign import History, history_from
from innervoice.history.lint import lint

__all__ = ["command", "read_history"]

_EPILOG = """\
\b
Examples:
  innervoice lint history.json --for anthropic/claude-opus-5-5
  innervoice lint session.jsonl --for openai/gpt-5.6        a session file of Claude Code or Codex
  cat messages.json | innervoice lint - --for deepseek/deepseek-v4-pro

Exits with 0 if nothing is wrong, 1 if something is, 2 if the file or the target cannot be used.
"""


def read_history(file: str) -> History:
    """The history in a file, or a usage error that says why there is none."""
    try:
        return history_from(sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes())
    except OSError as error:
        raise click.UsageError(f"Cannot read {file}: {error.strerror}.") from None
    except DecodeError as error:
        raise click.UsageError(f"{file}: {error}") from None


@click.command("lint", epilog=_EPILOG)
@click.argument("file")
@click.option("--for", "target", required=True, help="Who it would be sent to, as provider/model.")
@click.option("--json", "as_json", is_flag=True, help="Print the problems as JSON.")
def command(*, file: str, target: str, as_json: bool) -> None:
    """Say what of the history in FILE the target would refuse, or silently degrade, and what to do about it."""
    history = read_history(file)
    try:
        problems = lint(history.messages, target)
    except InnervoiceError as error:
        raise click.UsageError(str(error)) from None
    if as_json:
        rows = [
            {name: getattr(problem, name) for name in problem.__struct_fields__}
            for problem in problems
        ]
        click.echo(dump_json(rows).decode())
    else:
        for problem in problems:
            click.echo(str(problem))
        refused = sum(problem.severity == "refused" for problem in problems)
        click.echo(
            f"{len(history.messages)} messages ({history.kind}), {refused} would be refused by {target}"
        )
    raise click.exceptions.Exit(1 if problems else 0)
