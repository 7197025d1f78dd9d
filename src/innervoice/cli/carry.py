"""`innervoice carry`: a session of one agent goes on in another."""

from __future__ import annotations

from pathlib import Path
from typing import cast, get_args

import click

from innervoice.canon.jsontext import dump_json
from innervoice.cli.files import FileError
from innervoice.cli.parameters import FILE, MODEL, NEW_FILE, meant
from innervoice.cli.sources import FORMATS, open_file
from innervoice.errors import DecodeError, InnervoiceError
from innervoice.sources.opening import Source
from innervoice.sources.writers.carrying import WRITERS, CarriedSession, carry
from innervoice.sources.writers.fitting import Thoughts

__all__ = ["command"]

_EPILOG = f"""\
\b
Examples:
  innervoice carry ~/.codex/sessions/2026/11/19/rollout-....jsonl --to claude
  innervoice carry session.jsonl --to codex --dry-run        only says what would go along
  innervoice carry session.jsonl --to pi -m openai/gpt-5.6   goes on with this model
  innervoice carry opencode.db --to gemini --conversation ses_...

Writes a new session into the other agent's own folder, which CLAUDE_CONFIG_DIR, CODEX_HOME, GEMINI_CLI_HOME and
PI_CODING_AGENT_DIR move, and prints the command that goes on with it. opencode imports its file; the command does that
too. No existing file is changed.

A signature or other seal goes along only to a model that can read it. Reasoning that can be read goes along in the form
that the other agent has for it; most show it and do not send it to their model.

{FORMATS}
Exits with 0 if the session was written, 2 if the file, the target or the model is invalid.
"""
_WORDS = {
    "questions": ("question", "questions"),
    "answers": ("answer", "answers"),
    "calls": ("tool call", "tool calls"),
    "results": ("result", "results"),
    "thoughts": ("thought", "thoughts"),
    "seals": ("seal", "seals"),
}


@click.command("carry", epilog=_EPILOG)
@click.argument("session", type=FILE)
@click.option("--to", type=click.Choice(list(WRITERS)), required=True, help="The other agent.")
@click.option(
    "-m",
    "--model",
    type=MODEL,
    help="The model that it goes on with.  [default: the session's own, if the agent is made for it]",
)
@click.option(
    "--conversation", help="The id of a conversation in SESSION.  [default: the main one]"
)
@click.option(
    "--cwd",
    "folder",
    type=click.Path(file_okay=False),
    help="The folder of the project.  [default: that of the session, or the current one]",
)
@click.option(
    "--thoughts",
    type=click.Choice(get_args(Thoughts)),
    default="keep",
    show_default=True,
    help="Reasoning without a seal: in the agent's own form, as labelled text, or left out with all other reasoning.",
)
@click.option(
    "--out", type=NEW_FILE, help="Another file than in the agent's own folder.", metavar="FILE"
)
@click.option("--dry-run", is_flag=True, help="Write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(
    *,
    session: str,
    to: str,
    model: str | None,
    conversation: str | None,
    folder: str | None,
    thoughts: str,
    out: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Write the SESSION of an agent as a session of another, which goes on with it there."""
    try:
        source = open_file(session)
        _check_conversation(source, conversation)
        carried = carry(
            source,
            to,
            conversation=conversation,
            model=model,
            folder=folder,
            thoughts=cast("Thoughts", thoughts),
            path=out and Path(out).absolute(),
        )
    except DecodeError as error:
        raise click.UsageError(f"{session}: {error}") from None
    except InnervoiceError as error:
        raise click.UsageError(str(error)) from None
    if not dry_run:
        _save(carried)
    others = len(source.entries) - 1
    if as_json:
        click.echo(dump_json(_row(carried, others, written=not dry_run)).decode())
        return
    for line in _report(carried, source, others, moved=out is not None, written=not dry_run):
        click.echo(line)


def _check_conversation(source: Source, name: str | None) -> None:
    names = [entry.id for entry in source.entries]
    if name is not None and name not in names:
        some = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
        raise click.UsageError(
            f"there is no conversation {name}.{meant(name, names)} The file has {some}."
        )


def _save(carried: CarriedSession) -> None:
    try:
        carried.save()
    except FileExistsError:
        raise FileError(f"{carried.path} exists; name another file with --out.") from None
    except OSError as error:
        raise FileError(f"Cannot write {carried.path}: {error.strerror}.") from None


def _row(carried: CarriedSession, others: int, *, written: bool) -> dict[str, object]:
    notes = [
        {"code": note.code, "sentence": note.sentence, "detail": note.detail, "count": note.count}
        for note in carried.notes
    ]
    names = ("program", "id", "model", "folder", "path", "usual_path", "command", "counts")
    about = {name: getattr(carried, name) for name in names}
    return {**about, "written": written, "other_conversations": others, "notes": notes}


def _report(
    carried: CarriedSession, source: Source, others: int, *, moved: bool, written: bool
) -> list[str]:
    """What went along and what did not, and how the session goes on."""
    counts = carried.counts
    along = ", ".join(f"{counts[name]} {_WORDS[name][counts[name] != 1]}" for name in _WORDS)
    lines = [f"from {source.name} to {carried.program}: {along}"]
    lines += [f"note: {note}" for note in carried.notes]
    if others:
        rest = f"{others} other conversation{'' if others == 1 else 's'}"
        lines.append(f"left: {rest} of the file; --conversation names one: {_names(source)}")
    lines += [
        f"not read: {'' if line is None else f'line {line}: '}{why}"
        for line, why in source.troubles
    ]
    lines.append(f"{'written' if written else 'would be written'}: {carried.path}")
    if moved and carried.usual_path:
        lines.append(f"{carried.program} looks for it at {carried.usual_path}")
    if not Path(carried.folder).is_dir():
        lines.append(f"{carried.folder} is not on this machine; --cwd names the project's folder")
    return [*lines, f"go on with: {carried.command}"]


def _names(source: Source) -> str:
    names = [entry.id for entry in source.entries[1:]]
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
