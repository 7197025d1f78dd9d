"""One contender in its own environment: takes orders as lines of JSON, does the work, and says how long it took.

    python bench/worker.py CONTENDER ADDRESS

    {"do": "list"}                                        -> [[work, payload], ...]
    {"do": "check", "work": ..., "payload": ...}          -> what came of the reasoning
    {"do": "time", "work": ..., "payload": ..., "count": 5, "crowd": 64} -> seconds of processor time for one

Processor time of the process, all threads: what the machine does beside it, and how long the upstream takes, do not count.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from importlib import import_module
from time import process_time
from typing import Any

from contenders import CROWD, MIXED, ORPHAN, PIECES, WHOLE, Job
from payloads import payload
from texts import THOUGHT, mixed, orphaned, tagged


class Worker:
    """Runs the jobs of one contender."""

    def __init__(self, contender: str, base: str) -> None:
        # The jobs of a crowd share connections, so they share a loop.
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        self._jobs = import_module(f"contenders.{contender}").jobs(base)

    def obey(self, order: dict[str, Any]) -> Any:
        """Executes an order."""
        if order["do"] == "list":
            return [list(key) for key in self._jobs]
        work, name = order["work"], order["payload"]
        job = self._jobs[work, name]
        if order["do"] == "check":
            given = self._once(work, job)
            return verdict(work, name, given() if callable(given) else given)
        run = self._runner(work, job, order.get("crowd", 1))
        start = process_time()
        for _ in range(order["count"]):
            run()
        return (process_time() - start) / order["count"]

    def _once(self, work: str, job: Job) -> Any:
        return self._loop.run_until_complete(job()) if work == "streams" else job()

    def _runner(self, work: str, job: Job, crowd: int) -> Callable[[], Any]:
        if work != "streams":
            return job

        async def together() -> None:
            await asyncio.gather(*(job() for _ in range(crowd)))

        return lambda: self._loop.run_until_complete(together())


def verdict(work: str, name: str, said: Any) -> str:
    """What happened to the reasoning: kept, lost, or left in the text."""
    if not hasattr(said, "thinking"):
        return "kept"
    if name == "text":
        wanted = [_wanted(work)]
    else:
        made = payload(name + CROWD if work == "streams" else name)
        # Some ask for a stream also where a whole answer is wanted.
        wanted = list(zip(made.thinking, made.text, strict=True))
    if any(
        (_same(said.thinking, one), _same(said.text, two)) == (True, True) for one, two in wanted
    ):
        return "kept"
    if any(_same(said.text, text) for _, text in wanted):
        return "lost"
    if any(thinking.strip() in said.text for thinking, _ in wanted):
        return "left in the text"
    return "wrong"


def _wanted(work: str) -> tuple[str, str]:
    """The reasoning in the texts of a work, and the answer."""
    if work == "orphan":
        return orphaned(ORPHAN)
    if work == "mixed":
        rows = mixed(MIXED)
        return "".join(row.thinking.strip() for row in rows), "".join(row.answer for row in rows)
    whole = tagged(WHOLE if work == "whole" else PIECES)
    return THOUGHT, whole.partition("</think>")[2]


def _same(one: str, other: str) -> bool:
    """The text without white space, because some libraries strip it."""
    return one.split() == other.split()


def main(contender: str, base: str) -> None:
    """Executes orders until the input ends."""
    out = sys.stdout
    sys.stdout = sys.stderr  # what a library prints is no answer
    worker = Worker(contender, base)
    for line in sys.stdin:
        try:
            answer = {"answer": worker.obey(json.loads(line))}
        except Exception as error:  # noqa: BLE001 - whatever it is, the run goes on without this job
            answer = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
