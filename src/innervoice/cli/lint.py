"""`innervoice lint`: the parts of a history that a model would refuse."""

from __future__ import annotations

import click

from innervoice.canon.jsontext import dump_json
from innervoice.cli.files import read_file
from innervoice.errors import DecodeError, InnervoiceError
from innervoice.history.lint import Problem, lint
from innervoice.repairing.transcripts import lint_session
from innervoice.sessions.foreign import History, history_from

__all__ = ["command", "problem_line", "problems_of", "read_history"]

_EPILOG = """\
\b
Examples:
  innervoice lint history.json --for anthropic/claude-opus-5-5
  innervoice lint session.jsonl --for openai/gpt-5.6        a session file of Claude Code or Codex
  cat messages.json | innervoice lint - --for deepseek/deepseek-v4-pro

Reads lists of messages of OpenAI, Anthropic, Gemini and LangChain, bodies of requests, and session files.

Exits with 0 if there is no problem, 1 if there is one, 2 if the file or the target cannot be used.
"""


def read_history(file: str, data: bytes) -> History:
    """The history in the content of a file, or a usage error that says why it cannot be read."""
    try:
        return history_from(data)
    except DecodeError as error:
        raise click.UsageError(f"{file}: {error}") from None


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
    if line is None:
        return str(problem)
    return f"line {line}: {problem.why} ({problem.code}, {problem.severity}); {problem.fix}"


@click.command("lint", epilog=_EPILOG)
@click.argument("file")
@click.option(
    "--for", "target", required=True, help="The model it would be sent to, as provider/model."
)
@click.option("--json", "as_json", is_flag=True, help="Print the problems as JSON.")
def command(*, file: str, target: str, as_json: bool) -> None:
    """List what the target would refuse or silently ignore of the history in FILE, and how to fix it."""
    history = read_history(file, read_file(file))
    problems = problems_of(history, target)
    if as_json:
        rows = [
            {name: getattr(problem, name) for name in problem.__struct_fields__}
            | ({} if line is None else {"line": line})
            for line, problem in problems
        ]
        click.echo(dump_json(rows).decode())
    else:
        for line, problem in problems:
            click.echo(problem_line(line, problem))
        refused = sum(problem.severity == "refused" for _, problem in problems)
        others = len(history.session.threads) - 1 if history.session else 0
        more = f" and {others} of subagents" if others else ""
        click.echo(
            f"{len(history.messages)} messages ({history.kind}){more}, {refused} would be refused by {target}"
        )
    raise click.exceptions.Exit(1 if problems else 0)
