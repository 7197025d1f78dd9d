"""The root command; the module of a subcommand is imported when it is run."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import version
from typing import ClassVar

import click

__all__ = ["LazyGroup", "SuggestingGroup", "innervoice"]


class SuggestingGroup(click.Group):
    """A group that says what may be meant by a misspelled subcommand."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The subcommand that was typed; an unknown one is refused with what may be meant."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            similar = get_close_matches(args[0], self.list_commands(ctx), 3)
            hint = f" Did you mean {' or '.join(similar)}?" if similar else ""
            ctx.fail(f"No such command: {args[0]}.{hint}")
        return super().resolve_command(ctx, args)


class LazyGroup(SuggestingGroup):
    """A group whose subcommands are modules; only the module of the one that runs is imported."""

    modules: ClassVar[tuple[str, ...]] = (
        "ask", "chat", "run", "serve", "keys", "store", "demo", "emulate", "split", "bulk", "batch", "inspect", "lint", "repair", "carry", "view",
        "models", "probe", "completion",
    )  # fmt: skip

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.modules:
            return None
        return self.command_named(cmd_name)

    def command_named(self, name: str) -> click.Command:
        """Imports a subcommand."""
        command: click.Command = import_module(f"innervoice.cli.{name}").command
        return command


_EPILOG = """\
\b
Examples:
  innervoice demo                                        one conversation through four providers; needs no API key
  innervoice ask "What is 15 * 23?" -m openai/gpt-5.6 -e high
  innervoice chat                                        an interactive chat; /model switches to another model
  innervoice split answer.txt                            separates the reasoning from the answer
  innervoice lint session.jsonl --for anthropic/claude-opus-5-5
  innervoice carry session.jsonl --to codex              goes on in another agent
  innervoice view ~/.claude/projects                     sessions and logs in the browser, with all reasoning
  innervoice probe anthropic/claude-opus-5-5             measures a model, and compares it with the catalog
  innervoice emulate --port 8808                         a local server that emulates the providers
  innervoice serve --emulated                            a gateway: any client, any model
  innervoice run claude -m gemini/gemini-3.5-flash       a client with its own gateway

Each command has a --help with examples. API keys are read from the environment variables that each provider uses.
"""


@click.group(
    cls=LazyGroup, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(version("innervoice"), prog_name="innervoice")
def innervoice() -> None:
    """Read a model's reasoning, keep it out of the answer, and send it back intact."""
