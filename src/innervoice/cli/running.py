"""Runs the root command: every failure is one sentence on standard error and an exit status.

0    success                     2    a usage error: an argument or a file that cannot be used
1    the command failed          130  interrupted with Ctrl+C
"""

from __future__ import annotations

import codecs
import io
import os
import sys

import click

from innervoice.errors import UsageError
from innervoice.installing import extra_with, install_command
from innervoice.show.visible import visible

__all__ = ["INTERRUPTED", "run"]

INTERRUPTED = 130
_SHOW_CURSOR = "\x1b[?25h"


def run(command: click.Command) -> int:
    """Runs the command and returns its exit status."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - stays open to the end
    if sys.stdout is None:
        return _failed("Standard output is closed.")
    _accept_any_character()
    try:
        status = _status(command)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()  # the reader of the output is gone
        return 1
    except OSError as error:
        _discard_output()
        place = f"{error.filename}: " if error.filename else ""
        return _failed(f"{place}{error.strerror or error}.")
    return status


def _accept_any_character() -> None:
    """Lets output have characters that its encoding lacks: redirected, Windows has one of 256 characters, and so have old terminals.

    A file gets UTF-8 then; a terminal, and an encoding that the user has chosen, get question marks.
    """
    for stream in (sys.stdout, sys.stderr):
        if (
            not isinstance(stream, io.TextIOWrapper)
            or codecs.lookup(stream.encoding).name == "utf-8"
        ):
            continue
        if stream.isatty() or "PYTHONIOENCODING" in os.environ:
            stream.reconfigure(errors="replace")
        else:
            stream.reconfigure(encoding="utf-8")


def _status(command: click.Command) -> int:
    try:
        status = command.main(prog_name="innervoice", standalone_mode=False)
    except click.ClickException as error:
        text = io.StringIO()
        error.show(text)
        click.echo(visible(text.getvalue()), err=True, nl=False)
        return error.exit_code
    except ModuleNotFoundError as error:
        extra = extra_with((error.name or "").partition(".")[0])
        if extra is None:
            raise
        click.echo(f"Error: {error.name} is not installed: {install_command(extra)}", err=True)
        return 2
    except UsageError as error:  # such as a plugin that cannot be loaded
        return _failed(str(error))
    except (click.Abort, KeyboardInterrupt):
        for stream in (sys.stdout, sys.stderr):
            if stream.isatty():
                stream.write(_SHOW_CURSOR)
        click.echo("Interrupted.", err=True)
        return INTERRUPTED
    return status if isinstance(status, int) else 0


def _failed(message: str) -> int:
    click.echo(f"Error: {visible(message)}", err=True)
    return 1


def _discard_output() -> None:
    """Redirects stdout to the null device, so that the interpreter can flush it when it exits."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
