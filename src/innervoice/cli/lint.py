"""`innervoice lint`: the parts of a history that a model would refuse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import click

from innervoice.canon.jsontext import dump_json
from innervoice.cli.files import read_file
from innervoice.cli.parameters import FILE, MODEL
from innervoice.cli.sources import FORMATS, history_of, open_file
from innervoice.errors import DecodeError, InnervoiceError
from innervoice.planning.lint import Problem, lint
from innervoice.sources.conversation import Conversation
from innervoice.sources.opening import Source, reader_of
from innervoice.sources.repairs import NEXT, lint_session
from innervoice.sources.stored import History

__all__ = ["command", "problem_line", "problems_of"]

_EPILOG = f"""\
\b
Examples:
  innervoice lint history.json --for anthropic/claude-opus-5-5
  innervoice lint session.jsonl --for openai/gpt-5.6        a session file of Claude Code or Codex
  cat messages.json | innervoice lint - --for deepseek/deepseek-v4-pro

{FORMATS}
Every conversation in the file is checked, including those of subagents.

Exits with 0 if there are no problems, 1 if there are, 2 if the file or the target is invalid.
"""


class Found(NamedTuple):
    """A problem, and where it is."""

    problem: Problem
    line: int | None = None
    conversation: str | None = None
    """Which conversation, if a file has several; the file, for one of a subagent."""

    def __str__(self) -> str:
        where = f"{self.conversation}: " if self.conversation else ""
        return where + problem_line(self.line, self.problem)


def problems_of(history: History, target: str) -> list[tuple[int | None, Problem]]:
    """The problems of a history, each with its line number in a session file."""
    try:
        if history.session:
            return [*lint_session(history.session, target)]
        return [(None, problem) for problem in lint(history.messages, target)]
    except InnervoiceError as error:
        raise click.UsageError(str(error)) from None


def problem_line(line: int | None, problem: Problem) -> str:
    """A problem as one line of text."""
    return str(problem) if line is None else problem.at(f"line {line}")


@click.command("lint", epilog=_EPILOG)
@click.argument("file", type=FILE)
@click.option(
    "--for",
    "target",
    type=MODEL,
    required=True,
    help="The model it would be sent to, as provider/model.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the problems as JSON.")
def command(*, file: str, target: str, as_json: bool) -> None:
    """List what the target would refuse or silently ignore in the history in FILE, and how to fix it."""
    try:
        source = open_file(file)
        history = history_of(source, source.content())
        if history is not None:
            problems = [Found(problem, line) for line, problem in problems_of(history, target)]
            problems += _of_companions(source, target)
            summary = _summary(history, source)
        else:
            conversations = list(source.conversations())
            problems = [
                item for one in conversations for item in _of_conversation(one, source, target)
            ]
            summary = f"{sum(len(one.sent) for one in conversations)} messages ({source.kind})"
            if len(conversations) > 1:
                summary += f" in {len(conversations)} conversations"
    except InnervoiceError as error:
        raise click.UsageError(f"{file}: {error}") from None
    if as_json:
        click.echo(dump_json([_row(item) for item in problems]).decode())
    else:
        for item in problems:
            click.echo(str(item))
        refused = sum(item.problem.severity == "refused" for item in problems)
        for line, why in source.troubles:
            click.echo(f"not read: {'' if line is None else f'line {line}: '}{why}")
        click.echo(f"{summary}, {refused} would be refused by {target}")
    raise click.exceptions.Exit(1 if problems else 0)


def _summary(history: History, source: Source) -> str:
    threads = len(history.session.threads) - 1 if history.session else 0
    others = max(threads, len(source.entries) - 1 if history.session else 0)
    return f"{len(history.messages)} messages ({history.kind})" + (
        f" and {others} of subagents" if others else ""
    )


def _of_companions(source: Source, target: str) -> Iterator[Found]:
    """The problems of subagents whose conversations are in separate files."""
    reader = reader_of(source.path) if source.path else None
    for path in reader.companions(source.path) if reader and source.path else []:
        try:
            history = history_of(open_file(str(path)), read_file(str(path)))
        except DecodeError:
            continue
        for line, problem in problems_of(history, target) if history else []:
            yield Found(problem, line, path.name)


def _of_conversation(conversation: Conversation, source: Source, target: str) -> Iterator[Found]:
    """The problems of the next request; if the last turn is the model's, of the request that follows it."""
    turns = conversation.sent
    if not turns:
        return
    messages = [turn.message for turn in turns]
    goes_on = [NEXT] if messages[-1].role == "assistant" else []
    name = conversation.id if len(source.entries) > 1 else None
    for problem in lint([*messages, *goes_on], target):
        line = turns[problem.message].line if problem.message < len(turns) else None
        yield Found(problem, line, name)


def _row(finding: Found) -> dict[str, object]:
    row = {name: getattr(finding.problem, name) for name in finding.problem.__struct_fields__}
    place = {"line": finding.line, "conversation": finding.conversation}
    return row | {name: value for name, value in place.items() if value is not None}
