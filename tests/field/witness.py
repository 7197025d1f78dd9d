"""An emulator that records requests and responses, and the tool, questions and edits that many tests share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import innervoice as iv
from innervoice.emulator import Emulator, Reply, emulated_client

__all__ = [
    "LOOP",
    "TOOL",
    "Witness",
    "answer_calls",
    "changed",
    "client_of",
    "frames_of",
    "get_weather",
    "stored",
    "turns_of",
]

LOOP = "What is the weather in Paris and Rome, then the weather in Oslo?"
TOOL = iv.Tool(
    "get_weather",
    "Tells the weather of a city.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


def get_weather(city: str) -> str:
    """Tells the weather of a city."""
    return f"{city}: sunny"


class Witness(Emulator):
    """Records the request bodies and the response bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[dict[str, Any]] = []
        self.answered: list[bytes] = []
        self.statuses: list[int] = []

    def reply(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Reply:
        reply = super().reply(method, path, headers, body)
        raw = reply.body
        self.sent.append(json.loads(body))
        self.answered.append(raw)
        self.statuses.append(reply.status)
        return replace(reply, pieces=iter([raw]))


def client_of(emulator: Emulator, behave: str = "", **settings: Any) -> iv.Client:
    """A client of an emulator with these behaviors."""
    headers = {"x-innervoice-emulate": behave} if behave else {}
    return emulated_client(emulator, headers=headers, **settings)


def answer_calls(message: iv.Message) -> list[iv.Message]:
    """The tool results for the calls of a turn."""
    return [
        iv.tool_result(call.id, get_weather(json.loads(call.arguments)["city"]))
        for call in message.tool_calls
    ]


def stored(history: list[iv.Message]) -> list[iv.Message]:
    """The history after storage as JSON."""
    return list(iv.from_json(iv.to_json(history).decode()))


def turns_of(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The assistant turns in a request body, in any dialect."""
    messages = body.get("messages") or body.get("contents") or []
    return [message for message in messages if message["role"] in ("assistant", "model")]


def changed(message: iv.Message, edit: Callable[[dict[str, Any]], Any]) -> iv.Message:
    """The message with its first thinking block edited."""
    thought = next(part for part in message.parts if isinstance(part, iv.Thinking))
    assert thought.origin
    block = json.loads(json.dumps(thought.origin.block))
    edit(block)
    edited = thought.replace(origin=thought.origin.replace(block=block))
    return message.replace(
        parts=tuple(edited if part is thought else part for part in message.parts)
    )


def frames_of(raw: bytes) -> Iterator[dict[str, Any]]:
    """The JSON of each frame of a captured stream."""
    for line in raw.decode().splitlines():
        if line.startswith("data: {"):
            yield json.loads(line.removeprefix("data: "))
