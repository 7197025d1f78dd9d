"""The command line: `innervoice COMMAND`, with a module for each command."""

from __future__ import annotations

import sys

from innervoice.installing import install_command

__all__ = ["main"]


def main() -> None:
    """Runs the command line, or prints which packages it needs."""
    try:
        from innervoice.cli.commands import innervoice
        from innervoice.cli.running import run
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich"):
            raise
        print(
            f"The command line needs two more packages: {install_command('cli')}", file=sys.stderr
        )
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    raise SystemExit(run(innervoice))
