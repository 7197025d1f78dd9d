"""Talking to the emulator without a socket."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

import innervoice as iv
from innervoice.emulator import Emulator

__all__ = ["KEY", "TOOL", "Refused", "Turn", "converse", "send", "weather"]

KEY = "test-key"
TOOL = iv.Tool(
    "get_weather",
    "Tells the weather of a city.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


class Refused(Exception):  # noqa: N818 - it is what the emulator did
    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text}")
        self.status, self.text = status, text


class Turn:
    """One answer: what was sent, the bytes that came, and what they are."""

    def __init__(self, wire: iv.Wire, raw: bytes, response: iv.Response) -> None:
        self.wire, self.raw, self.response = wire, raw, response


def send(
    emulator: Emulator,
    model: str,
    wire: iv.Wire,
    *,
    key: str = KEY,
    behave: str = "",
    cut: int | None = None,
) -> Turn:
    """Sends a wire; raises `Refused`. With `cut` the stream breaks off after so many bytes."""
    provider, _, name = model.partition("/")
    url = urlsplit(wire.url)
    path = f"/{provider}{url.path}" + (f"?{url.query}" if url.query else "")
    headers = {**wire.headers, "authorization": f"Bearer {key}"}
    if behave:
        headers["x-innervoice-emulate"] = behave
    reply = emulator.reply("POST", path, headers, json.dumps(wire.body).encode())
    raw = reply.body
    if reply.status != 200:
        raise Refused(reply.status, raw.decode())
    if cut is not None:
        raw = raw[:cut]
    events = iv.decode_stream([raw], provider=provider, model=name, request=wire)
    return Turn(wire, raw, iv.fold(events))


def weather(call: iv.ToolCall) -> iv.Message:
    """What the tool gives."""
    arguments: Any = json.loads(call.arguments or "{}")
    return iv.tool_result(call.id, f"{arguments.get('city')}: sunny")


def converse(
    emulator: Emulator,
    model: str,
    history: list[iv.Message],
    question: str,
    *,
    behave: str = "",
    **settings: Any,
) -> list[Turn]:
    """Asks, answers the calls until there are none, and leaves all of it in the history."""
    history.append(iv.user(question))
    turns: list[Turn] = []
    for _ in range(8):
        request = iv.Request(model, history, tools=[TOOL], **settings)
        turn = send(emulator, model, iv.encode(request), behave=behave)
        turns.append(turn)
        history.append(turn.response.message)
        if not turn.response.tool_calls:
            return turns
        history += [weather(call) for call in turn.response.tool_calls]
    raise AssertionError("the loop does not end")
