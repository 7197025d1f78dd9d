"""The strict provider behind the gateways: the emulator, with a list of what came, what it said, and what it refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

from innervoice.emulator.app import EmulatorServer
from innervoice.emulator.core import Emulator, Reply


class StrictEmulator:
    """The emulator behind a port, for the time of a `with` block."""

    def __init__(self) -> None:
        self._emulator = Emulator()
        self._server = EmulatorServer(self)  # type: ignore[arg-type] - it needs `reply` alone
        self.address = self._server.url.removeprefix("http://")
        self.clear()

    def clear(self) -> None:
        """Forgets what came."""
        self.refusals: list[str] = []
        self._given: list[str] = []
        self.due = self.lost = 0
        """Seals that should have come back, and those of them that did not."""

    def reply(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """The emulator's reply."""
        reply = self._emulator.reply(method, path, headers, body)
        answer = reply.body
        if reply.status != 200:
            self.refusals.append(answer.decode("utf-8", "replace")[:300])
        # A seal may stand in the request as it is, or with its characters escaped.
        came = json.dumps(json.loads(body or b"{}"), ensure_ascii=False)
        missing = [one for one in self._given if json.dumps(one, ensure_ascii=False) not in came]
        self.due += len(self._given)
        self.lost += len(missing)
        if reply.status == 200:
            self._given += seals(json.loads(answer))
        return replace(reply, pieces=iter([answer]))

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.__exit__(None, None, None)


def seals(answer: dict[str, Any]) -> list[str]:
    """What must come back with the next request: signatures, and reasoning where that is what the provider asks for."""
    found = [block.get("signature") or block.get("data") for block in answer.get("content", [])]
    found += [
        choice["message"].get("reasoning_content")
        for choice in answer.get("choices", [])
        if choice["message"].get("tool_calls")
    ]
    return [one for one in found if one]
