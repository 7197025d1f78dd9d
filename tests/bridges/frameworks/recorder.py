"""An emulator that keeps what it received and sent, and what must hold for the thinking in between."""

import json
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from unittest.mock import patch

import pytest

import innervoice as iv
from innervoice.bridges import litellm
from innervoice.canon.parts import Thinking
from innervoice.emulator import Emulator
from innervoice.emulator.routes import base_urls

MODELS = {
    "claude": "anthropic/claude-sonnet-4-5",
    "adaptive": "anthropic/claude-opus-5-5",
    "gemini": "gemini/gemini-3-pro",
    "deepseek": "deepseek/deepseek-v4-pro",
    "gpt": "openai/gpt-5.6",
}
QUESTION = "What is the weather in Paris and Rome, then in Oslo?"
ANSWER = "It is sunny in all three."


def call(city):
    """A call of the tool that every program has."""
    return {"name": "get_weather", "arguments": {"city": city}}


STEPS = [
    {"think": "Two cities at once.", "call": [call("Paris"), call("Rome")]},
    {"think": "Now the third one.", "call": call("Oslo")},
    {"think": "All of them are known.", "answer": ANSWER},
]


def needs(distribution):
    """Skips a module whose program is not installed; nothing of the program is imported, since our litellm must be there first."""
    try:
        version(distribution)
    except PackageNotFoundError:
        reason = f"{distribution} is in an environment of its own: scripts/test frameworks"
        pytest.skip(reason, allow_module_level=True)


@dataclass(frozen=True)
class Exchange:
    """A request and its reply."""

    path: str
    body: dict
    status: int
    reply: bytes

    @property
    def response(self):
        """The reply as innervoice reads it, complete or streamed."""
        return iv.decode(self.reply)

    @property
    def streamed(self):
        """Whether the reply was a stream."""
        return self.reply.lstrip()[:1] not in (b"{", b"[")


class Recorder(Emulator):
    """An emulator whose exchanges are kept; a script leads its model, one step for each request."""

    def __init__(self, steps=None, **settings):
        following = iter(steps or ())
        super().__init__(script=lambda messages, tools: next(following, None), **settings)
        self.exchanges = []
        self.url = ""

    def reply(self, method, path, headers, body):
        answer = super().reply(method, path, headers, body)
        pieces = list(answer.pieces)
        sent = json.loads(body) if body else {}
        self.exchanges.append(Exchange(path, sent, answer.status, b"".join(pieces)))
        return replace(answer, pieces=iter(pieces))

    def base_url(self, model):
        """The base URL of a model's provider."""
        return base_urls(self.url)[model.partition("/")[0]]

    def assert_kept(self, *, requests, streamed=None):
        """No request was refused, and each one carries the thinking of all turns before it, seals byte for byte."""
        assert [200] * requests == [exchange.status for exchange in self.exchanges]
        if streamed is not None:
            assert {streamed} == {exchange.streamed for exchange in self.exchanges}
        assert self.missing == []

    @property
    def missing(self):
        """The turns whose thinking is absent from a later request, and the turns without thinking, by number."""
        found = []
        for number, exchange in enumerate(self.exchanges[:-1]):
            thinking = thinking_of(exchange.response)
            later = [strings_in(other.body) for other in self.exchanges[number + 1 :]]
            if not thinking or not all(thinking <= strings for strings in later):
                found.append(number)
        return found


def is_kept_alone(emulator, run):
    """Whether a program keeps the thinking without the bridge's memory; a program that loses it may be refused, and raise."""
    try:
        with patch.object(litellm, "remember_turns", new=False):
            run()
    except Exception:  # noqa: BLE001 - every program has errors of its own
        return False
    return not emulator.missing and {200} == {exchange.status for exchange in emulator.exchanges}


def thinking_of(response):
    """What a provider needs back of a turn: its seals, or the text where nothing is sealed."""
    blocks = [part.origin for part in response.parts if part.origin and part.origin.seals]
    seals = {value for origin in blocks for value in seals_in(origin.block, origin.seals)}
    texts = {part.text for part in response.parts if isinstance(part, Thinking) and part.text}
    return seals or texts


def seals_in(block, paths):
    """The seals of a wire block that are its secrets, not its id."""
    for path in paths:
        value = block
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if isinstance(value, str) and path != "id":
            yield value


def strings_in(value):
    """All strings of a request body."""
    if isinstance(value, str):
        return {value}
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {text for item in inner for text in strings_in(item)}
