"""`innervoice view`: a local page that shows sessions, logs and answers, or a file to share."""

from __future__ import annotations

import os
import socket
import sys
import webbrowser
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

import click

from innervoice.cli.files import FileError, standard_input, write_file
from innervoice.cli.parameters import FILE, MODEL
from innervoice.cli.running import INTERRUPTED
from innervoice.errors import InnervoiceError
from innervoice.installing import install_command
from innervoice.show.policy import Policy, counted

if TYPE_CHECKING:
    from innervoice.view.library import Library

__all__ = ["command", "known_folders"]

_EPILOG = """\
\b
Examples:
  innervoice view                                        the sessions of the agents on this machine
  innervoice view ~/.claude/projects                     a folder: a list with search
  innervoice view session.jsonl --for openai/gpt-5.6     with the plan: what a request to this model would send
  innervoice view session.jsonl --export session.html    one file to share; also .md and .json
  innervoice view one.jsonl two.jsonl --side-by-side     two runs of the same prompt, turn by turn
  curl -sN https://... | innervoice view -               a captured response

The page is served on this machine only, at a URL with a token. Files are only read, never changed.
Needs the packages of innervoice[view].
"""
_PACKAGES = ("starlette", "uvicorn")
_USUAL_PORT = 8809


def known_folders() -> list[Path]:
    """Where agents keep their sessions on this machine, and the gateway its requests; those that exist."""
    from innervoice.gateway.operations.state import LOG_FOLDER, state_folder
    from innervoice.sources.program_folders import PROGRAM_FOLDERS, session_folder

    folders = [session_folder(kind, os.environ, Path.home()) for kind in PROGRAM_FOLDERS]
    folders.append(state_folder(os.environ) / LOG_FOLDER)
    return [folder for folder in folders if folder.is_dir()]


@click.command("view", epilog=_EPILOG)
@click.argument("paths", type=FILE, nargs=-1, metavar="[PATH ...|-]")
@click.option(
    "--for",
    "target",
    type=MODEL,
    help="Show what a request to this model would send, as provider/model.",
)
@click.option(
    "--show",
    type=click.Choice(get_args(Policy)),
    help="How much of the reasoning is shown.  [default: summary; full with --export]",
)
@click.option(
    "--export", "file", type=click.Path(), help="Write FILE.html, FILE.md or FILE.json, and exit."
)
@click.option(
    "--side-by-side",
    is_flag=True,
    help="Show two files turn by turn; with --export, one HTML file of both.",
)
@click.option("--force", is_flag=True, help="Let --export replace an existing file.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="The port to listen on.  [default: 8809, or a free one]",
)
@click.option("--no-browser", is_flag=True, help="Only print the URL.")
def command(
    *,
    paths: tuple[str, ...],
    target: str | None,
    show: str | None,
    file: str | None,
    side_by_side: bool,
    force: bool,
    host: str,
    port: int | None,
    no_browser: bool,
) -> None:
    """Show what models thought, did and said in sessions, logs, traces and captured responses.

    PATH is a file or a folder, - is standard input. Formats are detected from the content.
    """
    if target is not None:
        _check_target(target)
    _check_packages()
    library = _library_in(paths)
    runs = _two_runs(library, paths) if side_by_side else None
    if file is not None and runs is not None:
        _export_runs(library, runs, file, show or "full", force=force)
        return
    if file is not None:
        _export(library, file, cast("Policy", show or "full"), force=force)
        return
    place = f"#runs=1&a={runs[0]}&b={runs[1]}" if runs else ""
    policy = cast("Policy", show or "summary")
    _serve(library, policy, target, host, port, no_browser=no_browser, place=place)


def _check_packages() -> None:
    for name in _PACKAGES:
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            if error.name not in _PACKAGES:
                raise
            raise click.UsageError(f"the viewer needs: {install_command('view')}") from None


def _check_target(target: str) -> None:
    from innervoice.catalog.targets import resolved

    try:
        resolved(target)
    except InnervoiceError as error:
        raise click.UsageError(str(error)) from None


def _library_in(paths: tuple[str, ...]) -> Library:
    from innervoice.view.library import Library

    files = [Path(path) for path in paths if path != "-"]
    if not paths:
        files = known_folders()
        if not files:
            raise FileError(
                "Name a file or a folder: there are no sessions of Claude Code, Codex, Gemini CLI, opencode, pi, Copilot CLI or Cline in this home."
            )
        click.echo(f"Looking at {_joined(files)}.", err=True)
    for path in files:
        try:
            path.stat()
        except OSError as error:
            raise FileError(f"Cannot read {path}: {error.strerror}.") from None
    try:
        library = Library(files, standard_input().buffer.read() if "-" in paths else None)
    except InnervoiceError as error:
        raise FileError(f"standard input: {error}.\n{_formats()}") from None
    # Only counted: a large file is opened when the page requests it.
    listed = library.sources(limit=0)
    if not listed["total"]:
        unknown = listed["unknown"]
        seen = f" ({counted(unknown, 'file')} of no known format)" if unknown else ""
        raise FileError(f"There is nothing to view in {_joined(files)}{seen}.\n{_formats()}")
    if "-" not in paths:
        _check_formats(files)
    return library


def _check_formats(paths: list[Path]) -> None:
    """Raises the error of the first file if no other was named."""
    from innervoice.sources.opening import open_source, reader_of

    try:
        if any(path.is_dir() or reader_of(path) is not None for path in paths):
            return
        open_source(paths[0])
    except InnervoiceError as error:
        raise FileError(f"{paths[0]}: {error}.\n{_formats()}") from None
    except OSError as error:
        raise FileError(f"Cannot read {error.filename or paths[0]}: {error.strerror}.") from None


def _joined(paths: list[Path]) -> str:
    return ", ".join(map(str, paths))


def _formats() -> str:
    from innervoice.sources.opening import reader_names

    names = reader_names()
    return f"It knows {', '.join(names)}."


def _two_runs(library: Library, paths: tuple[str, ...]) -> tuple[str, str]:
    """The main conversations of the two files, in the order in which they were named."""
    listed = library.sources(limit=3)
    if listed["total"] != 2 or not all(source["first"] for source in listed["sources"]):
        raise FileError(
            f"--side-by-side takes two files that can be opened, and there are {listed['total']:,}."
        )
    names = [Path(path).name for path in paths]
    places = {name: number for number, name in reversed(list(enumerate(names)))}
    first, second = sorted(listed["sources"], key=lambda source: places.get(source["path"], 0))
    return library.canonical_id(first["first"]), library.canonical_id(second["first"])


def _export_runs(
    library: Library, runs: tuple[str, str], file: str, show: str, *, force: bool
) -> None:
    from innervoice.view.runs import export_runs

    if not file.lower().endswith((".html", ".htm")):
        raise click.UsageError("--side-by-side writes a file that ends with .html")
    write_file(file, export_runs(library, runs, show).data, force=force)
    click.echo(f"Wrote {file}.", err=True)


def _export(library: Library, file: str, show: Policy, *, force: bool) -> None:
    from innervoice.view.export import export_of, form_of

    listed = library.sources(limit=2)
    if listed["total"] > 1:
        first = listed["sources"][0]
        raise FileError(
            f"--export takes one source, and there are {listed['total']:,}; name a file. The newest is {first['path']}."
        )
    try:
        exported = export_of(library, listed["sources"][0]["first"], form_of(file), show)
    except InnervoiceError as error:
        raise click.UsageError(str(error)) from None
    write_file(file, exported.data, force=force)
    for sentence in exported.omissions:
        click.echo(sentence, err=True)
    click.echo(f"Wrote {file}.", err=True)


def _listening(host: str, port: int | None) -> socket.socket:
    """The usual port, where a browser remembers the last choices; a free one if another viewer uses it."""
    from innervoice.view.server import bound_socket

    for number in (_USUAL_PORT, 0) if port is None else (port,):
        try:
            return bound_socket(host, number)
        except OSError as error:
            if number == _USUAL_PORT and port is None:
                continue
            reason = error.strerror or error
            raise click.ClickException(f"cannot listen on {host}:{number}: {reason}") from None
    raise AssertionError("the last one is returned or raised")


def _serve(
    library: Library,
    show: Policy,
    target: str | None,
    host: str,
    port: int | None,
    *,
    no_browser: bool,
    place: str = "",
) -> None:
    from innervoice.view.guard import Settings
    from innervoice.view.server import first_address, guarded, run

    listening = _listening(host, port)
    settings = guarded(Settings(policy=show, target=target), host)
    address = first_address(listening, settings, place)
    listening.listen()  # whoever is fast waits instead of being refused
    click.echo(address)
    if not settings.only_loopback:
        sentence = "Other machines reach it by this machine's address or name, with the same port and token; whoever has the token sees everything."
        click.echo(sentence, err=True)
    click.echo("Stop with Ctrl+C.", err=True)
    sys.stdout.flush()
    if not no_browser:
        webbrowser.open(address)
    with suppress(KeyboardInterrupt):
        run(listening, library, settings)
    raise click.exceptions.Exit(INTERRUPTED)  # it serves until Ctrl+C
