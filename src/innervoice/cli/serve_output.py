"""The output of `innervoice serve`: how to reach it, and a line for each request."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import click

from innervoice.gateway.operations.journal import json_line, terminal_line
from innervoice.gateway.operations.state import public_url
from innervoice.gateway.report import Report
from innervoice.installing import install_command
from innervoice.show.visible import visible

__all__ = ["ServeOutput", "client_lines", "older_version_line", "store_line", "view_lines"]

_CLIENTS = (
    ("Claude Code", "ANTHROPIC_BASE_URL={url} ANTHROPIC_AUTH_TOKEN={key} claude --model {model}"),
    ("OpenAI SDKs", "OPENAI_BASE_URL={url}/v1 OPENAI_API_KEY={key}"),
    ("Gemini", "GOOGLE_GEMINI_BASE_URL={url} GEMINI_API_KEY={key}"),
    ("Ollama", "OLLAMA_HOST={url}"),
)


_FLUSH_SECONDS = 0.05
"""Lines of this many seconds are written at once."""


class ServeOutput:
    """Standard output: requests, and messages of the server; with JSON lines the messages go to standard error."""

    def __init__(self, log_format: str) -> None:
        self._json = log_format == "json"
        self._open = True
        self._timer: asyncio.TimerHandle | None = None
        self._colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR")

    def say(self, text: str) -> None:
        """Writes a line for people."""
        self._write(visible(text), err=self._json)

    def request(self, report: Report) -> None:
        """Writes the line of a request that has ended."""
        if self._json:
            self._write(json_line(report), soon=True)
        else:
            line = terminal_line(report)
            self._write(_coloured(line, report) if self._colours else line, soon=True)

    def flush(self) -> None:
        """Writes what waits to be written."""
        self._timer = None
        self._guarded(sys.stdout.flush)

    def _write(self, line: str, *, err: bool = False, soon: bool = False) -> None:
        """Writes a line; with `soon`, together with others of the same moment."""
        stream = sys.stderr if err else sys.stdout
        self._guarded(lambda: stream.write(f"{line}\n"))
        if not soon:
            self._guarded(stream.flush)
        elif self._timer is None:
            try:
                self._timer = asyncio.get_running_loop().call_later(_FLUSH_SECONDS, self.flush)
            except RuntimeError:  # no event loop
                self.flush()

    def _guarded(self, work: Callable[[], object]) -> None:
        # The reader of the output may be gone; the gateway must not fail because of its log.
        if self._open:
            try:
                work()
            except OSError:
                self._open = False


def _coloured(line: str, report: Report) -> str:
    head, blanks, rest = line.partition("  ")
    colour = None if 200 <= report.status < 300 and not report.error else "red"
    return click.style(head, fg=colour, bold=True) + blanks + click.style(rest, dim=True)


def client_lines(url: str, model: str, key: str) -> Iterator[str]:
    """How each kind of client is pointed to the gateway."""
    for name, variables in _CLIENTS:
        yield f"{name:13} {variables.format(url=url, key=key, model=model)}"


def view_lines(
    url: str, log: str, folder: Path | None, lasting: Path | None, *, has_keys: bool
) -> Iterator[str]:
    """Where requests can be viewed, and what is kept of them."""
    if log == "none" or folder is None:
        yield 'View: requests are not logged; set server.log to "shape" or "full" to log them'
        return
    what = "their shape, without texts" if log == "shape" else "texts, without seals and keys"
    where = f"in {folder}" if lasting else "until the gateway stops"
    if find_spec("starlette") is None:
        yield f"View: {install_command('view')}; logged of requests: {what}, {where}"
        return
    address = (
        f"{url}/view?key=KEY, with the key of an owner, or with any key for its own requests"
        if has_keys
        else f"{url}/view"
    )
    yield f"View: {address}; logged of requests: {what}, {where}"


_OLDER = (
    "Version 0.2.1 on this store, beside this one or after a rollback: finds its turns and keys; leaves out Claude's thinking of requests with a billing "
    "line (Claude Code), and counts callers' limits apart"
)
"""What the version before does not find; for one release."""


def older_version_line(store: str | None, remember: str) -> str | None:
    """What an older version does not find of what is stored; None where nothing outlives the process."""
    return None if store is None or remember in ("off", "ram") else _OLDER


def store_line(store: str | None, remember: str, workers: int) -> str:
    """Where turns are kept; a URL is shown without its password."""
    if remember == "off":
        return "Store: none"
    if store is None or remember == "ram":
        whose = "each worker, which the others cannot read" if workers > 1 else "this process"
        return f"Store: the memory of {whose}"
    return f"Store: {public_url(store)}"
