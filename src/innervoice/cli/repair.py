"""`innervoice repair`: a history that the target accepts."""

from __future__ import annotations

from pathlib import Path

import click

from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message
from innervoice.canon.request import Request
from innervoice.canon.storage import to_json
from innervoice.cli.lint import read_history
from innervoice.errors import InnervoiceError
from innervoice.history.foreign import History
from innervoice.history.lint import lint
from innervoice.history.repair import repair
from innervoice.wire.dialects import writer_of

__all__ = ["command"]

_MEMBERS = {
    "anthropic": "messages",
    "openai-chat": "messages",
    "gemini": "contents",
    "openai-responses": "input",
}


@click.command("repair")
@click.argument("file")
@click.option("--for", "target", required=True, help="Who it shall be sent to, as provider/model.")
@click.option(
    "-o", "--output", required=True, help="Where the repaired history goes; never the input itself."
)
def command(*, file: str, target: str, output: str) -> None:
    """Write the history in FILE, with the smallest change that the target accepts, to another file.

    A list or a body comes back in its own format. A session file comes back as innervoice stores messages.
    """
    if file != "-" and Path(output).exists() and Path(output).samefile(file):
        raise click.UsageError("the input is never written over; name another file")
    history = read_history(file)
    try:
        before = lint(history.messages, target)
        repaired = repair(history.messages, target)
    except InnervoiceError as error:
        raise click.UsageError(str(error)) from None
    messages = tuple(repaired)
    Path(output).write_bytes(_written(history, Request("x/x", messages)))
    click.echo(
        f"{len(before)} problems; {len(history.messages)} messages became {len(messages)}, written to {output}"
    )


def _written(history: History, request: Request) -> bytes:
    member = _MEMBERS.get(history.kind)
    if member is None:
        return to_json(list(request.messages))
    messages = tuple(_in_dialect(message, history.kind) for message in request.messages)
    items = writer_of(history.kind)(request.but(messages=messages, store=True), "x", "max_tokens")[
        member
    ]
    return dump_json(items if history.body is None else {**history.body, member: items})


def _in_dialect(message: Message, dialect: str) -> Message:
    """A message without what only another dialect can say, such as the value that skips Gemini's check."""
    parts = tuple(
        part if part.origin is None or part.origin.dialect == dialect else part.but(origin=None)
        for part in message.parts
    )
    return message.but(parts=parts)
