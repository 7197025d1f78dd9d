"""The emulator in this process, and the loop that all tests run against it."""

import json

import pytest

import innervoice as iv
from innervoice.emulator import Emulator, emulated_async_client, emulated_client

QUESTION = "What is the weather in Paris and Rome, then the weather in Oslo?"
ANSWER = "Paris: 21 °C. Rome: 27 °C. Oslo: 9 °C."
WEATHER = {"Paris": "21 °C", "Rome": "27 °C", "Oslo": "9 °C"}


class Kept(Emulator):
    """An emulator that records its requests."""

    def __init__(self):
        super().__init__()
        self.bodies = []

    def reply(self, method, path, headers, body):
        self.bodies.append(json.loads(body))
        return super().reply(method, path, headers, body)


@pytest.fixture
def emulator():
    """All providers, without a port."""
    return Kept()


@pytest.fixture
def clients(emulator):
    """The clients of a model that uses the emulator."""
    return {
        "client": emulated_client(emulator),
        "async_client": emulated_async_client(emulator),
    }


@pytest.fixture
def tool():
    """The tool as a dict, so that every client sends the same."""
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    inner = {"name": "get_weather", "description": "Weather.", "parameters": schema}
    return {"type": "function", "function": inner}


@pytest.fixture
def loop():
    """Sends the question and runs the tool until there is an answer."""
    messages = pytest.importorskip("langchain_core.messages")

    async def run(ask, question=QUESTION, history=()):
        history = [*history, messages.HumanMessage(question)]
        for _ in range(5):
            answer = await ask(history)
            history.append(answer)
            if not answer.tool_calls:
                return history
            history += [
                messages.ToolMessage(
                    f"{call['args']['city']}: {WEATHER[call['args']['city']]}",
                    tool_call_id=call["id"],
                )
                for call in answer.tool_calls
            ]
        raise AssertionError("the loop does not end")

    return run


@pytest.fixture
def direct(tool):
    """The bodies that our own client sends for the same loop."""

    def run(model, *, streamed):
        emulator = Kept()
        client = emulated_client(emulator)
        history = [iv.user(QUESTION)]
        for _ in range(3):
            answer = client.ask(model, history, tools=[tool], reasoning="high", stream=streamed)
            history.append(answer.message)
            for call in answer.tool_calls:
                city = json.loads(call.arguments)["city"]
                history.append(iv.tool_result(call.id, f"{city}: {WEATHER[city]}"))
        return emulator.bodies

    return run
