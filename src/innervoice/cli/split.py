"""`innervoice split`: the reasoning and the answer of a text."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, get_args

import click

from innervoice.canon.events import Event, Finish, PartEnd, Recast, TextDelta, ThinkingDelta
from innervoice.canon.parts import Thinking
from innervoice.canon.response import FinishReason, Response
from innervoice.canon.storage import to_json
from innervoice.cli.files import FileError, standard_input
from innervoice.cli.output import Output
from innervoice.cli.parameters import FILE
from innervoice.errors import UsageError
from innervoice.inline.formats import ROWS
from innervoice.splitting import Splitter, split

__all__ = ["command"]

SAMPLE = """\
<think>
The user asks how to switch thinking off. I should quote the tag itself, in backticks, and not
be fooled by it. </thinking>

Write `<think></think>` at the start of the answer:

```python
prompt += "<think>\\n\\n</think>\\n\\n"   # no <reasoning> for this turn
```
<reflection>Short enough? Yes.</reflection>
That is all.
"""

_CHUNK = 4096

_EPILOG = """\
\b
Examples:
  innervoice split answer.txt                   answer to stdout, reasoning to stderr
  curl ... | innervoice split - -R > clean.md   only the answer
  innervoice split - --stream --json            one event per line, as they arrive
  innervoice split answer.txt -m qwq-32b        a model whose text starts inside thinking
  innervoice split answer.txt --markup mistral  [THINK] ... [/THINK]
"""


@click.command("split", epilog=_EPILOG)
@click.argument("file", type=FILE, required=False)
@click.option("--sample", is_flag=True, help="Split a built-in sample.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the result as JSON that innervoice can read."
)
@click.option(
    "--stream",
    is_flag=True,
    help="Write while reading. Output that a later tag reclassifies stays as it is; --json writes an event for it.",
)
@click.option("-R", "--hide-thinking", is_flag=True, help="Leave the reasoning out.")
@click.option(
    "-m", "--model", help="The model that wrote the text; its card says which markup it uses."
)
@click.option(
    "--markup", multiple=True, metavar="NAME", help=f"More markup to look for: {', '.join(ROWS)}."
)
@click.option(
    "--prefix-open/--no-prefix-open",
    default=None,
    help="The text starts inside thinking, or does not.",
)
@click.option(
    "--finish-reason", type=click.Choice(get_args(FinishReason)), help="Why the model stopped."
)
def command(
    *,
    file: str | None,
    sample: bool,
    as_json: bool,
    stream: bool,
    hide_thinking: bool,
    **hints: Any,
) -> None:
    """Separate reasoning from the answer in the text of FILE, or of standard input with "-".

    The answer goes to standard output, the reasoning dimmed to standard error.
    """
    hints["markup"] = [name for names in hints["markup"] for name in names.split(",") if name]
    output = Output(hide_thinking=hide_thinking)
    try:
        chunks = iter([SAMPLE]) if sample else _chunks(file)
        if not stream:
            response = split("".join(chunks), **hints)
            if hide_thinking:  # the detail of a note may quote it
                notes = tuple(note.replace(detail=None) for note in response.notes)
                response = response.replace(notes=notes)
            _print_whole(response, output, as_json=as_json)
        elif as_json:
            _print_events(chunks, hints)
        else:
            _print_live(chunks, hints, output)
    except UsageError as error:
        raise click.UsageError(str(error)) from None


def _print_whole(response: Response, output: Output, *, as_json: bool) -> None:
    if as_json:
        output.answer(to_json(response).decode())
    else:
        output.thinking(response.thinking or "")
        output.end_thinking()
        output.answer(response.text)
    output.end()
    if not as_json:
        for note in response.notes:
            output.remark(f"- {note}")


def _print_events(chunks: Iterator[str], hints: dict[str, Any]) -> None:
    output = Output()
    reader = Splitter(**hints)
    for new in _fed(reader, chunks):
        for event in new:
            output.answer(to_json(event).decode() + "\n")
    output.answer(to_json(Finish(reader.response)).decode() + "\n")


def _print_live(chunks: Iterator[str], hints: dict[str, Any], output: Output) -> None:
    reader = Splitter(**hints)
    for new in _fed(reader, chunks):
        for event in new:
            match event:
                case TextDelta():
                    output.answer(event.text)
                case ThinkingDelta():
                    output.thinking(event.text)
                case PartEnd(part=Thinking()):
                    output.end_thinking()
                case Recast():
                    kinds = ", ".join(part.type for part in event.parts)
                    output.remark(
                        f"- the output since part {event.index} was reclassified: {kinds}"
                    )
    output.end()


def _fed(reader: Splitter, chunks: Iterator[str]) -> Iterator[list[Event]]:
    for chunk in chunks:
        yield reader.feed(chunk)
    yield reader.finish()


def _chunks(file: str | None) -> Iterator[str]:
    """The text of a file, as it comes."""
    if file is None and standard_input().isatty():
        raise click.UsageError(
            'Nothing to split: name a FILE, "-" for standard input, or --sample.'
        )
    if file in (None, "-"):
        try:
            yield from _decoded(standard_input().buffer, "standard input")
        except OSError as error:
            raise FileError(f"Cannot read standard input: {error.strerror}.") from None
        return
    assert file is not None
    try:
        with Path(file).open("rb") as stream:
            yield from _decoded(stream, file)
    except OSError as error:
        raise FileError(f"Cannot read {file}: {error.strerror}.") from None


def _decoded(stream: BinaryIO, name: str) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    read = 0
    try:
        while data := stream.read1(_CHUNK) if hasattr(stream, "read1") else stream.read(_CHUNK):
            if text := decoder.decode(data):
                yield text
            read += len(data)
        if text := decoder.decode(b"", final=True):
            yield text
    except UnicodeDecodeError as error:
        at = max(read - len(error.object) + error.start, 0) if read else error.start
        raise click.UsageError(
            f"{name} is not UTF-8 text: byte {error.object[error.start]:#04x} near position {at}."
        ) from None
