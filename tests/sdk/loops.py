"""The loop that every SDK runs against the emulator: a question, a tool, and what must come of it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest

import innervoice as iv
from innervoice.emulator import Emulator

__all__ = [
    "ANSWER", "CALLS", "FUNCTION", "NAME", "QUESTION", "SCHEMA", "STREAMED", "Ended", "Served", "check", "get_weather", "read",
    "serve_emulator", "unchanged", "weather_of",
]  # fmt: skip

STREAMED = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])

QUESTION = "What is the weather in Paris and Rome, then the weather in Oslo and Bergen?"
NAME = "get_weather"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FUNCTION = {
    "type": "function",
    "function": {"name": NAME, "description": "Weather.", "parameters": SCHEMA},
}
ANSWER = "Paris: 21 °C. Rome: 27 °C. Oslo: 9 °C. Bergen: 8 °C."
CALLS = [2, 2, 0]
"""How many calls each turn makes."""

_HOST = "127.0.0.1"
_WEATHER = {"Paris": "21 °C", "Rome": "27 °C", "Oslo": "9 °C", "Bergen": "8 °C"}


def get_weather(city: str) -> str:
    """What the tool gives."""
    return f"{city}: {_WEATHER[city]}"


def weather_of(arguments: str) -> str:
    """What the tool gives for arguments that are still JSON."""
    return get_weather(**json.loads(arguments))


class Ended(NamedTuple):
    """A loop that came to its end."""

    text: str
    """The answer as the SDK gives it."""
    calls: list[int]
    """How many calls each turn made."""
    thoughts: list[str]
    """What each turn showed of its reasoning."""
    response: iv.Response
    """The last turn, as we read it from the SDK's own object."""


class Served(Emulator):
    """An emulator that counts its requests and has an address."""

    def __init__(self) -> None:
        super().__init__()
        self.url = ""
        self._taken: list[str] = []
        self._lock = Lock()

    def reply(self, method, path, headers, body):
        with self._lock:
            self._taken.append(path)
        return super().reply(method, path, headers, body)

    def taken(self) -> int:
        """How many requests came since this was asked last."""
        with self._lock:
            count = len(self._taken)
            self._taken.clear()
        return count


@contextmanager
def serve_emulator() -> Iterator[Served]:
    """Serves an emulator on the loopback while the block runs."""
    from innervoice.testing import EmulatorServer

    served = Served()
    # A proxy of the surroundings is not for the loopback.
    with (
        patch.dict("os.environ", {"NO_PROXY": _HOST, "no_proxy": _HOST}),
        EmulatorServer(served) as server,
    ):
        served.url = server.url
        yield served


def unchanged(history: list[Any]) -> list[Any]:
    """What is sent of a history: all of it. Loops that are refused send something else."""
    return history


def read(answer: Any, *, streamed: bool) -> iv.Response:
    """The SDK's own answer, or the list of what it streamed, as we read it."""
    return iv.fold(iv.decode_stream(answer)) if streamed else iv.decode(answer)


def check(ended: Ended, emulator: Served, *, shown: bool = True) -> None:
    """The loop gave the answer in three requests, and showed its reasoning in each, or in none."""
    assert ANSWER == ended.text
    assert CALLS == ended.calls
    assert 3 == emulator.taken()
    assert [shown] * 3 == [bool(thought) for thought in ended.thoughts]
    assert (ended.text, ended.thoughts[-1]) == (ended.response.text, ended.response.thinking or "")
