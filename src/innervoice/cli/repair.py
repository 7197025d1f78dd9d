"""`innervoice repair`: a history that the target accepts."""

from __future__ import annotations

from pathlib import Path

import click

from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message
from innervoice.canon.request import Request
from innervoice.canon.storage import from_json, to_json
from innervoice.cli.files import write_file
from innervoice.cli.lint import problem_line, problems_of
from innervoice.cli.parameters import FILE, MODEL, NEW_FILE
from innervoice.cli.sources import FORMATS, history_of, open_file
from innervoice.errors import DecodeError, InnervoiceError
from innervoice.planning.lint import Problem, lint
from innervoice.planning.repair import repair
from innervoice.sources.langchain import repair_langchain
from innervoice.sources.opening import Source
from innervoice.sources.repairs import NEXT, Change, mend, repair_session
from innervoice.sources.stored import History, history_from
from innervoice.wire.dialects import DIALECTS, dialect_named

__all__ = ["command"]

_EPILOG = f"""\
\b
Examples:
  innervoice repair history.json --for openai/gpt-5.6 -o repaired.json
  innervoice repair session.jsonl --for anthropic/claude-opus-5-5 -o repaired.jsonl

Prints a line for each change: where, what and why.

{FORMATS}
Exits with 0 if the target accepts the output, 1 if a problem remains that only you can fix, 2 if the file or the
target is invalid.
"""
_FILLED = {"signature_filled", "reasoning_filled", "calls_moved"}
"""Problems that are fixed when a history is sent, not in the history itself."""


@click.command("repair", epilog=_EPILOG)
@click.argument("file", type=FILE)
@click.option(
    "--for",
    "target",
    type=MODEL,
    required=True,
    help="The model it will be sent to, as provider/model.",
)
@click.option(
    "-o",
    "--output",
    type=NEW_FILE,
    required=True,
    help="The file for the repaired history; never the input file.",
)
@click.option("--force", is_flag=True, help="Replace the output file if it exists.")
def command(*, file: str, target: str, output: str, force: bool) -> None:
    """Write the history in FILE to another file, with as few changes as the target needs.

    Histories, request bodies and session files of Claude Code and Codex keep their format; of any other source, the main
    conversation is written as innervoice stores it. In a session file of Claude Code or Codex, lines that need no change
    stay byte for byte the same, a block that would be refused is removed, and a call without a result gets one that says
    so. The input file is never overwritten.
    """
    if _is_same(file, output):
        raise click.UsageError("The output must not be the input file; choose another name.")
    try:
        source = open_file(file)
        data = source.content()
        own_history = history_of(source, data)
        history = own_history or History(
            [turn.message for turn in source.conversation().sent], source.kind
        )
        written, changes = _repaired(data, own_history, target) if own_history else _repaired_messages(history, target)  # fmt: skip
    except DecodeError as error:
        raise click.UsageError(f"{file}: {error}") from None
    except InnervoiceError as error:
        raise click.UsageError(str(error)) from None
    write_file(output, written, force=force)
    remaining = (
        _remaining_problems(written, target)
        if own_history
        else _left_of(from_json(written), target)
    )
    if not history.session:
        # What the target requires in addition to the parts, where the format has a member for it, and messages that were moved.
        missing = {problem.code for _, problem in remaining}
        changes += [
            f"message {problem.message}: {problem.why}: {problem.fix}"
            for _, problem in problems_of(history, target)
            if problem.code in {*_FILLED, "system_behind_results"} - missing
        ]
    for change in changes:
        click.echo(change)
    lasting = [
        problem_line(line, problem)
        for line, problem in remaining
        if problem.severity == "refused" and problem.code not in _FILLED
    ]
    for problem in lasting:
        click.echo(f"left: {problem}")
    if own_history is None:
        click.echo(_foreign(source))
    count = f"{len(changes)} change{'' if len(changes) == 1 else 's'}" if changes else "no change"
    click.echo(f"{count} for {target}, written to {output}")
    raise click.exceptions.Exit(1 if lasting else 0)


def _is_same(file: str, output: str) -> bool:
    try:
        return file != "-" and Path(output).samefile(file)
    except OSError:  # one of them does not exist, or cannot be read
        return False


def _left_of(messages: list[Message], target: str) -> list[tuple[int | None, Problem]]:
    """The problems that are left in a conversation that continues."""
    return [(None, problem) for problem in lint([*messages, NEXT], target)]


def _remaining_problems(written: bytes, target: str) -> list[tuple[int | None, Problem]]:
    """The problems that are left for the target."""
    try:
        return problems_of(history_from(written), target)
    except DecodeError:  # no message is left
        return []


def _foreign(source: Source) -> str:
    """Prints what was written for a file whose format cannot be written."""
    more = len(source.entries) - 1
    others = f"; {more} other conversation{'' if more == 1 else 's'} of the file left out" if more else ""  # fmt: skip
    return f"{source.name} is not written in its own format: the output is the repaired main conversation as innervoice stores it{others}"


def _repaired_messages(history: History, target: str) -> tuple[bytes, list[str]]:
    """The conversation of any source, repaired for the request that follows it."""
    changes = [_described(change) for change in mend(history.messages, target, goes_on=True)]
    *repaired, _ = repair([*history.messages, NEXT], target)
    return to_json(repaired), changes


def _described(change: Change) -> str:
    part = "" if change.part is None else f", part {change.part}"
    return change.described(f"message {change.message}{part}")


def _repaired(data: bytes, history: History, target: str) -> tuple[bytes, list[str]]:
    if history.session:
        return repair_session(history.session, target)
    if history.kind == "langchain" and history.items is not None:
        items, changes = repair_langchain(history.items, target)
        return (_in_body(history, items) if changes else data), changes
    changes = [_described(change) for change in mend(history.messages, target)]
    repaired = tuple(repair(history.messages, target))
    if list(repaired) == history.messages:
        return data, changes
    return _written(history, Request("x/x", repaired)), changes


def _written(history: History, request: Request) -> bytes:
    if history.kind not in DIALECTS:
        return to_json(list(request.messages))
    dialect = dialect_named(history.kind)
    messages = tuple(_in_dialect(message, history.kind) for message in request.messages)
    body = dialect.writer(request.replace(messages=messages, store=True), "x", dialect.limit)
    return _in_body(history, body[dialect.history])


def _in_body(history: History, items: list[object]) -> bytes:
    if history.body is None:
        return dump_json(items)
    return dump_json(
        {name: items if value is history.items else value for name, value in history.body.items()}
    )


def _in_dialect(message: Message, dialect: str) -> Message:
    """A message without members that only another dialect has, such as the value that skips Gemini's check."""
    parts = tuple(
        part if part.origin is None or part.origin.dialect == dialect else part.replace(origin=None)
        for part in message.parts
    )
    return message.replace(parts=parts)
