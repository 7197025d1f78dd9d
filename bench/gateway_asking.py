"""Asks gateways that run, through a process of clients, and says what came back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

from crew import environment
from gateway_clients import CLIENTS, Conversation
from gateway_contenders import WAYS, Addresses, Named, Running
from main import told


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


class Asker:
    """Asks the gateways of a run; what one of them cannot do is noted, with the reason."""

    def __init__(self, running: dict[str, Running], load: Process, addresses: Addresses) -> None:
        self.running = running
        self.addresses = addresses
        self.load = load
        self.skipped: dict[str, str] = {}

    def skip(self, what: str, why: object) -> None:
        """Notes that something is left out."""
        told(f"left out: {what}: {why}")
        self.skipped[what] = str(why)[:300]

    def named(self, title: str, way: tuple[str, str], kind: str = "canned") -> Named:
        """What a client says so that this gateway asks this upstream."""
        return self.running[title].gateway.named(kind, way, self.addresses)

    def ask(
        self, title: str, way: tuple[str, str], body: str, *, kind: str = "canned", **more: Any
    ) -> dict[str, Any]:
        """Sends a request, or as many as `count` says."""
        named = self.named(title, way, kind)
        path = named.path or CLIENTS[way[0]].path
        port = self.running[title].port
        order = {"port": port, "path": path, "headers": named.headers, "body": body, **more}
        try:
            return self.load.ask(**{"count": 1, **order})
        except Failed as error:
            if code := self.running[title].ended:
                raise Failed(f"its process ended with {code}") from error
            raise

    def answered(self, title: str, way: tuple[str, str], body: str, **more: Any) -> dict[str, Any]:
        """The same, where every answer must be one."""
        answer = self.ask(title, way, body, **more)
        if set(answer["statuses"]) - {"200"}:
            raise Failed(f"it answered {answer['statuses']}: {answer['last'][:200]}")
        return answer

    def conversation(
        self, title: str, way: tuple[str, str], text: str, kind: str = "canned", **more: Any
    ) -> Conversation:
        """A client of this gateway."""
        return CLIENTS[way[0]](self.named(title, way, kind).model, text, **more)

    def spoken(self, title: str, way: tuple[str, str]) -> tuple[str, str]:
        """The way for a gateway; who does not translate is asked by a client that speaks as the upstream does."""
        if self.running[title].gateway.translates:
            return way
        return next(same for same in WAYS if same[1] == way[1])

    def can(self, title: str, way: tuple[str, str]) -> bool:
        """Whether a gateway goes this way."""
        gateway = self.running[title].gateway
        return not gateway.translates or way in gateway.ways
