"""A pool of processes that are started anew, each with the job; they report rows and bytes while they work."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from innervoice.bulk.piece import Piece
from innervoice.bulk.progress import Progress
from innervoice.errors import UsageError

__all__ = ["Reports", "in_processes"]

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


_own: dict[str, Any] = {}


def _set_up(work: Callable[..., Any], job: Any, numbers: Any) -> None:
    _own.update(work=work, job=job, reports=Reports(numbers))


def _do(number: int, piece: Piece) -> Any:
    return _own["work"](_own["job"], number, piece, _own["reports"])


def in_processes(
    work: Callable[..., Any],
    job: Any,
    pieces: Iterator[tuple[int, Piece]],
    processes: int,
    progress: Progress,
) -> Iterator[Any]:
    """Does the work on all pieces, in this process or in others; yields the results as they arrive."""
    if processes < 1:
        raise UsageError(f"expected at least one process, not {processes}")
    if processes == 1:
        reports = Reports()
        for number, piece in pieces:
            yield work(job, number, piece, _Shown(reports, progress))
        progress.show(reports.rows, reports.size, final=True)
        return
    context = multiprocessing.get_context("spawn")
    numbers = context.Array("q", 2)
    pool = ProcessPoolExecutor(processes, context, _set_up, (work, job, numbers))
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
        done, waiting = wait(waiting, timeout=0.25, return_when=FIRST_COMPLETED)
        for future in done:
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
