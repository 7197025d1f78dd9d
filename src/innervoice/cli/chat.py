"""`innervoice chat`: a session that keeps its history and can switch between models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from innervoice.cli.connect import Connection, chosen_model, connect, setting_of, tools_in
from innervoice.cli.files import standard_input
from innervoice.cli.output import show_events
from innervoice.errors import InnervoiceError
from innervoice.show.policy import check_policy

__all__ = ["command"]

_COMMANDS = """\
/model [NAME]    show the model, or switch to NAME (provider/model)
/effort [WORD]   the reasoning effort: none, low, medium, high, ..., a number of tokens, or default
/show [WORD]     how much reasoning is shown: full, summary, length, none
/plan            what would be sent of the history now, and why the rest is left out
/usage           token counts so far
/save FILE       save the session to a file; /load FILE continues it
/trim N          keep only the last N turns
/help            list the commands
/quit            end the session; so does Ctrl+D"""

_EPILOG = """\
\b
Examples:
  innervoice chat
  innervoice chat -m openai/gpt-5.6 -e high --tools tools.py
  innervoice chat --load session.json
\b
In the session:
""" + "\n".join(f"  {line}" for line in _COMMANDS.splitlines())


@click.command("chat", epilog=_EPILOG)
@click.option("-m", "--model", help="The first model, as provider/model.")
@click.option(
    "-e", "--effort", help="none, minimal, low, medium, high, xhigh, max, or a number of tokens."
)
@click.option("-s", "--system", help="The system prompt.")
@click.option("--show", type=click.Choice(["full", "summary", "length", "none"]), default="full", show_default=True, help="How much of the reasoning is shown.")  # fmt: skip
@click.option("--keep", is_flag=True, help="Leave the reasoning on the screen.")
@click.option("--tools", "tools_file", help="A Python file whose functions the model may call.")
@click.option("--load", "saved", help="Continue a saved session.")
@click.option("--emulate", is_flag=True, help="Use the emulator, even if there is an API key.")
def command(
    *,
    model: str | None,
    effort: str | None,
    system: str | None,
    show: str,
    keep: bool,
    tools_file: str | None,
    saved: str | None,
    emulate: bool,
) -> None:
    """Chat with a model; switch to another model and back at any time."""
    name = chosen_model(model)
    try:
        session = Session(
            connect(name, emulate=emulate),
            name,
            tools_in(tools_file),
            show,
            emulate=emulate,
            keep=keep,
        )
        session.chat.system = system
        session.set_effort(effort)
        if saved:
            session.do_load(saved)
    except (InnervoiceError, OSError) as error:
        raise click.ClickException(str(error)) from None
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
        emulate: bool,
        keep: bool,
    ) -> None:
        self._emulate = emulate
        self._emulated = connection.emulated
        self._show: Any = show
        self._effort: str | None = None
        self._keep = keep
        self.chat = connection.client.conversation(model, tools=tools)

    def run(self) -> None:
        """Reads lines until the end of the input."""
        interactive = standard_input().isatty()
        if interactive:
            click.echo(f"{self.chat.model}; /help lists the commands.", err=True)
        while True:
            line = self._line(interactive=interactive)
            if line is None or line.strip() == "/quit":
                return
            try:
                self._take(line.strip())
            except (InnervoiceError, OSError) as error:
                click.echo(f"! {error}", err=True)
            except KeyboardInterrupt:
                if not interactive:
                    raise
                click.echo("! stopped", err=True)

    def _line(self, *, interactive: bool) -> str | None:
        try:
            return input("> ") if interactive else standard_input().readline() or None
        except EOFError:
            return None

    def _take(self, line: str) -> None:
        if not line:
            return
        if not line.startswith("/"):
            self._say(line)
            return
        word, _, rest = line[1:].partition(" ")
        do: Callable[[str], None] | None = getattr(self, f"do_{word}", None)
        if do is None:
            click.echo(f"! unknown command /{word}; /help lists the commands", err=True)
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
            if not self._emulated:
                connection = connect(name, emulate=self._emulate)
                self.chat.client, self._emulated = connection.client, connection.emulated
            self.chat.switch(name)
        click.echo(self.chat.model)

    def do_effort(self, word: str) -> None:
        """Shows or changes the effort."""
        if word:
            self.set_effort(word)
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
        self.chat.save(path)
        click.echo(f"{len(self.chat.history)} messages written to {path}")

    def do_load(self, path: str) -> None:
        """Continues a session from a file."""
        self.chat.load(path)
        click.echo(f"{len(self.chat.history)} messages with {self.chat.model}")

    def do_trim(self, turns: str) -> None:
        """Removes all but the last turns."""
        if not turns.isdigit() or turns == "0":
            click.echo("! /trim takes a number of turns, 1 or more", err=True)
            return
        self.chat.trim(int(turns))
        click.echo(f"{len(self.chat.history)} messages are left")
