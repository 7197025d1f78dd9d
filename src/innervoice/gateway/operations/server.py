"""The gateway at a real port: one process per core, a shutdown that lets streams finish, new configurations without a restart.

serve ──► one worker:  in this process                     SIGTERM, SIGINT   streams finish, then it ends; the second cuts
      └─► several:     `processes.Parent` ──► a `Worker`   SIGHUP            the configuration is read again
                       each, at the same address
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias, cast

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from innervoice.errors import UsageError
from innervoice.gateway.incoming import ON_GONE, WRITE_NOW
from innervoice.gateway.limits import LIMITS
from innervoice.gateway.operations.processes import (
    CUT,
    READY,
    STOP,
    NewConfiguration,
    Parent,
    Pipe,
    Reloader,
    WatchedFile,
)
from innervoice.local_server import bound_socket

__all__ = ["ASGIApplication", "serve"]

ASGIApplication: TypeAlias = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class _Served:
    """What a worker serves, and its callbacks."""

    create_app: Callable[[], ASGIApplication]
    reloader: Reloader
    stop_seconds: float
    on_stop: Callable[[], None]
    on_stopping: Callable[[], None]


def serve(
    create_app: Callable[[], ASGIApplication],
    *,
    host: str,
    port: int,
    workers: int = 1,
    stop_seconds: float = 30.0,
    load: Callable[[], Any] | None = None,
    on_reload: Callable[[Any], None] = lambda _: None,
    watched: Path | None = None,
    on_listening: Callable[[int], None] = lambda _: None,
    on_stop: Callable[[], None] = lambda: None,
    on_stopping: Callable[[], None] = lambda: None,
    on_lost: Callable[[int], None] = lambda _: None,
    say: Callable[[str], None] = print,
) -> int:
    """Serves until a signal, and returns its number; raises `OSError` if the address cannot be used.

    `create_app`, `on_stopping` (when it begins to stop) and `on_stop` are called in each worker, in its event loop. After SIGHUP, and when the
    file `watched` has changed, `load` reads the configuration, or raises an error if it is invalid; `on_reload` applies it: with several
    workers first in the parent, which starts replacements with it, then in each worker, so it must be picklable. `on_listening` gets the port
    once requests are accepted, `on_lost` the process number of a worker that has ended.
    """
    reloader = Reloader(load, on_reload, say)
    served = _Served(create_app, reloader, stop_seconds, on_stop, on_stopping)
    if workers == 1:
        with bound_socket(host, port) as listening:
            bound = int(listening.getsockname()[1])
            worker = Worker(served, lambda: on_listening(bound), WatchedFile(watched))
            return worker.run(listening)

    def run_worker(listening: socket.socket, commands: Pipe) -> None:
        worker = Worker(served, lambda: commands.send(READY), WatchedFile(None), commands)
        worker.run(listening)

    parent = Parent(
        run_worker,
        host=host,
        port=port,
        workers=workers,
        stop_seconds=stop_seconds + 2 * LIMITS.farewell_seconds,
        reloader=reloader,
        watched=WatchedFile(watched),
        on_listening=on_listening,
        on_lost=on_lost,
    )
    return parent.run()


class Worker:
    """One process that answers; without `commands` it is the only one, and handles signals itself."""

    def __init__(
        self,
        served: _Served,
        on_started: Callable[[], None],
        watched: WatchedFile,
        commands: Pipe | None = None,
    ) -> None:
        self._served = served
        self._on_started = on_started
        self._watched = watched
        self._commands = commands
        self._stopped_by = 0

    def run(self, listening: socket.socket) -> int:
        """Serves until it is stopped; returns the signal that stopped it, or 0."""
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(self._serve(listening))
        return self._stopped_by

    async def _serve(self, listening: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        self._server = _Server(_settings(self._served.create_app()), self)
        if self._commands:
            self._loop.add_reader(self._commands.fileno(), self._obey, self._commands)
        with self._signals():
            try:
                await self._server.serve(sockets=[listening])
            except SystemExit:
                raise UsageError("the application could not start") from None
            finally:
                self._served.on_stop()

    def started(self) -> None:
        """Called once requests are accepted."""
        # Objects that are alive now stay alive: the garbage collector need not check them again.
        gc.collect()
        gc.freeze()
        # Large requests are read in threads: streams need not wait longer than this for their turn.
        sys.setswitchinterval(0.001)
        self._on_started()

    def tick(self) -> None:
        """Called about once a second while it serves."""
        if self._watched.changed():
            self._served.reloader.reload()

    # ---- commands from outside --------------------------------------------------------------------

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Handlers for the time of a block; before and after it signals do what they did."""
        numbers = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if _HAS_HANGUP else [])]
        before = {number: signal.signal(number, self._signalled) for number in numbers}
        if _HAS_HANGUP and before[signal.SIGHUP] is signal.SIG_IGN:
            self._served.reloader.was_ignored = True
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _signalled(self, number: int, _frame: FrameType | None) -> None:
        self._loop.call_soon_threadsafe(self._handle, number)

    def _handle(self, number: int) -> None:
        if _HAS_HANGUP and number == signal.SIGHUP and not self._served.reloader.hung_up():
            if self._commands is None:  # otherwise the parent prints it, once for all
                self._served.reloader.reload()
            return
        # A worker gets Ctrl+C of a terminal, or a supervisor's signal to the whole group, in addition to the parent's command: not twice.
        if self._server.should_exit and self._commands is None:
            self._cut()
        else:
            self._stop(number)

    def _obey(self, commands: Pipe) -> None:
        """Follows the parent's commands; stops if there is no parent any more."""
        try:
            command = commands.recv()
        except (OSError, EOFError):
            self._loop.remove_reader(commands.fileno())
            command = STOP
        if isinstance(command, NewConfiguration):
            self._served.reloader.take(command)
        elif command == STOP:
            self._stop(0)
        elif command == CUT:
            self._cut()

    def _stop(self, number: int) -> None:
        if not self._server.should_exit:
            self._stopped_by = number
            self._server.should_exit = True
            self._served.on_stopping()
            self._loop.call_later(self._served.stop_seconds, self._cut)

    def _cut(self) -> None:
        """Ends open streams: first by a request to stop, so that each can write its last event."""
        for task in list(self._server.server_state.tasks):
            task.cancel()
        self._loop.call_later(LIMITS.farewell_seconds, self._abort)

    def _abort(self) -> None:
        for connection in list(self._server.server_state.connections):
            connection.transport.abort()
        self._server.force_exit = True


class _Server(uvicorn.Server):
    """uvicorn's server, with our signals and timer."""

    def __init__(self, settings: uvicorn.Config, worker: Worker) -> None:
        super().__init__(settings)
        self._worker = worker

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # the worker's

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._worker.started()

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:  # uvicorn ticks ten times a second
            self._worker.tick()
        return await super().on_tick(counter)


class _Protocol(HttpToolsProtocol):
    """HTTP with a limit on the head of a request, in bytes and in time; bodies are up to the application."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._head_bytes = 0
        self._heads = 0
        self._on_gone: list[Callable[[], None]] = []
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_timer.cancel()
        super().connection_lost(exc)
        for leave in list(self._on_gone):
            leave()

    def data_received(self, data: bytes) -> None:
        heads, is_head = self._heads, self.cycle is None or not self.cycle.more_body
        super().data_received(data)
        if is_head and heads == self._heads:
            self._head_bytes += len(data)
            if self._head_bytes > LIMITS.header_bytes and not self.transport.is_closing():
                self.send_400_response("The head of the request is too large.")

    def on_message_begin(self) -> None:
        self._head_timer.cancel()
        self._await_head()
        super().on_message_begin()
        scope = cast("dict[str, Any]", self.scope)
        scope[ON_GONE], scope[WRITE_NOW] = self._on_gone, self._write_now

    def on_headers_complete(self) -> None:
        self._head_timer.cancel()
        self._head_bytes = 0
        self._heads += 1
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        # Of a large body uvicorn stops reading, and would not see that the client leaves before it is asked for more.
        if not self.pipeline:
            self.flow.resume_reading()

    def _write_now(self, piece: bytes) -> bool:
        # As uvicorn writes a piece whose message has no length, without a task that waits for it.
        if self.flow.write_paused or self.transport.is_closing():
            return False
        self.transport.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        return True

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(LIMITS.head_seconds, self._give_up)

    def _give_up(self) -> None:
        self.transport.close()


def _settings(app: ASGIApplication) -> uvicorn.Config:
    logger = logging.getLogger("uvicorn.error")
    if not any(isinstance(filter_before, _WithoutCuts) for filter_before in logger.filters):
        logger.addFilter(_WithoutCuts())
    return uvicorn.Config(
        app,
        http=_Protocol,
        ws="websockets-sansio",
        ws_max_size=LIMITS.socket_bytes,
        interface="asgi3",
        log_config=None,
        log_level="error",  # its warnings are about callers' input, which could repeat without limit
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=LIMITS.keep_alive_seconds,
    )


class _WithoutCuts(logging.Filter):
    """Drops the tracebacks of streams that we cut off ourselves."""

    def filter(self, record: logging.LogRecord) -> bool:
        kind = record.exc_info[0] if record.exc_info else None
        return not (kind and issubclass(kind, asyncio.CancelledError))


_HAS_HANGUP = hasattr(signal, "SIGHUP")


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where it is available: not on Windows."""
    try:
        import uvloop  # noqa: PLC0415 - optional
    except ModuleNotFoundError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
