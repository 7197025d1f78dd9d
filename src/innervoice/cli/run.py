"""`innervoice run`: runs another program's client with its own gateway, for as long as it runs."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO
from urllib.parse import quote

import click
from click.shell_completion import CompletionItem

from innervoice.catalog.lookup import user_catalog
from innervoice.cli.parameters import emulated_option
from innervoice.errors import UsageError
from innervoice.installing import install_command
from innervoice.plugins import plugin, plugin_names

if TYPE_CHECKING:
    from innervoice.cli.run_summary import Summary
    from innervoice.gateway.routes import Routes


__all__ = ["Client", "ClientTarget", "clients", "command", "nearest_clients"]

_EPILOG = """\
\b
Examples:
  innervoice run claude --model gemini/gemini-3.5-flash
  innervoice run codex --model claude-opus-5-5 -- exec "fix the failing test"
  innervoice run gemini --emulated -- -p "What is 15 * 23?"     no API key: the emulator answers for every model
  innervoice run claude --emulated --script steps.json          the same, with tool calls of your own
  innervoice run claude --log full                              keeps texts, for innervoice view
  innervoice run claude --url http://127.0.0.1:8807             a gateway that is already running
  innervoice run --list                                         the clients, and how to install each

Arguments after -- are passed to the client, which gets the terminal and Ctrl+C; this command exits with the client's
status. The client's own configuration is not changed. At the end, a summary on standard error shows how much reasoning
was kept, and where to view it.

With --emulated the model calls no tools that act, unless a script says so.

The gateway has its own port, and uses the key and the store of `innervoice serve`. Needs the packages of innervoice[gateway].
"""
_NOT_FOUND = 127
"""The exit status of a shell for a program that it does not find."""


def _completed(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [
        CompletionItem(client.id, help=client.name)
        for client in clients().values()
        if client.id.startswith(incomplete) and not client.obstacle
    ]


@click.command("run", epilog=_EPILOG)
@click.argument("client", required=False, shell_complete=_completed)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--model", "-m", help="The model, as provider/model or a name in the config.")
@emulated_option("Let the emulator answer for every model.")
@click.option(
    "--script",
    type=click.Path(),
    help="With --emulated: a JSON file that says what the model does. Tools that act are called only by it.",
)
@click.option("--config", "file", type=click.Path(), help="The gateway's configuration.")
@click.option("--url", help="Use the gateway at this address instead of a new one.")
@click.option(
    "--key",
    envvar="INNERVOICE_CLIENT_KEY",
    help="A key for the gateway, if it requires one; INNERVOICE_CLIENT_KEY is safer.",
)
@click.option(
    "--report",
    type=click.File("w", encoding="utf-8", lazy=False),
    help="Write one line of JSON per request to this file, as GET /v1/explain/ID returns it.",
)
@click.option(
    "--log",
    type=click.Choice(["none", "shape", "full"]),
    help="What is kept of requests for innervoice view: nothing, no texts, or texts without seals and keys.  [default: the config's, shape]",
)
@click.option("--list", "listed", is_flag=True, help="List the clients, and exit.")
def command(
    *,
    client: str | None,
    arguments: tuple[str, ...],
    model: str | None,
    emulated: bool,
    script: str | None,
    file: str | None,
    url: str | None,
    key: str | None,
    report: TextIO | None,
    log: str | None,
    listed: bool,
) -> None:
    """Run CLIENT with any model through its own gateway, which keeps the reasoning."""
    if listed:
        for line in _list(os.environ):
            click.echo(line)
        return
    if client is None:
        raise click.UsageError("which client? `innervoice run --list` shows them")
    row = _row(client)
    program = row.path(os.environ)
    if program is None:
        raise _NotInstalledError(f"{row.program} is not installed; run: {row.install}")
    if row.needs_model and not model:
        raise click.UsageError(
            f"{row.id} needs a model, for example: --model gemini/gemini-3.5-flash"
        )
    if url and (emulated or script or file or report or log):
        raise click.UsageError(
            "--url cannot be used with --emulated, --script, --config, --report or --log"
        )
    if script and not emulated:
        raise click.UsageError("--script needs --emulated")
    try:
        gateway = (
            _running(url)
            if url
            else _gateway_here(model, file, key, report, log, emulated=emulated, script=script)
        )
        with (
            gateway as (address, summary),
            tempfile.TemporaryDirectory(prefix="innervoice-") as folder,
        ):
            window = _window(address, key, model) if model else None
            target = ClientTarget(address, key or "any", Path(folder), model, window)
            row.write_files(target)
            status = _run([program, *row.command(target), *arguments], row, target)
    except UsageError as error:
        raise click.ClickException(str(error)) from None
    for line in summary.lines():
        click.echo(f"innervoice: {line}", err=True)
    raise click.exceptions.Exit(status)


class _NotInstalledError(click.ClickException):
    exit_code = _NOT_FOUND


def _row(name: str) -> Client:
    row = clients().get(name)
    if row is None:
        near = " or ".join(nearest_clients(name))
        hint = f"did you mean {near}?" if near else "`innervoice run --list` shows them"
        raise click.UsageError(f"unknown client {name!r}; {hint}")
    if row.obstacle:
        raise click.UsageError(f"{row.name} cannot use a gateway: {row.obstacle}")
    return row


def _list(environ: Mapping[str, str]) -> Iterator[str]:
    width = max(map(len, clients())) + 2
    for client in clients().values():
        if client.obstacle:
            line = f"cannot be run: {client.obstacle}"
        elif client.path(environ):
            line = "installed" + (f"; {client.keeps}" if client.keeps else "")
        else:
            line = client.install
        yield f"{client.id:{width}}{client.name:20}{line}"


# ---- the gateway ---------------------------------------------------------------------------------


@contextlib.contextmanager
def _gateway_here(
    model: str | None,
    file: str | None,
    key: str | None,
    report: TextIO | None,
    log: str | None,
    *,
    emulated: bool,
    script: str | None,
) -> Iterator[tuple[str, Summary]]:
    """A gateway in this process: its URL, and its counts."""
    from innervoice.cli import serve
    from innervoice.cli.run_summary import RequestSummary

    if any(find_spec(name) is None for name in serve.PACKAGES):
        raise click.UsageError(f"the gateway needs: {install_command('gateway')}")
    from innervoice.gateway.in_thread import GatewayInThread

    summary = RequestSummary(report, priced=not emulated)
    gateway = serve.ServedGateway(
        file, "127.0.0.1", 0, emulated=emulated, script=script, log=log, output=summary
    )
    if gateway.config.keys and not key:
        raise UsageError("this configuration has [keys]; set one of them in INNERVOICE_CLIENT_KEY")
    if not emulated:
        _check_keys(gateway.routes_of(gateway.config), model)
    gateway.open_state()
    for note in gateway.state.notes:
        click.echo(f"innervoice: {note}", err=True)
    with GatewayInThread(gateway.create_app()) as server:
        yield server.url, summary
    summary.logs = gateway.logs


def _check_keys(routes: Routes, model: str | None) -> None:
    """Raises a `UsageError` if the model has no key, before a client starts that could only show errors; an unknown model is the client's to report."""
    from innervoice.gateway.routes import AmbiguousModelError, NotConfiguredError, UnknownModelError

    if model is None:
        if not routes.providers_with_keys:
            click.echo("innervoice: no provider has a key; set one, or try --emulated", err=True)
        return
    try:
        routes.route(model)
    except NotConfiguredError as error:
        raise UsageError(f"{error}; or try --emulated") from None
    except (AmbiguousModelError, UnknownModelError):
        return


@contextlib.contextmanager
def _running(url: str) -> Iterator[tuple[str, Summary]]:
    """A gateway that is already running: its counts before and after."""
    from innervoice.cli.run_summary import CountedSummary

    address = url.rstrip("/").removesuffix("/v1")
    summary = CountedSummary(address)
    yield address, summary
    summary.finish()


def _window(address: str, key: str | None, model: str) -> int | None:
    """The tokens that the model's context window holds, by the gateway's list of models; None if it does not know that."""
    import httpx2

    headers = {"anthropic-version": "2023-06-01", **({"x-api-key": key} if key else {})}
    try:
        url = f"{address}/anthropic/v1/models/{quote(model, safe='')}"
        reply = httpx2.get(url, headers=headers, timeout=5, trust_env=False)
        window = reply.json().get("context_window") if reply.status_code == 200 else None
    except (httpx2.HTTPError, ValueError, AttributeError):
        return None
    return window if isinstance(window, int) else None


# ---- the client ----------------------------------------------------------------------------------


def _run(arguments: Sequence[str], client: Client, target: ClientTarget) -> int:
    """Runs the client in this terminal; returns its exit status as a shell reports it."""
    with _signals() as forward_to:
        environment = client.environment(target, os.environ)
        process = subprocess.Popen(arguments, env=environment)  # noqa: S603 - what the user asked for
        forward_to(process)
        status = process.wait()
    return 128 - status if status < 0 else status


@contextlib.contextmanager
def _signals() -> Iterator[Any]:
    """Passes signals on to the client while it runs.

    A terminal sends Ctrl+C to the client as well, so it is only passed on if there is no terminal. Handlers do nothing else: an ignored
    signal would also be ignored by the client.
    """
    processes: list[subprocess.Popen[bytes]] = []
    has_terminal = any(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))  # fmt: skip

    def pass_on(number: int, _: object) -> None:
        # On Windows, Ctrl+C reaches the client in any case, and cannot be passed on.
        if number != signal.SIGINT or (os.name == "posix" and not has_terminal):
            for process in processes:
                process.send_signal(number)

    names = ("SIGINT", "SIGTERM", "SIGHUP")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {number: signal.signal(number, pass_on) for number in numbers}
    try:
        yield processes.append
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# ---- The rows of clients.toml, and what a row needs to run a client against a gateway: a command, variables and temporary files.


_PLACE = re.compile(r"\{(url|key|model|folder|window)\}")
_LOOPBACK = "127.0.0.1,localhost,::1"


@dataclass(frozen=True, slots=True)
class ClientTarget:
    """The gateway for a client, and the folder for the files of this run."""

    url: str
    key: str
    folder: Path
    model: str | None = None
    window: int | None = None
    """The tokens that the model's context window holds; None: unknown."""

    def fill(self, template: str, *, escaped: bool = False) -> str:
        """The template with its placeholders filled in; `escaped` for a text between double quotes."""
        values = {"url": self.url, "key": self.key, "folder": str(self.folder)}
        values |= {"model": self.model or "", "window": str(self.window or "")}

        def value(gap: re.Match[str]) -> str:
            text = values[gap[1]]
            return json.dumps(text)[1:-1] if escaped else text

        return _PLACE.sub(value, template)


@dataclass(frozen=True, slots=True)
class Client:
    """A row of clients.toml, which explains the columns."""

    id: str
    name: str
    program: str
    install: str
    source: str
    dialect: str = ""
    arguments: tuple[str, ...] = ()
    model_arguments: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    model_variables: Mapping[str, str] = field(default_factory=dict)
    window_arguments: tuple[str, ...] = ()
    window_variables: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    needs_model: bool = False
    keeps: str = ""
    obstacle: str = ""

    def path(self, environ: Mapping[str, str]) -> str | None:
        """The path of the program; None if it is not installed."""
        return shutil.which(self.program, path=environ.get("PATH"))

    def command(self, target: ClientTarget) -> list[str]:
        """The arguments that go before the user's own."""
        templates = [*self.arguments, *(self.model_arguments if target.model else ())]
        templates += self.window_arguments if target.window else ()
        return [target.fill(argument) for argument in templates]

    def environment(self, target: ClientTarget, environ: Mapping[str, str]) -> dict[str, str]:
        """The user's environment, pointed to the gateway."""
        variables = {
            name: value
            for name, value in environ.items()
            if not any(fnmatchcase(name, pattern) for pattern in self.unset)
        }
        # Requests to this machine must not go through a proxy.
        for name in ("NO_PROXY", "no_proxy"):
            variables[name] = ",".join(filter(None, (environ.get(name), _LOOPBACK)))
        templates = {**self.variables, **(self.model_variables if target.model else {})}
        templates |= self.window_variables if target.window else {}
        return variables | {
            name: target.fill(value, escaped=value.startswith('{"'))
            for name, value in templates.items()
        }

    def write_files(self, target: ClientTarget) -> None:
        """Writes the files of this run, which may contain the key: readable only by this user."""
        for name, template in self.files.items():
            path = target.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
            path.write_text(target.fill(template.lstrip("\n"), escaped=True), "utf-8")


@lru_cache(maxsize=1)
def clients() -> Mapping[str, Client]:
    """Every row, by its id; those of the user's own catalog win, and may have only the columns that differ."""
    text = Path(__file__).with_name("clients.toml").read_text("utf-8")
    rows = {row["id"]: row for row in tomllib.loads(text)["client"]}
    for name in plugin_names("clients"):
        for row in plugin("clients", name):
            rows.setdefault(row["id"], row)
    for row in user_catalog().clients:
        rows[row["id"]] = {**rows.get(row["id"], {}), **row}
    return {id_: _client(row) for id_, row in rows.items()}


def _client(row: Mapping[str, object]) -> Client:
    frozen = {
        name: tuple(value) if isinstance(value, list) else value for name, value in row.items()
    }
    return Client(**frozen)  # type: ignore[arg-type]


def nearest_clients(text: str) -> list[str]:
    """The ids that are most similar to a text, also by the name of the program or the product."""
    by_name = {
        name.lower(): client.id
        for client in clients().values()
        for name in (client.name, client.program, client.id)
    }
    close = get_close_matches(text.lower()[:100], list(by_name), 3)
    return list(dict.fromkeys(by_name[name] for name in close))
