"""The parent of several workers: it starts and restarts them, sends them commands, and is not in the path of a request.

Workers share only the address: each binds it with SO_REUSEPORT, and the kernel distributes the connections. The parent holds the port
with a socket that does not listen. It sends commands to each worker through a pipe, not by signals: a terminal's Ctrl+C and many
supervisors signal the whole group, and a worker could not tell that signal from the parent's. A worker whose parent is gone sees the
end of that pipe, and stops. A new configuration is read once, by the parent, and goes through the pipe as well: so a file that changes
meanwhile cannot give workers different configurations.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from innervoice.errors import UsageError
from innervoice.gateway.limits import LIMITS
from innervoice.local_server import bound_socket
from innervoice.privacy.secrets import redacted_name

__all__ = [
    "CUT",
    "READY",
    "SEVERAL_WORKERS",
    "STOP",
    "NewConfiguration",
    "Parent",
    "Pipe",
    "Reloader",
    "WatchedFile",
]

STOP, CUT, READY = "stop", "cut", "ready"
"""The parent's commands to a worker, besides a `NewConfiguration`; the last one is sent by the worker."""

SEVERAL_WORKERS = hasattr(socket, "SO_REUSEPORT") and hasattr(os, "fork")
"""Whether this system lets several processes serve at one port: not on Windows."""

Pipe: TypeAlias = "Connection[Any, Any]"

_TICK = 1.0


class WatchedFile:
    """Detects whether a file has changed; called about once a second."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known = self._seen = self._state()

    def changed(self) -> bool:
        """Whether the file differs from before and is no longer being written: it was the same twice in a row."""
        if self._path is None:
            return False
        state, before = self._state(), self._seen
        self._seen = state
        if state is None or state == self._known or state != before:
            return False
        self._known = state
        return True

    def _state(self) -> tuple[int, int, int] | None:
        try:
            about = self._path.stat() if self._path else None
        except OSError:  # an editor may have moved it for a moment
            return None
        return (about.st_mtime_ns, about.st_size, about.st_ino) if about else None


class NewConfiguration(NamedTuple):
    """A configuration that was reloaded."""

    value: Any


class Reloader:
    """Reloads the configuration; if it is invalid, the error is printed and the old one stays."""

    def __init__(
        self,
        load: Callable[[], Any] | None,
        on_reload: Callable[[Any], None],
        say: Callable[[str], None],
    ) -> None:
        self._load = load
        self._on_reload = on_reload
        self.say = say
        self._had_terminal = _has_terminal()
        self.was_ignored = False
        """Whether SIGHUP was ignored before, as by nohup."""

    def reload(self) -> NewConfiguration | None:
        """Reads and applies the configuration, and prints a message."""
        if self._load is None:
            return None
        try:
            configuration = NewConfiguration(self._load())
        except Exception as error:  # noqa: BLE001 - whatever it is, the streams go on
            self._refuse(error)
            return None
        if not self.take(configuration):
            return None
        self.say("The configuration was reloaded.")
        return configuration

    def take(self, configuration: NewConfiguration) -> bool:
        """Whether the configuration could be applied; only a failure is printed."""
        try:
            self._on_reload(configuration.value)
        except Exception as error:  # noqa: BLE001 - see above
            self._refuse(error)
            return False
        return True

    def _refuse(self, error: Exception) -> None:
        self.say(
            f"The new configuration is invalid, the old one stays in use: {redacted_name(str(error))}"
        )

    def hung_up(self) -> bool:
        """Whether SIGHUP means that the terminal was closed, and not that a reload is requested."""
        return self._had_terminal and not self.was_ignored and not _has_terminal()


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | getattr(os, "O_NOCTTY", 0)))
    except OSError:
        return False
    return True


class _Child:
    """A worker as the parent sees it."""

    def __init__(self, process: BaseProcess, commands: Pipe) -> None:
        self.process = process
        self.commands = commands
        self.ready = False

    def tell(self, command: str | NewConfiguration) -> None:
        with contextlib.suppress(OSError):  # it has just ended
            self.commands.send(command)


class Parent:
    """Keeps `workers` processes running."""

    def __init__(
        self,
        run_worker: Callable[[socket.socket, Pipe], None],
        *,
        host: str,
        port: int,
        workers: int,
        stop_seconds: float,
        reloader: Reloader,
        watched: WatchedFile,
        on_listening: Callable[[int], None],
        on_lost: Callable[[int], None],
    ) -> None:
        if not SEVERAL_WORKERS:
            raise UsageError(f"this system supports only one worker, not {workers}")
        self._run_worker = run_worker
        self._host = host
        self._port = port
        self._workers = workers
        self._stop_seconds = stop_seconds
        self._reloader = reloader
        self._watched = watched
        self._on_listening = on_listening
        self._on_lost = on_lost
        # Forked: loaded modules are shared, and functions need not be pickled. The parent has no threads and no event loop.
        self._context = multiprocessing.get_context("fork")
        self._children: list[_Child] = []
        self._starts: deque[float] = deque(maxlen=workers * (LIMITS.restarts + 1))
        self._is_listening = False
        self._has_failed = False
        self._stopped_by = 0
        self._deadline: float | None = None

    def run(self) -> int:
        """Runs until a signal stops it; returns that signal."""
        # Without SO_REUSEPORT first: with it, another server of this user at that port would go unnoticed.
        with bound_socket(self._host, self._port) as probe:
            self._port = probe.getsockname()[1]
        with (
            bound_socket(self._host, self._port, shared=True),
            self._signals() as signals,
        ):
            gc.collect()
            gc.freeze()  # pages that the garbage collector does not touch stay shared with the workers
            while self._deadline is None or self._children:
                self._start_missing()
                self._wait(signals)
                for number in self._received(signals):
                    self._handle(number)
                self._look_after()
                self._tick()
        if self._has_failed:
            raise UsageError("the workers could not start")
        return self._stopped_by

    # ---- signals ---------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _signals(self) -> Iterator[socket.socket]:
        """A socket that receives a byte for each signal."""
        reading, writing = socket.socketpair()
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = {number: signal.signal(number, lambda *_: None) for number in numbers}
        self._reloader.was_ignored = before[signal.SIGHUP] is signal.SIG_IGN
        reading.setblocking(False)
        writing.setblocking(False)
        wakeup = signal.set_wakeup_fd(writing.fileno())
        try:
            with reading, writing:
                yield reading
        finally:
            signal.set_wakeup_fd(wakeup)
            for number, handler in before.items():
                signal.signal(number, handler)

    def _received(self, signals: socket.socket) -> bytes:
        try:
            return signals.recv(64)
        except BlockingIOError:
            return b""

    def _handle(self, number: int) -> None:
        if number == signal.SIGHUP and not self._reloader.hung_up():
            self._reload()
        elif self._deadline is None:
            self._stopped_by = number
            self._stop()
        else:
            self._tell(CUT)
            self._deadline = min(self._deadline, time.monotonic())

    def _stop(self) -> None:
        self._deadline = time.monotonic() + self._stop_seconds
        self._tell(STOP)

    def _reload(self) -> None:
        if self._deadline is None and (configuration := self._reloader.reload()):
            self._tell(configuration)

    def _tell(self, command: str | NewConfiguration) -> None:
        for child in self._children:
            child.tell(command)

    # ---- workers ---------------------------------------------------------------------------------

    def _start_missing(self) -> None:
        now = time.monotonic()
        while self._deadline is None and len(self._children) < self._workers:
            full = len(self._starts) == self._starts.maxlen
            if full and now - self._starts[0] < LIMITS.restart_seconds:
                return
            self._starts.append(now)
            self._start()

    def _start(self) -> None:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=self._child, args=(ours, theirs), daemon=True)
        process.start()
        theirs.close()
        self._children.append(_Child(process, ours))

    def _child(self, ours: Pipe, theirs: Pipe) -> None:
        """The whole life of a worker, in its own process."""
        signal.set_wakeup_fd(-1)
        for end in (ours, *(child.commands for child in self._children)):
            end.close()  # otherwise the others would not see the parent end
        try:
            with bound_socket(self._host, self._port, shared=True) as listening:
                self._run_worker(listening, theirs)
        except (UsageError, OSError) as error:
            self._reloader.say(f"A worker could not start: {redacted_name(str(error))}")
            raise SystemExit(1) from None

    def _wait(self, signals: socket.socket) -> None:
        unready = [child.commands for child in self._children if not child.ready]
        ended = [child.process.sentinel for child in self._children]
        wait([signals, *unready, *ended], timeout=_TICK)

    def _look_after(self) -> None:
        """Records which workers have started, and which have ended."""
        for child in list(self._children):
            if not child.ready:
                with contextlib.suppress(OSError, EOFError):
                    child.ready = child.commands.poll() and child.commands.recv() == READY
            if not child.process.is_alive():
                self._lost(child)
        if not self._is_listening and sum(child.ready for child in self._children) == self._workers:
            self._is_listening = True
            self._on_listening(self._port)

    def _lost(self, child: _Child) -> None:
        process = child.process
        process.join()
        child.commands.close()
        self._children.remove(child)
        self._on_lost(process.pid or 0)
        if self._deadline is not None:
            return
        if not child.ready and not self._is_listening:
            self._has_failed = True
            self._stop()
            return
        self._reloader.say(
            f"Worker {process.pid} ended ({_reason(process.exitcode)}); a new one replaces it."
        )

    def _tick(self) -> None:
        if self._watched.changed():
            self._reload()
        if self._deadline is not None and time.monotonic() > self._deadline + LIMITS.kill_seconds:
            for child in self._children:
                child.process.kill()


def _reason(status: int | None) -> str:
    if status is not None and status < 0:
        return signal.Signals(-status).name
    return f"status {status}"
