"""smolagents with its LiteLLMModel: an agent that calls tools, and one that writes code."""

import sys

import pytest

import innervoice.bridges.litellm as ours
from bridges.frameworks.recorder import ANSWER, MODELS, QUESTION, STEPS, is_kept_alone, needs

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

KINDS = {"ToolCallingAgent": CALLING, "CodeAgent": CODING}
KEEPS = set()
"""The models whose thinking the program keeps by itself; for the others it needs the memory of the bridge."""


def run(kind, emulator, model, *, streamed, tool_choice="auto"):
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
        tool_choice=tool_choice,
    )
    agent = getattr(smolagents, kind)(
        tools=[get_weather], model=chat, stream_outputs=streamed, verbosity_level=0
    )
    return agent.run(QUESTION), called


@pytest.fixture(params=KINDS)
def kind(request):
    """A kind of agent."""
    return request.param


def test_thinking_is_kept(emulated, name, streamed, kind):
    """A turn comes back as its text with the calls printed behind it, so Gemini's signature of a call has no place."""
    emulator = emulated(KINDS[kind])
    answer, called = run(kind, emulator, MODELS[name], streamed=streamed)

    assert (ANSWER, {"Paris", "Rome", "Oslo"}) == (answer, set(called))
    assert sys.modules["litellm"] is ours
    if (kind, name) == ("ToolCallingAgent", "gemini"):
        assert [200] * 3 == [exchange.status for exchange in emulator.exchanges]
    else:
        emulator.assert_kept(requests=3, streamed=streamed)


def test_what_it_keeps_itself(emulated, name, kind):
    """Without the memory of the bridge."""
    emulator = emulated(KINDS[kind])
    kept = is_kept_alone(emulator, lambda: run(kind, emulator, MODELS[name], streamed=False))

    assert kept is (name in KEEPS)


@pytest.mark.parametrize(("choice", "thinks"), [("auto", True), ("required", False)])
def test_claude_does_not_think_if_a_call_is_forced(emulated, choice, thinks):
    """Its agent forces calls unless told otherwise; the API refuses that together with thinking, so thinking is switched off."""
    emulator = emulated(CALLING)
    run("ToolCallingAgent", emulator, MODELS["claude"], streamed=False, tool_choice=choice)

    assert [thinks] * 3 == ["thinking" in exchange.body for exchange in emulator.exchanges]
