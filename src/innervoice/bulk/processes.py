"""A pool of processes that do the pieces of a run; they report rows and bytes while they work, which a terminal shows.

Each begins with the imports done, where the system allows that: a process that has only imported is started while the files are examined,
and the others are its copies. Elsewhere every process starts anew, which takes it half a second.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from multiprocessing.connection import wait as wait_for
from multiprocessing.context import BaseContext
from typing import Any, TextIO

from innervoice.bulk.table import Piece
from innervoice.errors import UsageError

__all__ = ["Progress", "Reports", "begin_processes", "in_processes"]

_AHEAD = 2  # pieces that wait for each process


class Reports:
    """Counts what is done: rows, and bytes of the files. All processes share the numbers."""

    def __init__(self, numbers: Any = None) -> None:
        self.numbers = [0, 0] if numbers is None else numbers
        self._done = 0

    def add(self, rows: int, size: int) -> None:
        """Adds rows that were written, and their bytes of the file."""
        self._add(rows, size)
        self._done += size

    def finish(self, piece: Piece) -> None:
        """Completes a piece, with all its bytes."""
        self._add(0, piece.size - self._done)
        self._done = 0

    def _add(self, rows: int, size: int) -> None:
        lock = getattr(self.numbers, "get_lock", None)
        if lock is None:
            self.numbers[0] += rows
            self.numbers[1] += size
            return
        with lock():
            self.numbers[0] += rows
            self.numbers[1] += size

    @property
    def rows(self) -> int:
        """The rows so far."""
        return int(self.numbers[0])

    @property
    def size(self) -> int:
        """The bytes so far."""
        return int(self.numbers[1])


_FORKSERVER = "forkserver"
_IMPORTED = [
    "innervoice.bulk.running",
    "innervoice.bulk.report.tallies",
    "pyarrow.parquet",
    "pandas",
]
"""What every process needs. Pyarrow imports pandas, where it is installed, for its first array."""


def begin_processes(processes: int) -> bool:
    """Starts the imports of the processes to come, in the background; returns False where that is impossible."""
    # The libraries of macOS may not survive being copied with their process.
    is_safe = sys.platform != "darwin" and _FORKSERVER in multiprocessing.get_all_start_methods()
    if processes < 2 or not is_safe:
        return False
    from multiprocessing import forkserver  # noqa: PLC0415 - not on Windows

    multiprocessing.set_forkserver_preload(_IMPORTED)
    try:
        forkserver.ensure_running()
    except OSError:
        return False  # the folder of temporary files has a path that is too long for a socket
    return True


def _context(processes: int) -> BaseContext:
    return multiprocessing.get_context(_FORKSERVER if begin_processes(processes) else "spawn")


_of_process: dict[str, Any] = {}


def _set_up(work: Callable[..., Any], job: Any, numbers: Any, environment: dict[str, str]) -> None:
    # What has imported may have been started by an earlier run, with other variables.
    os.environ.clear()
    os.environ.update(environment)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _of_process.update(work=work, job=job, reports=Reports(numbers))


def _end_with_parent() -> None:
    """Ends this process when its parent has ended: one that was killed cannot say so, and the queue would wait forever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for([parent.sentinel])
        os._exit(1)


def _do(number: int, piece: Piece) -> Any:
    return _of_process["work"](_of_process["job"], number, piece, _of_process["reports"])


def in_processes(
    work: Callable[..., Any],
    job: Any,
    pieces: Iterator[tuple[int, Piece]],
    processes: int,
    progress: Progress,
) -> Iterator[Any]:
    """Does the work on all pieces, in this process or in others; yields the results as they arrive. One piece needs no other process."""
    if processes < 1:
        raise UsageError(f"expected at least one process, not {processes}")
    first = list(islice(pieces, 2))
    pieces = chain(first, pieces)
    if processes == 1 or len(first) < 2:
        reports = Reports()
        for number, piece in pieces:
            yield work(job, number, piece, _Shown(reports, progress))
        progress.show(reports.rows, reports.size, final=True)
        return
    context = _context(processes)
    numbers = context.Array("q", 2)
    given = (work, job, numbers, dict(os.environ))
    pool = ProcessPoolExecutor(processes, context, _set_up, given)
    try:
        yield from _results(pool, pieces, processes * _AHEAD, Reports(numbers), progress)
    except BrokenProcessPool:
        raise UsageError(
            "a process ended without an error, perhaps because memory ran out; complete parts are kept: run the same command again to continue"
        ) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _results(
    pool: ProcessPoolExecutor,
    pieces: Iterator[tuple[int, Piece]],
    most: int,
    reports: Reports,
    progress: Progress,
) -> Iterator[Any]:
    waiting: set[Future[Any]] = set()
    more = True
    while more or waiting:
        while more and len(waiting) < most:
            entry = next(pieces, None)
            if entry is None:
                more = False
            else:
                waiting.add(pool.submit(_do, *entry))
        finished, waiting = wait(waiting, timeout=0.25, return_when=FIRST_COMPLETED)
        for future in finished:
            yield future.result()
        progress.show(reports.rows, reports.size)
    progress.show(reports.rows, reports.size, final=True)


class _Shown(Reports):
    """Reports of this process, shown as they arrive."""

    def __init__(self, reports: Reports, progress: Progress) -> None:
        super().__init__(reports.numbers)
        self._progress = progress

    def _add(self, rows: int, size: int) -> None:
        super()._add(rows, size)
        self._progress.show(self.rows, self.size)


# ---- The progress of a run: rows, MB/s and the time left, on one line of a terminal.


_EVERY = 0.2
_WIDTH = 24


class Progress:
    """Shows the progress of a run; without a terminal it shows nothing."""

    def __init__(self, total: int | None, stream: TextIO | None = None) -> None:
        self._total = total
        self._stream = stream or sys.stderr
        self._is_shown = self._stream.isatty()
        self._begun = self._last = time.monotonic()
        self._skipped = 0

    def skip(self, size: int) -> None:
        """Adds bytes that an earlier run has done."""
        self._skipped += size

    def show(self, rows: int, size: int, *, final: bool = False) -> None:
        """Shows rows and bytes of this run."""
        now = time.monotonic()
        if not self._is_shown or (now - self._last < _EVERY and not final):
            return
        self._last = now
        self._stream.write(
            f"\r\x1b[K{self.line(rows, size, now - self._begun)}" + ("\n" if final else "")
        )
        self._stream.flush()

    def line(self, rows: int, size: int, seconds: float) -> str:
        """The line after this many seconds."""
        speed = size / seconds if seconds > 0 else 0.0
        facts = f"{rows:,} rows  {size / 1e6:,.0f} MB  {speed / 1e6:,.1f} MB/s"
        if not self._total:
            return facts
        share = min((size + self._skipped) / self._total, 1.0)
        bar = "█" * int(share * _WIDTH)
        seconds_left = max(self._total - self._skipped - size, 0) / speed if speed else 0.0
        return f"{bar:·<{_WIDTH}} {share:>4.0%}  {facts}  {_clock(seconds_left)} left"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
