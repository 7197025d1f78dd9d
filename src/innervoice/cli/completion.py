"""`innervoice completion`: the script that lets a shell complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

__all__ = ["command"]

_EPILOG = """\
\b
Examples:
  eval "$(innervoice completion bash)"                   in ~/.bashrc
  eval "$(innervoice completion zsh)"                    in ~/.zshrc
  innervoice completion fish > ~/.config/fish/completions/innervoice.fish
"""


@click.command("completion", epilog=_EPILOG)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, *, shell: str) -> None:
    """Print the completion script for SHELL."""
    kind = get_completion_class(shell)
    assert kind is not None
    root = context.find_root().command
    click.echo(kind(root, {}, "innervoice", "_INNERVOICE_COMPLETE").source())
