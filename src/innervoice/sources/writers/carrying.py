"""A session of any agent -> a session of another agent, which goes on with it there.

carried = carry("~/.codex/sessions/.../rollout-....jsonl", "claude")
carried.save()
print(carried.command)    # cd /home/me/shop && claude --resume 5f0c... --model claude-opus-5-5
"""

from __future__ import annotations

import os
import shlex
import time
from pathlib import Path

from innervoice.canon.notes import Note
from innervoice.canon.target import Target
from innervoice.canon.value import Value
from innervoice.catalog.lookup import host_of
from innervoice.catalog.targets import resolved
from innervoice.errors import UsageError
from innervoice.sources.conversation import Conversation
from innervoice.sources.opening import Source, open_source
from innervoice.sources.program_folders import session_folder
from innervoice.sources.writers import claude_code, codex, gemini_cli, opencode, pi
from innervoice.sources.writers.fitting import Fitting, Thoughts, author_of_turn
from innervoice.sources.writers.writer import NewSession, SessionWriter

__all__ = ["WRITERS", "CarriedSession", "carry"]

WRITERS = {
    writer.name: writer
    for writer in (
        claude_code.WRITER,
        codex.WRITER,
        gemini_cli.WRITER,
        opencode.WRITER,
        pi.WRITER,
    )
}
"""By the names that users type."""


class CarriedSession(Value, frozen=True, kw_only=True):
    """A session as another program stores it, not yet written."""

    program: str
    """The program that it is for, in words."""
    id: str
    """The id of the new session."""
    model: str
    """The model that it goes on with, as provider/model."""
    folder: str
    """The path of the project."""
    content: bytes
    """The file."""
    path: str
    """Where the file will be."""
    usual_path: str | None
    """Where the program looks for it; None for opencode, which imports it from any place."""
    arguments: tuple[tuple[str, ...], ...]
    """The commands that go on with it, one after the other, in the folder of the project."""
    counts: dict[str, int]
    """How many questions, answers, calls, results, thoughts and seals went along, and how many seals did not."""
    notes: tuple[Note, ...] = ()
    """What stays in the source, and what was changed."""

    @property
    def command(self) -> str:
        """The commands as one line for a shell."""
        is_here = self.folder == os.path.realpath(Path.cwd())
        steps = [] if is_here else [f"cd {shlex.quote(self.folder)}"]
        return " && ".join([*steps, *map(shlex.join, self.arguments)])

    def save(self, path: Path | str | None = None) -> Path:
        """Writes the file, with the folders above it; raises `FileExistsError` if there is one.

        :param path: Another place than `path`.
        """
        file = Path(path or self.path)
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as stream:
            stream.write(self.content)
        return file


def carry(
    session: Path | str | bytes | Source,
    to: str,
    *,
    conversation: str | None = None,
    model: str | None = None,
    folder: Path | str | None = None,
    thoughts: Thoughts = "keep",
    path: Path | str | None = None,
) -> CarriedSession:
    """A session of any agent as a session of another one; nothing is written until `save`.

    :param session: A file, its content, or an opened source.
    :param to: The other agent: "claude", "codex", "gemini", "opencode" or "pi".
    :param conversation: The id of a conversation in the file; by default its main one.
    :param model: The model that it goes on with, as `provider/model`; by default the session's own, where the other agent is made for it.
    :param folder: The path of the project; by default that of the session, or the current folder.
    :param thoughts: What becomes of reasoning without a seal: "keep", "text" or "none".
    :param path: Where the file will be, if not in the agent's own folder.
    """
    writer = WRITERS.get(to)
    if writer is None:
        raise UsageError(f"expected one of {', '.join(WRITERS)} as the agent, not {to!r}")
    source = session if isinstance(session, Source) else open_source(session)
    chosen = source.conversation(conversation)
    entry = next(entry for entry in source.entries if entry.id == chosen.id)
    target = resolved(model or _usual_model(source, chosen, writer))
    if not (writer.runs_elsewhere or _is_at_home(writer, target)):
        raise UsageError(
            f"{writer.program} goes on with models of {writer.home} only, not with {model}"
        )
    fitting = Fitting(writer, target, thoughts, source=source.kind)
    at = time.time()
    turns = fitting.turns(chosen, entry.at or at)
    if not turns:
        raise UsageError("there is nothing to carry: the conversation has no turns")
    new = NewSession(
        id=writer.new_id(at),
        target=target,
        folder=os.path.realpath(folder or entry.folder or Path.cwd()),
        at=at,
        title=chosen.title,
        turns=turns,
        is_same_program=source.kind == writer.kind,
    )
    usual = str(writer.place(new, session_folder(writer.kind, os.environ, Path.home())))
    place = str(path or usual)
    return CarriedSession(
        program=writer.program,
        id=new.id,
        model=f"{target.provider}/{target.model}",
        folder=new.folder,
        content=writer.write(new),
        path=place,
        usual_path=None if writer.imports else usual,
        arguments=_commands(writer, new, place),
        counts=fitting.counts(turns),
        notes=fitting.notes,
    )


def _usual_model(source: Source, conversation: Conversation, writer: SessionWriter) -> str:
    """The last model of the session, if the program is made for models of its provider, or had it before; else the program's usual one."""
    had = source.kind == writer.kind and writer.runs_elsewhere
    for turn in reversed(conversation.turns):
        author = author_of_turn(turn)
        host = host_of(author.provider) if author.provider else None
        if turn.message.role != "assistant" or host is None or not author.model:
            continue
        if had or writer.home in (None, host.id):
            return f"{host.id}/{author.model}"
    return writer.model


def _is_at_home(writer: SessionWriter, target: Target) -> bool:
    return writer.home is None or target.provider == writer.home


def _commands(writer: SessionWriter, session: NewSession, path: str) -> tuple[tuple[str, ...], ...]:
    """The commands that go on with a session: through the gateway, if the program is not made for the model."""
    target = session.target
    arguments = writer.resumed(session)
    imported = ((writer.name, *writer.imports, path),) if writer.imports else ()
    if _is_at_home(writer, target):
        model = (writer.model_option, writer.model_name(target))
        return (*imported, (writer.name, *arguments, *model))
    model_id = f"{target.provider}/{target.model}"
    return (*imported, ("innervoice", "run", writer.name, "-m", model_id, "--", *arguments))
