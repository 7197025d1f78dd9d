"""`innervoice inspect`: the answers in a file of any format."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

import click

from innervoice.canon.parts import Media, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from innervoice.canon.response import Response
from innervoice.canon.storage import to_json
from innervoice.cli.output import Output
from innervoice.cli.parameters import FILE, PROVIDER
from innervoice.cli.sources import FORMATS, open_file
from innervoice.decoding import checked
from innervoice.errors import DecodeError, InnervoiceError
from innervoice.sources.conversation import Conversation, Turn
from innervoice.sources.opening import Source
from innervoice.sources.reader import Entry, Hints
from innervoice.wire.dialects import DIALECTS

__all__ = ["command"]

_EXCERPT = 72
_LONG = 1_000_000
"""The size in bytes from which a file gets a progress bar."""

_EPILOG = f"""\
\b
Examples:
  innervoice inspect answer.json             a complete response body
  innervoice inspect stream.sse              a captured stream: SSE, JSON lines or an AWS event stream
  innervoice inspect log.jsonl               many bodies, one per line; a batch file; a log
  innervoice inspect session.jsonl           a session of Claude Code, Codex, Gemini CLI
  innervoice inspect - --provider deepseek   from standard input, with a hint
  innervoice inspect log.jsonl --json        one response per line, as innervoice stores it

{FORMATS}"""


@click.command("inspect", epilog=_EPILOG)
@click.argument("file", type=FILE)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print responses as JSON that innervoice can read, one per line.",
)
@click.option("--provider", type=PROVIDER, help="The provider; by default it is detected.")
@click.option("-m", "--model", help="The model that answered.")
@click.option(
    "--dialect", type=click.Choice(DIALECTS), help="The wire format; by default it is detected."
)
@click.option("-R", "--hide-thinking", is_flag=True, help="Show no excerpts of the reasoning.")
def command(*, file: str, as_json: bool, hide_thinking: bool, **hints: Any) -> None:
    """Print the responses in FILE, of any format: parts in order, seals, tokens, notes.

    Seals are named but never shown. Exits with 1 if a response could not be read.
    """
    output = Output()
    failed = 0
    try:
        source = open_file(file, Hints(**hints))
    except DecodeError as error:
        click.echo(f"{file}: {type(error).__name__}: {error}", err=True)
        raise click.exceptions.Exit(1) from None
    for entry in _watched(source):
        try:
            conversation = source.conversation(entry.id)
        except InnervoiceError as error:
            failed += 1
            click.echo(
                f"{_name_of(file, source, entry)}: {type(error).__name__}: {error}", err=True
            )
            continue
        for title, turn in _answers(file, source, conversation):
            try:
                answer = turn.answer and checked(turn.answer)
            except InnervoiceError as error:
                failed += 1
                click.echo(f"{title}: {type(error).__name__}: {error}", err=True)
                continue
            if as_json:
                output.answer(to_json(answer or turn.message).decode() + "\n")
            else:
                lines = _report(title, turn, hide_thinking=hide_thinking)
                output.answer("".join(f"{line}\n" for line in [*lines, ""]))
    for line, why in source.troubles:
        click.echo(f"{file}{'' if line is None else f':{line}'}: {why}", err=True)
    if failed or source.troubles:
        raise click.exceptions.Exit(1)


def _watched(source: Source) -> Iterable[Entry]:
    """The entries, with a progress bar on a terminal."""
    entries = source.entries
    if source.size < _LONG or len(entries) == 1 or not sys.stderr.isatty():
        return entries
    return _with_bar(entries)


def _with_bar(entries: list[Entry]) -> Iterator[Entry]:
    with click.progressbar(entries, file=sys.stderr, label="reading") as bar:
        yield from bar


def _name_of(file: str, source: Source, entry: Entry) -> str:
    if len(source.entries) == 1:
        return file
    return f"{file}:{entry.line}" if entry.end is not None else f"{file} ({entry.id})"


def _answers(file: str, source: Source, conversation: Conversation) -> Iterator[tuple[str, Turn]]:
    """The turns of the model, each with a title: the file and the line, or the conversation and the number of the turn."""
    turns = [turn for turn in conversation.turns if turn.message.role == "assistant"]
    is_only = len(source.entries) == 1 and len(turns) == 1
    for number, turn in enumerate(conversation.turns):
        if turn.message.role != "assistant":
            continue
        name = f" ({conversation.id})" if len(source.entries) > 1 else ""
        place = f"{name}, turn {number}"
        if turn.line is not None:
            # The line of a subagent may be that of another file.
            place = f"{name}, line {turn.line}" if conversation.parent else f":{turn.line}"
        yield f"{file}{'' if is_only else place}", turn


def _report(title: str, turn: Turn, *, hide_thinking: bool) -> Iterator[str]:
    if turn.answer is None:
        yield f"{title}: a turn of a history"
        for number, part in enumerate(turn.message.parts):
            yield from _part(number, part, hide_thinking=hide_thinking)
        return
    response = turn.answer
    origin = response.origin
    who = [response.provider, response.model, origin.dialect if origin else None]
    yield ": ".join(filter(None, (title, ", ".join(item for item in who if item))))
    reason = f" ({response.wire_finish_reason})" if response.wire_finish_reason else ""
    yield f"  status   {response.status}{reason}"
    if turn.marks:
        yield f"  marks    {', '.join(turn.marks)}"
    if response.error:
        yield f"  error    {response.error.type or ''} {response.error.message or ''}".rstrip()
    yield f"  tokens   {_tokens(response)}"
    for number, part in enumerate(response.parts):
        yield from _part(number, part, hide_thinking=hide_thinking)
    if response.alternatives:
        yield f"  and {len(response.alternatives)} more choices"
    for note in response.notes:
        # A detail may quote what the model thought.
        yield f"  - {note.replace(detail=None) if hide_thinking else note}"


def _tokens(response: Response) -> str:
    usage = response.usage
    counts = {
        "in": usage.input_tokens,
        "cached": usage.cached_input_tokens,
        "out": usage.output_tokens,
    }
    counts["of it reasoning"] = usage.reasoning_tokens
    words = [f"{count} {name}" for name, count in counts.items() if count is not None]
    return ", ".join(words) or "not reported"


def _part(number: int, part: Part, *, hide_thinking: bool) -> Iterator[str]:
    facts = [f"{number:3}", f"{part.type:9}", _size(part)]
    if isinstance(part, Thinking) and part.form != "full":
        facts.append(part.form)
    if part.origin and part.origin.markup is not None:
        facts.append("from the text")
    if part.origin and part.origin.seals:
        facts.append(f"sealed by {', '.join(part.origin.seals)}")
    if not getattr(part, "complete", True):
        facts.append("incomplete")
    yield "  ".join(facts)
    excerpt = "" if hide_thinking and isinstance(part, Thinking) else _excerpt(part)
    if excerpt:
        yield f"       | {excerpt}"


def _size(part: Part) -> str:
    match part:
        case Text() | Thinking():
            return f"{len(part.text):6} characters"
        case ToolCall():
            return f"{part.name} ({part.id})"
        case ToolResult():
            return part.call_id
        case Media():
            return part.mime or "media"
        case Opaque():
            kind = part.value.get("type") if isinstance(part.value, dict) else None
            return str(kind or "of an unknown kind")


def _excerpt(part: Part) -> str:
    match part:
        case Text() | Thinking():
            text = part.text
        case ToolCall():
            text = part.arguments
        case _:
            return ""
    line = " ".join(text.split())
    return line if len(line) <= _EXCERPT else line[: _EXCERPT - 3] + "..."
