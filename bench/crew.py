"""The workers, one process each, and how they are timed in turns.

A round goes once through all contenders of a work, the floor among them, so that what the machine does meanwhile hits all of them
alike. What counts is the ratio to the floor of the same round: its median, and how far its middle half is spread.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryFile
from typing import Any, NamedTuple, Self

from peers import FLOOR, SOURCE, Environments, Peer

_HERE = Path(__file__).parent
_SAMPLE = 0.1
"""The minimum duration of a sample, in seconds."""
_SLOW = 0.5
"""A library that takes longer than this for one job takes part only in every third round."""


class Timing(NamedTuple):
    """The result of one contender in one work."""

    seconds: float
    """The median CPU time."""
    ratio: float
    """The median ratio to the floor of the same round."""
    spread: float
    """The interquartile range of these ratios, relative to their median."""
    verdict: str
    """What happened to the reasoning."""


class Refusal(Exception):  # noqa: N818 - it is no error of ours
    """A worker failed."""


class Worker:
    """A process that runs one contender."""

    def __init__(self, peer: Peer, python: Path, base: str) -> None:
        self.peer = peer
        self._errors = TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - closed in `close`
        self._process = subprocess.Popen(
            [str(python), str(_HERE / "worker.py"), peer.module, base],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=environment(),
        )
        try:
            self.jobs = {tuple(job) for job in self.ask(do="list")}
        except Refusal:
            self.close()
            raise

    def ask(self, **order: Any) -> Any:
        """Sends an order and waits for the result."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise Refusal(self._last_words())
        answer = json.loads(line)
        if "error" in answer:
            raise Refusal(answer["error"])
        return answer["answer"]

    def _last_words(self) -> str:
        """Why the process ended, from its error output."""
        self._process.wait()
        self._errors.seek(0)
        lines = [line.strip() for line in self._errors if line.strip()]
        return lines[-1][:160] if lines else "it ended"

    def close(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.communicate()
        self._errors.close()


def environment() -> dict[str, str]:
    """The environment of a worker: the path of the source, without the user's keys and proxies."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {
        **kept,
        "PYTHONPATH": str(SOURCE),
        "PYTHONHASHSEED": "0",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }


class Upstream:
    """The test server, in its own process."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(_HERE / "upstream.py")],
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        assert self._process.stdout is not None
        self.base = f"http://127.0.0.1:{int(self._process.stdout.readline())}"

    def close(self) -> None:
        """Ends it."""
        self._process.kill()
        self._process.communicate()


class Crew:
    """All workers, and the test server."""

    def __init__(self, peers: list[Peer], environments: Environments, rounds: int) -> None:
        self.rounds = rounds
        self.skipped: dict[str, str] = {}
        self.upstream = Upstream()
        self.workers: dict[str, Worker] = {}
        for peer in peers:
            try:
                python = environments.python(peer)
                self.workers[peer.title] = Worker(peer, python, self.upstream.base)
            except Refusal as refusal:
                self.skipped[peer.title] = f"it does not start: {refusal}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers.values():
            worker.close()
        self.upstream.close()

    def timings(self, work: str, payload: str, *, crowd: int = 1) -> dict[str, Timing]:
        """The results of all contenders that support a work, the floor first."""
        order = {"work": work, "payload": payload, "crowd": crowd}
        able = {
            title: worker
            for title, worker in self.workers.items()
            if (work, payload) in worker.jobs
        }
        verdicts, counts, rests = {}, {}, {}
        for title, worker in list(able.items()):
            try:
                verdicts[title] = worker.ask(do="check", work=work, payload=payload)
                worker.ask(do="time", count=1, **order)
                once = worker.ask(do="time", count=1, **order)
                counts[title] = max(1, round(_SAMPLE / max(once, 1e-7)))
                rests[title] = 3 if once > _SLOW and title != FLOOR.title else 1
            except Refusal as refusal:
                self.skipped[f"{title}, {work} {payload}"] = str(refusal)
                del able[title]
        samples: dict[str, dict[int, float]] = {title: {} for title in able}
        for number in range(self.rounds):
            # Who goes first changes: nobody always runs behind the same neighbour.
            turn = number % len(able)
            for title in [*able][turn:] + [*able][:turn]:
                if number % rests[title] == 0:
                    taken = able[title].ask(do="time", count=counts[title], **order)
                    samples[title][number] = taken
        floor = samples[FLOOR.title]
        return {title: timing(times, floor, verdicts[title]) for title, times in samples.items()}


def timing(times: dict[int, float], floor: dict[int, float], verdict: str = "kept") -> Timing:
    """The timing of samples by round."""
    ratios = [time / floor[number] for number, time in times.items()]
    return Timing(median(times.values()), median(ratios), spread(ratios), verdict)


def spread(numbers: list[float]) -> float:
    """The interquartile range of numbers, relative to their median."""
    if len(numbers) < 2:
        return 0.0
    low, _, high = quantiles(numbers, n=4, method="inclusive")
    return (high - low) / median(numbers)
