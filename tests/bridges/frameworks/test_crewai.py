"""crewAI with its litellm model: a crew of one agent with a tool."""

import sys

import pytest

import innervoice.bridges.litellm as ours
from bridges.frameworks.recorder import ANSWER, MODELS, QUESTION, STEPS, is_kept_alone, needs

needs("crewai")
# The program and its packages warn of things that are none of ours.
pytestmark = pytest.mark.filterwarnings("ignore")

KEEPS = set()
"""The models whose thinking the program keeps by itself; for the others it needs the memory of the bridge."""


def run(emulator, model, *, streamed):
    from crewai import LLM, Agent, Crew, Task
    from crewai.tools import tool

    called = []

    @tool("get_weather")
    def get_weather(city: str) -> str:
        """Tells the weather of a city."""
        called.append(city)
        return f"{city}: sunny"

    chat = LLM(
        model,
        is_litellm=True,
        api_base=emulator.base_url(model),
        api_key="any",
        reasoning_effort="high",
        stream=streamed,
    )
    agent = Agent(
        role="Weather reporter",
        goal="Tell the weather.",
        backstory="You are brief.",
        llm=chat,
        tools=[get_weather],
    )
    task = Task(description=QUESTION, expected_output="One sentence.", agent=agent)
    return Crew(agents=[agent], tasks=[task], verbose=False).kickoff(), called


def test_thinking_is_kept(emulated, model, streamed):
    emulator = emulated(STEPS)
    result, called = run(emulator, model, streamed=streamed)

    assert (ANSWER, {"Paris", "Rome", "Oslo"}) == (result.raw, set(called))
    assert sys.modules["litellm"] is ours
    emulator.assert_kept(requests=3, streamed=streamed)
    spent = [exchange.response.usage for exchange in emulator.exchanges]
    assert sum(usage.output_tokens for usage in spent) == result.token_usage.completion_tokens


def test_what_it_keeps_itself(emulated, name):
    """Without the memory of the bridge."""
    emulator = emulated(STEPS)
    kept = is_kept_alone(emulator, lambda: run(emulator, MODELS[name], streamed=False))

    assert kept is (name in KEEPS)
