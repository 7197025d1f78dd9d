"""smolagents with its LiteLLMModel: an agent that calls tools, and one that writes code."""

import sys

import pytest

import innervoice.bridges.litellm as ours
from bridges.frameworks.recorder import ANSWER, QUESTION, STEPS, needs

needs("smolagents")
# The program and its packages warn of things that are none of ours.
pytestmark = pytest.mark.filterwarnings("ignore")

CALLING = [
    *STEPS[:2],
    {
        "think": "All of them are known.",
        "call": {"name": "final_answer", "arguments": {"answer": ANSWER}},
    },
]
CODING = [
    {
        "think": "Two cities at once.",
        "answer": "Two first.\n<code>\nprint(get_weather('Paris'), get_weather('Rome'))\n</code>",
    },
    {
        "think": "Now the third one.",
        "answer": "One more.\n<code>\nprint(get_weather('Oslo'))\n</code>",
    },
    {"think": "All of them are known.", "answer": f"<code>\nfinal_answer({ANSWER!r})\n</code>"},
]


def run(kind, emulator, model, *, streamed, **options):
    import smolagents

    called = []

    @smolagents.tool
    def get_weather(city: str) -> str:
        """Tells the weather of a city.

        Args:
            city: The city.
        """
        called.append(city)
        return f"{city}: sunny"

    chat = smolagents.LiteLLMModel(
        model,
        api_base=emulator.base_url(model),
        api_key="any",
        reasoning_effort="high",
        drop_params=True,
        **options,
    )
    agent = getattr(smolagents, kind)(
        tools=[get_weather], model=chat, stream_outputs=streamed, verbosity_level=0
    )
    return agent.run(QUESTION), called


@pytest.mark.parametrize(("kind", "steps"), [("ToolCallingAgent", CALLING), ("CodeAgent", CODING)])
def test_thinking_is_kept(emulated, model, streamed, kind, steps):
    emulator = emulated(steps)
    answer, called = run(kind, emulator, model, streamed=streamed, tool_choice="auto")

    assert (ANSWER, {"Paris", "Rome", "Oslo"}) == (answer, set(called))
    assert sys.modules["litellm"] is ours
    emulator.assert_kept(requests=3, streamed=streamed)
