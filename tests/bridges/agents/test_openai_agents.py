"""The OpenAI Agents SDK: refused in the second turn, but not with our transport, nor with our module as its litellm."""

import asyncio
import json
import sys

import pytest

from innervoice.bridges import litellm, sdk
from innervoice.client.embedded import embedded_async_http
from innervoice.emulator import Emulator
from innervoice.emulator.routes import base_urls

agents = pytest.importorskip("agents")
openai = pytest.importorskip("openai")

HOSTS = [("deepseek", "deepseek-v4-pro"), ("moonshot", "kimi-k3")]


@agents.function_tool
def get_weather(city: str) -> str:
    """Tells the weather of a city."""
    return f"{city}: sunny"


def run(emulator, provider, model, *, bridged, streamed):
    http = sdk.async_client(provider) if bridged else None
    client = openai.AsyncOpenAI(base_url=emulator.base_url(provider), api_key="any", http_client=http, max_retries=0)  # fmt: skip
    agents.set_tracing_disabled(disabled=True)
    # An agent that keeps the reasoning itself would need nothing of us: this is the plain chat model.
    chat = agents.OpenAIChatCompletionsModel(model=model, openai_client=client)
    agent = agents.Agent(name="weather", model=chat, tools=[get_weather])

    async def main():
        async with client:
            return await answer_of(agent, streamed=streamed)

    return asyncio.run(main())


async def answer_of(agent, *, streamed):
    question = "What is the weather in Paris and Rome, then the weather in Oslo?"
    if not streamed:
        return (await agents.Runner.run(agent, question)).final_output
    result = agents.Runner.run_streamed(agent, question)
    async for _ in result.stream_events():
        pass
    return result.final_output


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(("provider", "model"), HOSTS)
class TestAgents:
    def test_with_the_transport(self, emulator, provider, model, streamed):
        text = run(emulator, provider, model, bridged=True, streamed=streamed)
        assert "Paris: sunny. Rome: sunny. Oslo: sunny." == text

    def test_without_it(self, emulator, provider, model, streamed):
        """The SDK keeps reasoning_content only for some model names; requests for others are refused."""
        if provider == "deepseek":
            pytest.skip("the Agents SDK gives DeepSeek its field back by the model's name")
        with pytest.raises(openai.BadRequestError, match="reasoning_content"):
            run(emulator, provider, model, bridged=False, streamed=streamed)


# ---- its litellm model ------------------------------------------------------------------------------

THINKING = {"thinking": {"type": "enabled", "budget_tokens": 2000}}
MODELS = [
    ("anthropic/claude-sonnet-4-5", THINKING, {"signature": 2}),
    ("gemini/gemini-3-pro", {"reasoning_effort": "low"}, {"thoughtSignature": 2}),
    ("openai/gpt-5.6", {"reasoning_effort": "low"}, {"encrypted_content": 2}),
    ("deepseek/deepseek-v4", {}, {"reasoning_content": 2}),
    ("moonshot/kimi-k2-thinking", {}, {"reasoning_content": 2}),
]


class Recorded(Emulator):
    """An emulator that records request bodies."""

    def __init__(self):
        super().__init__()
        self.bodies = []

    def reply(self, method, path, headers, body):
        self.bodies.append(json.loads(body))
        return super().reply(method, path, headers, body)


@pytest.fixture
def as_litellm(monkeypatch):
    """Our module under the name `litellm`, with its requests answered in this process."""
    emulator = Recorded()
    monkeypatch.setattr(litellm, "aclient_session", embedded_async_http(emulator))
    prefix = litellm.__name__
    modules = {name: module for name, module in sys.modules.items() if name.startswith(prefix)}
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name.replace(prefix, "litellm", 1), module)
    return emulator


def members(value):
    """The names of all members in a body whose value is a text."""
    if isinstance(value, dict):
        own = [name for name, item in value.items() if item and isinstance(item, str)]
        return own + [name for item in value.values() for name in members(item)]
    return [name for item in value for name in members(item)] if isinstance(value, list) else []


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(("name", "options", "seals"), MODELS)
def test_its_litellm_model(as_litellm, name, options, seals, streamed):
    """It drops the reasoning and splits turns with several calls; requests have both as they came."""
    from agents.extensions.models.litellm_model import LitellmModel  # imports litellm

    base = base_urls("http://emulator")[name.partition("/")[0]]
    settings = agents.ModelSettings(max_tokens=4000, extra_args=options)
    chat = LitellmModel(model=name, base_url=base, api_key="any")
    agent = agents.Agent(name="weather", model=chat, tools=[get_weather], model_settings=settings)
    agents.set_tracing_disabled(disabled=True)
    text = asyncio.run(answer_of(agent, streamed=streamed))
    last = members(as_litellm.bodies[-1])

    assert "Paris: sunny. Rome: sunny. Oslo: sunny." == text
    assert seals == {seal: last.count(seal) for seal in seals}
