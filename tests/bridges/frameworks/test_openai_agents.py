"""The OpenAI Agents SDK with its LitellmModel."""

import asyncio
import sys

import pytest

import innervoice.bridges.litellm as ours
from bridges.frameworks.recorder import ANSWER, MODELS, QUESTION, STEPS, is_kept_alone, needs

needs("openai-agents")
# The program and its packages warn of things that are none of ours.
pytestmark = pytest.mark.filterwarnings("ignore")

# It makes two turns of the two calls, and Claude with a budget refuses the second one without thinking.
KEEPS = {"adaptive", "gemini", "deepseek"}
"""The models whose thinking the program keeps by itself; for the others it needs the memory of the bridge."""


def run(emulator, model, *, streamed):
    import agents
    from agents.extensions.models.litellm_model import LitellmModel

    called = []

    @agents.function_tool
    def get_weather(city: str) -> str:
        """Tells the weather of a city."""
        called.append(city)
        return f"{city}: sunny"

    agent = agents.Agent(
        name="weather",
        model=LitellmModel(model, base_url=emulator.base_url(model), api_key="any"),
        model_settings=agents.ModelSettings(reasoning={"effort": "high"}, include_usage=True),
        tools=[get_weather],
    )

    async def main():
        if not streamed:
            return (await agents.Runner.run(agent, QUESTION)).final_output
        result = agents.Runner.run_streamed(agent, QUESTION)
        async for _ in result.stream_events():
            pass
        return result.final_output

    return asyncio.run(main()), called


def test_thinking_is_kept(emulated, model, streamed):
    emulator = emulated(STEPS)
    answer, called = run(emulator, model, streamed=streamed)

    assert (ANSWER, {"Paris", "Rome", "Oslo"}) == (answer, set(called))
    assert sys.modules["litellm"] is ours
    emulator.assert_kept(requests=3, streamed=streamed)


def test_what_it_keeps_itself(emulated, name):
    """Without the memory of the bridge."""
    emulator = emulated(STEPS)
    kept = is_kept_alone(emulator, lambda: run(emulator, MODELS[name], streamed=False))

    assert kept is (name in KEEPS)
