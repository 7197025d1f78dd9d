"""`innervoice chat`: a session that keeps its history, is saved as it goes on, and can switch between models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from innervoice.cli.chat_input import ChatInput, last_session, new_session
from innervoice.cli.connect import (
    ChosenModel,
    Connection,
    chosen_model,
    connect,
    setting_of,
    tools_in,
)
from innervoice.cli.files import FileError
from innervoice.cli.output import show_events
from innervoice.cli.parameters import (
    EFFORT,
    FILE,
    MODEL,
    emulated_option,
    full_model_name,
    meant,
    show_option,
)
from innervoice.errors import InnervoiceError
from innervoice.show.policy import check_policy

__all__ = ["command"]

_COMMANDS = """\
/model [NAME]    show the model, or switch to NAME (provider/model)
/effort [WORD]   the reasoning effort: none, low, medium, high, ..., a number of tokens, or default
/show [WORD]     how much reasoning is shown: full, summary, length, none
/plan            what would be sent of the history now, and why the rest is left out
/usage           token counts so far
/save FILE       save the session to a file as well; /load FILE continues it
/trim N          keep only the last N turns
/help            list the commands
/quit            end the session; so do Ctrl+D, and Ctrl+C twice

A line that ends with \\ goes on in the next one; \"\"\" begins and ends a text of several lines."""

_EPILOG = """\
\b
Examples:
  innervoice chat
  innervoice chat -m openai/gpt-5.6 -e high --tools tools.py
  innervoice chat --resume                  the last session
  innervoice chat --load session.json
\b
In the session:
""" + "\n".join(f"  {line}" for line in _COMMANDS.splitlines())


@click.command("chat", epilog=_EPILOG)
@click.option("-m", "--model", type=MODEL, help="The first model, as provider/model; INNERVOICE_MODEL sets a default.")  # fmt: skip
@click.option("-e", "--effort", type=EFFORT, help="none, minimal, low, medium, high, xhigh, max, or a number of tokens.")  # fmt: skip
@click.option("-s", "--system", help="The system prompt.")
@show_option
@click.option("--keep", is_flag=True, help="Leave the reasoning on the screen.")
@click.option("--tools", "tools_file", type=FILE, help="A Python file whose functions the model may call.")  # fmt: skip
@click.option("--load", "saved", type=FILE, help="Continue a saved session.")
@click.option("--resume", is_flag=True, help="Continue the last session.")
@click.option("--no-save", is_flag=True, help="Do not save the session.")
@emulated_option("Use the emulator, even if there is an API key.")
def command(
    *,
    model: str | None,
    effort: str | None,
    system: str | None,
    show: str,
    keep: bool,
    tools_file: str | None,
    saved: str | None,
    resume: bool,
    no_save: bool,
    emulated: bool,
) -> None:
    """Chat with a model; switch to another model and back at any time."""
    chosen = chosen_model(model)
    name = chosen.name
    if resume and saved is None:
        saved = str(last_session())
    try:
        session = Session(
            connect(chosen, emulated=emulated),
            name,
            tools_in(tools_file),
            show,
            emulated=emulated,
            keep=keep,
        )
        session.chat.system = system
        session.set_effort(effort)
        if saved:
            session.do_load(saved)
            if model:
                session.do_model(model)
    except InnervoiceError as error:
        raise click.ClickException(str(error)) from None
    if not no_save:
        session.place = Path(saved) if resume and saved else new_session()
    session.run()


class Session:
    """A conversation and how it is shown."""

    def __init__(
        self,
        connection: Connection,
        model: str,
        tools: list[Any],
        show: str,
        *,
        emulated: bool,
        keep: bool,
    ) -> None:
        self._must_emulate = emulated
        self._is_emulated = connection.emulated
        self._show: Any = show
        self._effort: str | None = None
        self._keep = keep
        self.chat = connection.client.conversation(model, tools=tools)
        self.place: Path | None = None
        """Where the session is saved after each turn; None if it is not."""

    def run(self) -> None:
        """Reads lines until the end of the input."""
        words = tuple(name.removeprefix("do_") for name in dir(self) if name.startswith("do_"))
        lines = ChatInput((*words, "quit"))
        if lines.is_interactive:
            click.echo(f"{self.chat.model}; /help lists the commands.", err=True)
        while True:
            text = lines.read()
            if text is None or text.strip() == "/quit":
                break
            try:
                self._take(text.strip())
            except (InnervoiceError, click.ClickException, ValueError) as error:
                click.echo(f"! {error}", err=True)
            except KeyboardInterrupt:
                if not lines.is_interactive:
                    raise
                click.echo("! stopped", err=True)
            self._save()
        if lines.is_interactive and self.place is not None and self.place.exists():
            click.echo("The session is saved; innervoice chat --resume continues it.", err=True)

    def _save(self) -> None:
        """Saves the session; if that fails, says so once, and goes on."""
        if self.place is None or not self.chat.history:
            return
        try:
            self.place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.chat.save(self.place)
            self.place.chmod(0o600)
        except OSError as error:
            click.echo(f"! Cannot write {self.place}: {error.strerror}.", err=True)
            self.place = None

    def _take(self, line: str) -> None:
        if not line:
            return
        if not line.startswith("/"):
            self._say(line)
            return
        word, _, rest = line[1:].partition(" ")
        do: Callable[[str], None] | None = getattr(self, f"do_{word}", None)
        if do is None:
            known = [name.removeprefix("do_") for name in dir(self) if name.startswith("do_")]
            hint = meant(word, known) or " /help lists the commands."
            click.echo(f"! Unknown command /{word}.{hint}", err=True)
        else:
            do(rest.strip())

    def _say(self, text: str) -> None:
        with self.chat.stream(text) as events:
            show_events(events, self._show, keep=self._keep)

    def set_effort(self, effort: str | None) -> None:
        """Sets the effort for all turns from now on."""
        self._effort = effort
        self.chat.settings["reasoning"] = setting_of(effort, self._show)

    # ---- the commands ----------------------------------------------------------------------------

    def do_help(self, _: str) -> None:
        """Lists the commands."""
        click.echo(_COMMANDS)

    def do_model(self, name: str) -> None:
        """Shows or changes the model."""
        if name:
            name = full_model_name(name)
            if not self._is_emulated:
                connection = connect(ChosenModel(name, is_named=True), emulated=self._must_emulate)
                self.chat.client, self._is_emulated = connection.client, connection.emulated
            self.chat.switch(name)
        click.echo(self.chat.model)

    def do_effort(self, word: str) -> None:
        """Shows or changes the effort."""
        if word:
            self.set_effort(EFFORT.convert(word, None, None))
        click.echo(f"effort: {self._effort or 'model default'}")

    def do_show(self, word: str) -> None:
        """Shows or changes how much of the reasoning is shown."""
        if word:
            check_policy(word)
            self._show = word
            self.set_effort(self._effort)
        click.echo(f"show: {self._show}")

    def do_plan(self, _: str) -> None:
        """Shows what would be sent."""
        click.echo(str(self.chat.plan()))

    def do_usage(self, _: str) -> None:
        """Shows the token counts so far."""
        usage = self.chat.usage
        counts = {"in": usage.input_tokens, "out": usage.output_tokens, "of it reasoning": usage.reasoning_tokens}  # fmt: skip
        words = ", ".join(
            f"{count:,} {what}" for what, count in counts.items() if count is not None
        )
        click.echo(f"tokens: {words or 'none so far'}")

    def do_save(self, path: str) -> None:
        """Writes the session to a file."""
        if not path:
            raise click.UsageError("/save takes the name of a file")
        try:
            self.chat.save(path)
        except OSError as error:
            raise FileError(f"Cannot write {path}: {error.strerror}.") from None
        click.echo(f"{len(self.chat.history)} messages written to {path}")

    def do_load(self, path: str) -> None:
        """Continues a session from a file."""
        try:
            self.chat.load(path)
        except OSError as error:
            raise FileError(f"Cannot read {path}: {error.strerror}.") from None
        click.echo(f"{len(self.chat.history)} messages with {self.chat.model}")

    def do_trim(self, turns: str) -> None:
        """Removes all but the last turns."""
        if not turns.isdigit() or turns == "0":
            click.echo("! /trim takes a number of turns, 1 or more", err=True)
            return
        self.chat.trim(int(turns))
        click.echo(f"{len(self.chat.history)} messages are left")
