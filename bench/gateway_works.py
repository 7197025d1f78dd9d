"""What is measured of the gateways: processor time of requests and events, memory of open streams, and what a tool loop loses."""

from __future__ import annotations

import json
from statistics import median
from typing import Any, NamedTuple

from gateway_asking import Asker, Failed
from gateway_clients import WEATHER, Conversation
from gateway_contenders import FLOOR, WAYS
from gateway_emulator import StrictEmulator
from gateway_upstream import EVENTS, HOLD, LAST, TURN
from main import told

SIZES = (50_000, 400_000)
OPEN = 1000
"""Streams that are open while memory is read."""
_TURNS = 120
"""More turns than a history needs."""
_CROWD = 16
_STREAMS = 32
_MOST_CROWDS = 4
"""Streams take as long as the upstream does, half a second."""
_SAMPLE = 0.3
"""Seconds of processor time that a sample should take: some systems count in hundredths."""
_MOST = 6000
_SLOW = 4.0
"""A gateway for which a sample takes longer than this many seconds takes part in the first round alone."""
_QUESTION = "What is the weather in Lisbon, then the weather in Oslo?"


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

    def __init__(self, asker: Asker, rounds: int) -> None:
        self._asker = asker
        self._rounds = rounds

    # ---- memory --------------------------------------------------------------------------------

    def memory(self) -> dict[str, dict[str, float]]:
        """Bytes before and while streams are open, of gateways that have served some requests."""
        found = {}
        for title, running in self._asker.running.items():
            told(f"memory of {title}")
            way = ("chat", "chat")
            try:
                plain = self._asker.conversation(title, way, "Go on.")
                self._asker.answered(title, way, json.dumps(plain.body()), count=50, crowd=8)
                before = running.memory()
                held = self._asker.conversation(title, way, f"Go on. {HOLD.decode()}")
                body = json.dumps(held.body(stream=True))
                answer = self._asker.answered(title, way, body, count=OPEN, crowd=OPEN, hold=True)
                found[title] = {
                    "before": before,
                    "open": running.memory(),
                    "streams": answer["open"],
                }
            except Failed as error:
                self._asker.skip(f"{title}, memory", error)
            finally:
                self._asker.load.ask(close=True)
        return found

    # ---- what is lost --------------------------------------------------------------------------

    def loops(self, strict: StrictEmulator) -> dict[str, dict[str, Any]]:
        """What became of a loop of three turns with a client that drops the reasoning, by gateway and way."""
        found: dict[str, dict[str, Any]] = {}
        for title, running in self._asker.running.items():
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
        talk = self._asker.conversation(title, way, _QUESTION, "strict", tool=WEATHER, drops=True)
        refused, turns, words = 0, 0, ""
        for _ in range(3):
            answer = self._asker.ask(title, way, json.dumps(talk.body()), kind="strict")
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
            for title in self._asker.running:
                if not self._asker.can(title, way):
                    continue
                told(f"bodies of {title}, {' to '.join(way)}")
                try:
                    bodies[title] = self.bodies(title, self._asker.spoken(title, way))
                except (Failed, KeyError, TypeError, ValueError) as error:
                    self._asker.skip(f"{title}, {' to '.join(way)}", repr(error))
            for name in next(iter(bodies.values())):
                told(f"{' to '.join(way)}, {name}")
                job = Job(way, name)
                made = self._rounds_of(job, {title: one[name] for title, one in bodies.items()})
                found.setdefault(" ".join(way), {})[name] = made
        return found

    def bodies(self, title: str, way: tuple[str, str]) -> dict[str, str]:
        """The requests of a client by name, with histories as this gateway gives them."""
        small = self._asker.conversation(
            title, way, "Which of the parts is tested least? " + "And why? " * 72
        )
        found = {"small": json.dumps(small.body())}
        talk = self._asker.conversation(title, way, f"Read all parts. {TURN.decode()}")
        sizes = list(SIZES)
        for _ in range(_TURNS):
            answer = self._asker.answered(title, way, json.dumps(talk.body()))
            if not talk.take(json.loads(answer["last"])):
                raise Failed("the call of the tool was lost")
            while sizes and len(json.dumps(talk.body())) >= sizes[0]:
                size = sizes.pop(0)
                found[f"{size // 1000} kB kept"] = _asking(talk)
                bare = self._asker.conversation(title, way, "")
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
                self._asker.skip(f"{title}, {' to '.join(job.way)}, {job.name}", error)
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
                    self._asker.skip(f"{title}, {' to '.join(job.way)}, {job.name}", error)
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
            taken, _ = self._sample(title, job, body, _STREAMS)
            crowds = round(_SAMPLE / max(taken, 1e-6) / EVENTS / _STREAMS)
            return _STREAMS * max(1, min(_MOST_CROWDS, crowds))
        count = 8
        while True:
            taken, _ = self._sample(title, job, body, count)
            if taken * count >= 0.05 or count >= 512:
                break
            count *= 4
        return max(8, min(_MOST, round(_SAMPLE / max(taken, 1e-5))))

    def _sample(self, title: str, job: Job, body: str, count: int) -> tuple[float, float]:
        """Seconds of processor time for one request or event, and how long all of them took."""
        running = self._asker.running[title]
        before = running.cpu()
        crowd = _STREAMS if job.is_stream else _CROWD
        way = self._asker.spoken(title, job.way)
        answer = self._asker.answered(title, way, body, count=count, crowd=crowd)
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
