"""What a person types into `innervoice chat`: lines with a history and completion, texts of several lines, and where sessions are saved.

At the prompt Ctrl+C drops the line; twice within a second it ends the session, and so does Ctrl+D.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from innervoice.cli.files import FileError, standard_input
from innervoice.cli.parameters import model_names

__all__ = ["ChatInput", "last_session", "new_session"]

_TWICE_SECONDS = 1.0
_MOST_LINES = 2_000
_SESSIONS = "chats"
_BLOCK = '"""'


def state_folder() -> Path:
    """The folder for what commands remember: sessions, and what was typed."""
    home = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(home) / "innervoice"


def new_session() -> Path:
    """The file of a new session."""
    name = time.strftime("%Y-%m-%d-%H%M%S")
    return state_folder() / _SESSIONS / f"{name}-{os.getpid()}.json"


def last_session() -> Path:
    """The file of the last session; raises an error if there is none."""
    folder = state_folder() / _SESSIONS
    files = sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime)
    if not files:
        raise FileError(f"There is no session to continue in {folder}.")
    return files[-1]


class ChatInput:
    """Reads what a person says, or the lines of a file."""

    def __init__(self, words: Sequence[str]) -> None:
        self.is_interactive = standard_input().isatty()
        self._interrupted = float("-inf")
        self._readline: Any = None
        if self.is_interactive:
            self._prepare(words)

    def read(self) -> str | None:
        """The next text, of one or several lines; None at the end."""
        if not self.is_interactive:
            return standard_input().readline() or None
        while True:
            try:
                return self._text()
            except EOFError:
                click.echo("", err=True)
                return None
            except KeyboardInterrupt:
                now = time.monotonic()
                click.echo("", err=True)
                if now - self._interrupted < _TWICE_SECONDS:
                    return None
                self._interrupted = now

    def _text(self) -> str:
        line = input("> ")
        if line.strip().startswith(_BLOCK):
            return self._block(line.strip()[len(_BLOCK) :])
        lines = [line]
        while lines[-1].endswith("\\"):
            lines[-1] = lines[-1][:-1]
            lines.append(input("… "))
        return "\n".join(lines)

    def _block(self, first: str) -> str:
        lines = [first]
        while not lines[-1].rstrip().endswith(_BLOCK):
            lines.append(input("… "))
        lines[-1] = lines[-1].rstrip()[: -len(_BLOCK)]
        return "\n".join(lines).strip("\n")

    # ---- history and completion ------------------------------------------------------------------

    def _prepare(self, words: Sequence[str]) -> None:
        try:
            import readline
        except ImportError:
            return
        self._readline = readline
        file = state_folder() / "chat_history"
        with contextlib.suppress(OSError):
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            readline.read_history_file(file)
        readline.set_history_length(_MOST_LINES)
        readline.set_completer(_Completer(words).complete)
        readline.set_completer_delims(" ")
        readline.parse_and_bind("tab: complete")
        context = click.get_current_context(silent=True)
        if context is not None:
            context.call_on_close(lambda: _write_history(readline, file))


def _write_history(readline: Any, file: Path) -> None:
    with contextlib.suppress(OSError):
        readline.write_history_file(file)
        file.chmod(0o600)


class _Completer:
    """Completes commands at the beginning of a line, and models behind /model."""

    def __init__(self, words: Sequence[str]) -> None:
        self._commands = sorted(f"/{word}" for word in words)

    def complete(self, text: str, number: int) -> str | None:
        """The n-th completion of a word, as readline asks for it."""
        known = self._commands if text.startswith("/") else model_names()
        matches = [name for name in known if name.startswith(text)]
        return matches[number] if number < len(matches) else None
