"""The root command, and where each command lives; a command is imported when it is run."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import ClassVar

import click

__all__ = ["innervoice"]


class LazyGroup(click.Group):
    """Commands by name of their module; only the one that runs is imported."""

    modules: ClassVar[tuple[str, ...]] = (
        "ask", "chat", "demo", "emulate", "split", "inspect", "lint", "repair", "models",
    )  # fmt: skip

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.modules:
            return None
        command: click.Command = import_module(f"innervoice.cli.{cmd_name}").command
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("innervoice"), prog_name="innervoice")
def innervoice() -> None:
    """Hear what a model thinks, keep it out of what it says, and give it back unharmed."""
