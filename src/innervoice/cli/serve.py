"""`innervoice serve`: the gateway, on a port of this machine."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import click

from innervoice.cli.parameters import emulated_option
from innervoice.cli.running import INTERRUPTED
from innervoice.cli.serve_output import (
    ServeOutput,
    client_lines,
    older_version_line,
    store_line,
    view_lines,
)
from innervoice.errors import UsageError
from innervoice.installing import install_command

if TYPE_CHECKING:
    from innervoice.bridges.otel.call import ServedSpans
    from innervoice.gateway.operations.journal import Journal
    from innervoice.gateway.operations.request_log import GatewayLog

__all__ = ["PACKAGES", "ServedGateway", "command"]

LogFormat: TypeAlias = Literal["text", "json"]

_EPILOG = """\
\b
Examples:
  innervoice serve                                       API keys from the environment
  innervoice serve --emulated                            no API key: the emulator answers for every model
  innervoice serve --config gateway.toml --workers 4
  innervoice serve --check --config gateway.toml         problems, and the models behind each name

\b
Then, in another terminal:
  ANTHROPIC_BASE_URL=http://127.0.0.1:8807 ANTHROPIC_AUTH_TOKEN=any claude --model gemini/gemini-3.5-flash
  OPENAI_BASE_URL=http://127.0.0.1:8807/v1 OPENAI_API_KEY=any python my_agent.py

\b
Signals:
  SIGTERM, Ctrl+C    no new connections; open streams have 30 seconds to finish; a second signal closes them
  SIGHUP             reloads the configuration, as a change of the file does; open streams continue

Needs the packages of innervoice[gateway].
"""
_USUAL = "gemini/gemini-3.5-flash"
_AT_START = ("key", "store", "keep_days", "keep_most_days", "keep_bytes", "log_bytes")
PACKAGES = ("aiohttp", "cryptography", "httptools", "uvicorn")


@click.command("serve", epilog=_EPILOG)
@click.option("--host", help="The address to listen on.  [default: 127.0.0.1, or the config's]")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="The port to listen on; 0 picks a free one.  [default: 8807, or the config's]",
)
@click.option("--config", "file", type=click.Path(), help="The configuration, a TOML file.")
@click.option(
    "--workers",
    type=click.IntRange(1, 1024),
    default=1,
    show_default=True,
    help="The number of processes; use one per core.",
)
@emulated_option("Let the emulator answer for every model.")
@click.option(
    "--script",
    type=click.Path(),
    help="With --emulated: a JSON file that says what the model does. Tools that act are called only by it.",
)
@click.option("--check", is_flag=True, help="Check and explain the configuration, and exit.")
@click.option("--print-config", is_flag=True, help="Print a configuration with all defaults to start from, and exit.")  # fmt: skip
@click.option("--demo", is_flag=True, help="Show what the gateway does for a client, and exit.")
@click.option(
    "--log",
    type=click.Choice(["none", "shape", "full"]),
    help="What is kept of requests for innervoice view: nothing, no texts, or texts without seals and keys.  [default: the config's, shape]",
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="The format of the line for each request on standard output.",
)
@click.option(
    "--otel",
    is_flag=True,
    help="Create a span for each request with the configured OpenTelemetry SDK, for example by opentelemetry-instrument.",
)
def command(
    *,
    host: str | None,
    port: int | None,
    file: str | None,
    workers: int,
    emulated: bool,
    script: str | None,
    check: bool,
    print_config: bool,
    demo: bool,
    log: str | None,
    log_format: LogFormat,
    otel: bool,
) -> None:
    """Serve every model to any client, in the client's own API.

    The gateway restores reasoning that a client drops before it forwards the next request.
    """
    if print_config:
        from innervoice.gateway import config

        click.echo(config.EXAMPLE.read_text("utf-8"), nl=False)
        return
    if script and not emulated:
        raise click.UsageError("--script needs --emulated")
    if not check and any(find_spec(name) is None for name in PACKAGES):
        raise click.UsageError(f"the gateway needs: {install_command('gateway')}")
    if demo:
        from innervoice.cli.gateway_demo import run

        run()
        return
    try:
        output = ServeOutput(log_format)
        gateway = ServedGateway(
            file, host, port, emulated=emulated, script=script, log=log, output=output
        )
        if otel:
            from innervoice.bridges.otel.call import ServedSpans

            gateway.spans = ServedSpans()
        if check:
            _check(gateway)
        else:
            _serve(gateway, workers)
    except UsageError as error:
        raise click.ClickException(str(error)) from None


class ServedGateway:
    """The gateway of a process: in the parent only its configuration, in a worker all of it."""

    def __init__(
        self,
        file: str | None,
        host: str | None,
        port: int | None,
        *,
        emulated: bool,
        output: ServeOutput,
        script: str | None = None,
        log: str | None = None,
    ) -> None:
        """`log` is what is kept of requests, whatever the configuration says; None: what that says."""
        self._log = log
        self.file = Path(file) if file else None
        self.output = output
        self._host = host
        self._port = port
        self._emulator: Any = None
        self.base_url_of: Callable[[str], str | None] | None = None
        if emulated:
            from innervoice.emulator.core import Emulator
            from innervoice.emulator.routes import base_urls

            # Before the workers are forked: data that one of them has sealed can be opened by the others.
            self._emulator = Emulator(script=script, acting_tools=False)
            self.base_url_of = base_urls("http://emulator").get
        self.state: Any = None
        """Its keys and its store, once it serves."""
        self.may_have_keys = False
        """Whether the store has callers' keys, or may have some, as far as is known."""
        self.config = self.load()
        self.shared: Path | None = None
        """Where workers share their counts and explanations."""
        self.log_folder: Path | None = None
        """Where requests are kept for the viewer, once it serves; None: nowhere."""
        self.spans: ServedSpans | None = None
        self._gateway: Any = None

    def load(self) -> Any:
        """Reads the configuration; raises a `UsageError` with everything that is wrong."""
        config = import_module("innervoice.gateway.config")
        emulated = self._emulator is not None
        loaded = config.load_config(
            self.file, os.environ, emulated=emulated, may_have_stored_keys=True
        )
        host = self._host or loaded.server.host
        problem = config.exposure_problem(host, loaded.keys)
        # A store that cannot be reached may have keys; requests without one are refused.
        if problem:
            self.may_have_keys = self._has_stored_keys(loaded) is not False
            if not self.may_have_keys:
                raise UsageError(problem)
        port = loaded.server.port if self._port is None else self._port
        log = self._log or loaded.server.log
        loaded = loaded.replace(server=loaded.server.replace(host=host, port=port, log=log))
        self.routes_of(loaded)  # what only they see is wrong as well
        return loaded

    def open_state(self) -> None:
        """Reads the gateway's key, or creates it, before workers are forked: they share it."""
        self.state = self._state_of(self.config)
        notes = import_module("innervoice.gateway.operations.store_check").start_notes(self.state)
        self.state = self.state._replace(notes=(*self.state.notes, *notes))
        if self._log is not None:  # also with --emulated, because the user asked for it
            state = import_module("innervoice.gateway.operations.state")
            folder = state.log_folder_in(state.state_folder(os.environ))
            self.state = self.state._replace(log_folder=folder)
        self.log_folder = self.state.log_folder
        self.may_have_keys = self._has_stored_keys(self.config) is not False

    def _state_of(self, config: Any) -> Any:
        state = import_module("innervoice.gateway.operations.state")
        return state.open_state(config, os.environ, emulated=self._emulator is not None)

    def _has_stored_keys(self, config: Any) -> bool | None:
        """Whether the store has callers' keys; None if it cannot be reached."""
        caller_store = import_module("innervoice.gateway.callers")
        has_keys: bool | None = caller_store.has_stored_keys(self.state or self._state_of(config))
        return has_keys

    def routes_of(self, config: Any) -> Any:
        """The model names of a configuration."""
        routes = import_module("innervoice.gateway.routes")
        return routes.Routes(config, os.environ, base_url_of=self.base_url_of)

    def reload(self, config: Any) -> None:
        """Applies another configuration."""
        before, after = self.config.server, config.server
        is_told_by_parent = self._gateway is not None and self.shared is not None
        if not is_told_by_parent and (before.host, before.port) != (after.host, after.port):
            self.output.say("The new host or port takes effect after a restart.")
        for name in _AT_START:
            if not is_told_by_parent and getattr(before, name) != getattr(after, name):
                self.output.say(f"The new server.{name} takes effect after a restart.")
        if self._gateway is not None:
            self._gateway.reload(config)
        self.config = config

    def create_app(self) -> Callable[..., Any]:
        """The application of a worker."""
        from innervoice.client.embedded import embedded_async_http
        from innervoice.gateway.operations.journal import explain
        from innervoice.gateway.operations.metrics import Metrics

        app = import_module("innervoice.gateway.app")
        metrics = Metrics()
        if self.shared:
            metrics.share(self.shared)
        self._gateway = app.Gateway(
            self.config,
            os.environ,
            http=embedded_async_http(self._emulator) if self._emulator else None,
            base_url_of=self.base_url_of,
            log=self.output.request,
            key=self.state.key,
            older_keys=self.state.older_keys,
            store=self.state.open_store(),
            store_url=self.state.url,
            say=self.output.say,
            metrics=metrics,
            assume_keys=self.may_have_keys,
            request_log=self._request_log(),
        )
        journal: Journal = self._gateway.journal
        if self.shared:
            journal.share(self.shared)
        if self.spans:
            add = self.spans.add
            journal.listen(lambda report: add(explain(report)))
        return cast("Callable[..., Any]", app.create_app(self._gateway))

    def _request_log(self) -> GatewayLog | None:
        if self.log_folder is None:
            return None
        from innervoice.gateway.operations.request_log import GatewayLog
        from innervoice.sources.request_log.files import LogBounds

        server = self.config.server
        bounds = LogBounds(most_bytes=server.log_bytes, seconds=server.keep_days * 86_400.0)
        return GatewayLog(self.log_folder, server.log, bounds, self.output.say)

    @property
    def logs(self) -> list[Path]:
        """The files of requests that this process has begun."""
        log = self._gateway.request_log if self._gateway is not None else None
        return [] if log is None else log.written

    def stopping(self) -> None:
        """Ends the streams of the viewer, which would keep a worker from ending."""
        if self._gateway is not None:
            self._gateway.viewing.close()

    def stop(self) -> None:
        """Runs at the end of a worker."""
        self.output.flush()
        if self._gateway is not None:
            self._gateway.metrics.write()


def _store_of(gateway: ServedGateway) -> str:
    """Where turns would be kept; nothing is created. Raises `UsageError` for a store that cannot be used."""
    server = gateway.config.server
    state = import_module("innervoice.gateway.operations.state")
    url = state.store_url(server, os.environ, emulated=gateway.base_url_of is not None)
    if url is not None and "://" in url:
        opening = import_module("innervoice.memory.stores.opening")
        opening.open_store(url, import_module("innervoice.memory.stores.store").Retention())
    return store_line(url, server.remember, 1)


def _check(gateway: ServedGateway) -> None:
    checking = import_module("innervoice.gateway.routes")
    lines = checking.report_of(
        gateway.config,
        os.environ,
        base_url_of=gateway.base_url_of,
        stored_keys=gateway.may_have_keys,
    )
    for line in lines:
        gateway.output.say(line)
    gateway.output.say(_store_of(gateway))
    if any(line.startswith("wrong:") for line in lines):
        raise click.exceptions.Exit(1)


def _serve(gateway: ServedGateway, workers: int) -> None:
    from innervoice.gateway.operations.processes import SEVERAL_WORKERS
    from innervoice.gateway.operations.server import serve

    if workers > 1 and not SEVERAL_WORKERS:
        gateway.output.say(f"This system cannot share a port among processes: 1 worker instead of {workers}.")  # fmt: skip
        workers = 1
    import_module("innervoice.gateway.app")  # before workers are forked: they share what is loaded
    gateway.open_state()
    server = gateway.config.server
    with tempfile.TemporaryDirectory(prefix="innervoice-") as directory:
        if workers > 1:
            gateway.shared = Path(directory)
        if gateway.log_folder is None:
            gateway.log_folder = Path(directory) / "requests"
        try:
            stopped_by = serve(
                gateway.create_app,
                host=server.host,
                port=server.port,
                workers=workers,
                load=gateway.load,
                on_reload=gateway.reload,
                watched=gateway.file,
                on_listening=lambda port: _greet(gateway, port, workers),
                on_stop=gateway.stop,
                on_stopping=gateway.stopping,
                on_lost=lambda process: _clean_up(Path(directory), process),
                say=gateway.output.say,
            )
        except OSError as error:
            reason = error.strerror or error
            raise click.ClickException(
                f"cannot listen on {server.host}:{server.port}: {reason}"
            ) from None
    if stopped_by == signal.SIGINT:
        raise click.exceptions.Exit(INTERRUPTED)


def _clean_up(directory: Path, process: int) -> None:
    from innervoice.gateway.operations.journal import forget
    from innervoice.gateway.operations.metrics import retire

    retire(directory, process)
    forget(directory, process)


def _greet(gateway: ServedGateway, port: int, workers: int) -> None:
    """Prints where it listens, what it reaches, and how clients reach it."""
    config = gateway.config
    routes = gateway.routes_of(config)
    say = gateway.output.say
    host = "127.0.0.1" if config.server.host in ("0.0.0.0", "::") else config.server.host  # noqa: S104 - not bound here
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    say(f"Listening on {url}" + (f" with {workers} workers" if workers > 1 else ""))
    if gateway.base_url_of:
        say("Providers: all of them, emulated")
    else:
        providers = ", ".join(routes.providers_with_keys)
        say(f"Providers with a key: {providers or 'none; set a key, or try --emulated'}")
    say(store_line(gateway.state.url, config.server.remember, workers))
    if older := older_version_line(gateway.state.url, config.server.remember):
        say(older)
    for note in gateway.state.notes:
        say(f"Note: {note}")
    has_keys = bool(config.keys or gateway.may_have_keys)
    for line in view_lines(url, config.server.log, gateway.log_folder, gateway.state.log_folder, has_keys=has_keys):  # fmt: skip
        say(line)
    key = "KEY" if has_keys else "any"
    for line in client_lines(url, _example(config, routes.names()), key):
        say(line)
    say("Stop with Ctrl+C.")


def _example(config: Any, names: tuple[str, ...]) -> str:
    """A model for the examples: one of the configured names, or else one that a client of another provider would not have."""
    configured: Iterator[str] = (model.name for model in config.models if not model.is_glob)
    usual = (name for name in (_USUAL, *names) if name in names)
    return (*configured, *usual, "PROVIDER/MODEL")[0]
