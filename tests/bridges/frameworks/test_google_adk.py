"""Google's ADK with its LiteLlm model."""

import asyncio
import sys

import pytest

import innervoice.bridges.litellm as ours
from bridges.frameworks.recorder import ANSWER, MODELS, QUESTION, STEPS, is_kept_alone, needs

needs("google-adk")
# The program and its packages warn of things that are none of ours.
pytestmark = pytest.mark.filterwarnings("ignore")

KEEPS = {"claude", "adaptive", "gemini", "deepseek"}
"""The models whose thinking the program keeps by itself; for the others it needs the memory of the bridge."""


def run(emulator, model, *, streamed):
    from google.adk.agents import LlmAgent
    from google.adk.agents.run_config import RunConfig, StreamingMode
    from google.adk.models.lite_llm import LiteLlm
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    called = []

    def get_weather(city: str) -> str:
        """Tells the weather of a city."""
        called.append(city)
        return f"{city}: sunny"

    options = {"api_base": emulator.base_url(model), "api_key": "any", "reasoning_effort": "high"}
    agent = LlmAgent(
        name="weather",
        model=LiteLlm(model=model, **options),
        instruction="Be brief.",
        tools=[get_weather],
    )
    mode = StreamingMode.SSE if streamed else StreamingMode.NONE

    async def main():
        runner = InMemoryRunner(agent=agent, app_name="weather")
        session = await runner.session_service.create_session(app_name="weather", user_id="u")
        question = types.Content(role="user", parts=[types.Part(text=QUESTION)])
        events = [
            event
            async for event in runner.run_async(
                user_id="u",
                session_id=session.id,
                new_message=question,
                run_config=RunConfig(streaming_mode=mode),
            )
        ]
        await runner.close()
        parts = [event for event in events if event.is_final_response()][-1].content.parts
        return "".join(part.text for part in parts if part.text and not part.thought)

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
