"""Conversations with litellm's API: questions, tools, a loop whose history goes through JSON, and the sent bodies."""

import asyncio
import json
import os
from dataclasses import dataclass, field

import pytest

from innervoice.emulator import Emulator

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather of a city.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
            },
        },
    }
]
QUESTION = {"role": "user", "content": "What is the weather in Paris and London?"}
SUM = {"role": "user", "content": "What is 15 * 23?"}


class Served(Emulator):
    """An emulator that records request bodies."""

    def __init__(self):
        super().__init__()
        self.bodies = []
        self.paths = []
        self.headers = []

    def reply(self, method, path, headers, body):
        self.paths.append(path)
        self.headers.append({name.lower(): value for name, value in dict(headers).items()})
        self.bodies.append(json.loads(body) if body else None)
        return super().reply(method, path, headers, body)


@dataclass
class Line:
    """A module with litellm's API, and the emulator that it uses."""

    module: object
    emulator: Served
    addresses: dict
    keys: dict = field(default_factory=dict)

    def options(self, model, **more):
        provider = model.partition("/")[0]
        headers = {}
        if behaviour := more.pop("behaviour", None):
            headers = {"x-innervoice-emulate": behaviour}
        given = {"api_key": "any", "api_base": self.addresses[provider], "max_retries": 0}
        return {"model": model, **given, "extra_headers": headers, **more}

    def ask(self, model, messages, **more):
        return self.module.completion(messages=messages, **self.options(model, **more))

    def chunks(self, model, messages, **more):
        return list(self.ask(model, messages, stream=True, **more))

    def whole(self, model, messages, *, how="whole", **more):
        """The response: complete or streamed, sync or async."""
        if how == "whole":
            return self.ask(model, messages, **more)
        if how == "streamed":
            return self.module.stream_chunk_builder(
                self.chunks(model, messages, **more), messages=messages
            )
        return asyncio.run(self._awaited(model, messages, how=how, **more))

    async def _awaited(self, model, messages, *, how, **more):
        options = self.options(model, **more)
        if how == "awaited":
            return await self.module.acompletion(messages=messages, **options)
        stream = await self.module.acompletion(messages=messages, stream=True, **options)
        chunks = [chunk async for chunk in stream]
        return self.module.stream_chunk_builder(chunks, messages=messages)

    @property
    def body(self):
        """The last request body."""
        return self.emulator.bodies[-1]


def through_json(messages):
    """A history after storage as JSON."""
    return json.loads(json.dumps(messages))


def results(message):
    """The tool results for the calls of a message, in litellm's form."""
    return [
        {
            "role": "tool",
            "tool_call_id": call["id"],
            "content": f"It is sunny in {json.loads(call['function']['arguments'])['city']}.",
        }
        for call in message.get("tool_calls") or ()
    ]


def turn(line, model, history, *, how="whole", **more):
    """Runs a tool loop, with every message stored as JSON; returns the history and the responses."""
    answers = []
    for _ in range(6):
        response = line.whole(model, history, how=how, tools=TOOLS, **more)
        message = response.choices[0].message
        answers.append(message)
        history = through_json([*history, message.model_dump()])
        if not message.tool_calls:
            return history, answers
        history = through_json([*history, *results(history[-1])])
    raise AssertionError("the loop did not end")


def real_litellm():
    """The real litellm; skips the test if it is not installed."""
    # Without these it asks the network for its prices, and prints hints.
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    module = pytest.importorskip(
        "litellm", reason="litellm lives in an environment of its own: scripts/setup litellm"
    )
    module.suppress_debug_info = True
    return module
