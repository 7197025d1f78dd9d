"""What is measured of the gateways: processor time of requests and events, memory of open streams, and what a tool loop loses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, Self

from crew import environment
from gateway_clients import CLIENTS, WEATHER, Conversation
from gateway_contenders import FLOOR, WAYS, Addresses, Named, Running
from gateway_emulator import StrictEmulator
from gateway_upstream import EVENTS, HOLD, LAST, TURN
from main import told

SIZES = (50_000, 400_000)
OPEN = 256
"""Streams that are open while memory is read."""
_TURNS = 120
"""More turns than a history needs."""
_CROWD = 16
_STREAMS = 32
_SAMPLE = 0.3
"""Seconds of processor time that a sample should take: the system counts in hundredths."""
_MOST = 6000
_SLOW = 4.0
"""A gateway for which a sample takes longer than this many seconds takes part in the first round alone."""
_QUESTION = "What is the weather in Lisbon, then the weather in Oslo?"


class Process:
    """A program of this folder, in a process of its own, for the time of a `with` block."""

    def __init__(self, script: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent / script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )

    def line(self) -> str:
        """The next line that it prints."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def ask(self, **order: Any) -> dict[str, Any]:
        """Gives an order and waits for the answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.line())
        if "error" in answer:
            raise Failed(answer["error"])
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()


class Failed(Exception):  # noqa: N818 - it is no error of ours
    """A gateway did not do what was asked."""


class Job(NamedTuple):
    """One kind of request."""

    way: tuple[str, str]
    name: str
    """Its body, or that it is a stream."""

    @property
    def is_stream(self) -> bool:
        """Whether events are counted, and not requests."""
        return self.name == "stream"


class Bench:
    """A run over gateways that are up."""

    def __init__(
        self, running: dict[str, Running], load: Process, addresses: Addresses, rounds: int
    ) -> None:
        self._running = running
        self._load = load
        self._addresses = addresses
        self._rounds = rounds
        self.skipped: dict[str, str] = {}

    def _skip(self, what: str, why: object) -> None:
        told(f"left out: {what}: {why}")
        self.skipped[what] = str(why)[:300]

    # ---- asking --------------------------------------------------------------------------------

    def _named(self, title: str, way: tuple[str, str], kind: str = "canned") -> Named:
        return self._running[title].gateway.named(kind, way, self._addresses)

    def _ask(
        self, title: str, way: tuple[str, str], body: str, *, kind: str = "canned", **more: Any
    ) -> dict[str, Any]:
        named = self._named(title, way, kind)
        path = named.path or CLIENTS[way[0]].path
        port = self._running[title].port
        order = {"port": port, "path": path, "headers": named.headers, "body": body, **more}
        try:
            return self._load.ask(**{"count": 1, **order})
        except Failed as error:
            if code := self._running[title].ended:
                raise Failed(f"its process ended with {code}") from error
            raise

    def _checked(self, answer: dict[str, Any]) -> dict[str, Any]:
        if set(answer["statuses"]) - {"200"}:
            raise Failed(f"it answered {answer['statuses']}: {answer['last'][:200]}")
        return answer

    def _conversation(
        self, title: str, way: tuple[str, str], text: str, kind: str = "canned", **more: Any
    ) -> Conversation:
        return CLIENTS[way[0]](self._named(title, way, kind).model, text, **more)

    # ---- memory --------------------------------------------------------------------------------

    def memory(self) -> dict[str, dict[str, float]]:
        """Bytes before and while streams are open, of gateways that have served some requests."""
        found = {}
        for title, running in self._running.items():
            told(f"memory of {title}")
            way = ("chat", "chat")
            try:
                plain = self._conversation(title, way, "Go on.")
                self._checked(self._ask(title, way, json.dumps(plain.body()), count=50, crowd=8))
                before = running.memory()
                held = self._conversation(title, way, f"Go on. {HOLD.decode()}")
                body = json.dumps(held.body(stream=True))
                answer = self._ask(title, way, body, count=OPEN, crowd=OPEN, hold=True)
                self._checked(answer)
                found[title] = {
                    "before": before,
                    "open": running.memory(),
                    "streams": answer["open"],
                }
            except Failed as error:
                self._skip(f"{title}, memory", error)
            finally:
                self._load.ask(close=True)
        return found

    # ---- what is lost --------------------------------------------------------------------------

    def loops(self, strict: StrictEmulator) -> dict[str, dict[str, Any]]:
        """What became of a loop of three turns with a client that drops the reasoning, by gateway and way."""
        found: dict[str, dict[str, Any]] = {}
        for title, running in self._running.items():
            if not running.gateway.translates:
                continue
            told(f"tool loops through {title}")
            for way in running.gateway.ways:
                try:
                    made = self._loop(title, way, strict)
                except (Failed, KeyError, TypeError, ValueError) as error:
                    made = {"problem": repr(error)[:200]}
                found.setdefault(title, {})[" ".join(way)] = made
        return found

    def _loop(self, title: str, way: tuple[str, str], strict: StrictEmulator) -> dict[str, Any]:
        strict.clear()
        talk = self._conversation(title, way, _QUESTION, "strict", tool=WEATHER, drops=True)
        refused, turns, words = 0, 0, ""
        for _ in range(3):
            answer = self._ask(title, way, json.dumps(talk.body()), kind="strict")
            if "200" not in answer["statuses"]:
                refused += 1
                words = answer["last"][:300]
                break
            turns += 1
            if not talk.take(
                json.loads(answer["last"]), lambda given: f"{given['city']}: sunshine"
            ):
                break
        return {
            "turns": turns,
            "refused": refused,
            "due": strict.due,
            "lost": strict.lost,
            "words": words or "".join(strict.refusals[:1]),
        }

    # ---- processor time ------------------------------------------------------------------------

    def costs(self) -> dict[str, dict[str, dict[str, dict[str, Any]]]]:
        """Way -> body -> gateway -> microseconds of each round, the floor first."""
        found: dict[str, dict[str, dict[str, dict[str, Any]]]] = {}
        for way in WAYS:
            bodies: dict[str, dict[str, str]] = {}
            for title, running in self._running.items():
                if running.gateway.translates and way not in running.gateway.ways:
                    continue
                told(f"bodies of {title}, {' to '.join(way)}")
                try:
                    bodies[title] = self._bodies(title, self._spoken(title, way))
                except (Failed, KeyError, TypeError, ValueError) as error:
                    self._skip(f"{title}, {' to '.join(way)}", repr(error))
            for name in next(iter(bodies.values())):
                told(f"{' to '.join(way)}, {name}")
                job = Job(way, name)
                made = self._rounds_of(job, {title: one[name] for title, one in bodies.items()})
                found.setdefault(" ".join(way), {})[name] = made
        return found

    def _spoken(self, title: str, way: tuple[str, str]) -> tuple[str, str]:
        """The way for a gateway; who does not translate is asked by a client that speaks as the upstream does."""
        if self._running[title].gateway.translates:
            return way
        return next(same for same in WAYS if same[1] == way[1])

    def _bodies(self, title: str, way: tuple[str, str]) -> dict[str, str]:
        """The requests of a client by name, with histories as this gateway gives them."""
        small = self._conversation(
            title, way, "Which of the parts is tested least? " + "And why? " * 72
        )
        found = {"small": json.dumps(small.body())}
        talk = self._conversation(title, way, f"Read all parts. {TURN.decode()}")
        sizes = list(SIZES)
        for _ in range(_TURNS):
            answer = self._checked(self._ask(title, way, json.dumps(talk.body())))
            if not talk.take(json.loads(answer["last"])):
                raise Failed("the call of the tool was lost")
            while sizes and len(json.dumps(talk.body())) >= sizes[0]:
                size = sizes.pop(0)
                found[f"{size // 1000} kB kept"] = _asking(talk)
                bare = self._conversation(title, way, "")
                bare.messages = list(talk.messages)
                bare.without_reasoning()
                found[f"{size // 1000} kB dropped"] = _asking(bare)
            if not sizes:
                break
        found["stream"] = json.dumps(small.body(stream=True))
        return found

    def _rounds_of(self, job: Job, bodies: dict[str, str]) -> dict[str, dict[str, Any]]:
        counts, slow = {}, set()
        samples: dict[str, list[float]] = {}
        for title, body in bodies.items():
            try:
                counts[title] = self._count(title, job, body)
                samples[title] = []
            except Failed as error:
                self._skip(f"{title}, {' to '.join(job.way)}, {job.name}", error)
        for number in range(self._rounds):
            # Who goes first changes: nobody always runs behind the same neighbour.
            order = list(samples)
            turn = number % len(order)
            for title in order[turn:] + order[:turn]:
                if title in slow:
                    continue
                try:
                    taken, seconds = self._sample(title, job, bodies[title], counts[title])
                except Failed as error:
                    self._skip(f"{title}, {' to '.join(job.way)}, {job.name}", error)
                    slow.add(title)
                    continue
                samples[title].append(taken * 1e6)
                if seconds > _SLOW:
                    slow.add(title)
        best = {title: min(times) for title, times in samples.items() if times}
        if FLOOR not in best:
            raise SystemExit(
                "the floor failed, so nothing can be compared: run bench/gateway again"
            )
        return {
            title: {
                "best": best[title],
                "ratio": best[title] / best[FLOOR],
                "spread": (max(times) - min(times)) / median(times),
                "size": len(bodies[title]),
            }
            for title, times in samples.items()
            if times
        }

    def _count(self, title: str, job: Job, body: str) -> int:
        """How many requests make a sample; asking for some warms up."""
        if job.is_stream:
            self._sample(title, job, body, 8)
            return _STREAMS
        count = 8
        while True:
            taken, _ = self._sample(title, job, body, count)
            if taken * count >= 0.05 or count >= 512:
                break
            count *= 4
        return max(8, min(_MOST, round(_SAMPLE / max(taken, 1e-5))))

    def _sample(self, title: str, job: Job, body: str, count: int) -> tuple[float, float]:
        """Seconds of processor time for one request or event, and how long all of them took."""
        running = self._running[title]
        before = running.cpu()
        crowd = _STREAMS if job.is_stream else _CROWD
        answer = self._checked(
            self._ask(title, self._spoken(title, job.way), body, count=count, crowd=crowd)
        )
        # What is done behind an answer, as writing a line about it, counts as well.
        taken = running.cpu() - before
        return taken / count / (EVENTS if job.is_stream else 1), answer["seconds"]


def _asking(talk: Conversation) -> str:
    """The request with a word at its end that asks for the long answer; all before it is as it was sent so far, as an agent sends it."""
    body = json.loads(json.dumps(talk.body()))
    last = body["messages"][-1]
    holder = last if isinstance(last["content"], str) else last["content"][-1]
    holder["content"] += LAST.decode()
    return json.dumps(body)
