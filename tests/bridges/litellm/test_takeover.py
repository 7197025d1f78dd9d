"""A conversation that one module begins and the other continues in the middle of a tool loop, stored as JSON."""

import pytest

from bridges.litellm.talk import QUESTION, TOOLS, results, through_json

# The real one warns of things that are none of ours.
pytestmark = pytest.mark.filterwarnings("ignore")

TARGETS = {
    "claude": (
        "anthropic/claude-sonnet-4-5",
        {"thinking": {"type": "enabled", "budget_tokens": 2000}, "max_tokens": 4000},
    ),
    # Newer ones bind their reasoning to every byte before it, which two clients do not write alike.
    "adaptive": ("anthropic/claude-opus-4-6", {"reasoning_effort": "high"}),
    "gemini": ("gemini/gemini-3-pro", {"reasoning_effort": "low"}),
    "deepseek": ("deepseek/deepseek-v4", {}),
    "responses": ("openai/gpt-5.6", {"reasoning_effort": "low"}),
}


@pytest.mark.parametrize("behaviour", [None, "redact"])
@pytest.mark.parametrize("name", TARGETS)
def test_the_other_goes_on(pair, name, behaviour):
    """The emulator refuses a loop whose reasoning was lost or changed."""
    first, second = pair
    model, options = TARGETS[name]
    message = (
        first.ask(model, [QUESTION], tools=TOOLS, behaviour=behaviour, **options).choices[0].message
    )
    history = through_json([QUESTION, message.model_dump()])
    history += results(history[1])
    answer = second.ask(model, history, tools=TOOLS, **options)

    assert "sunny in Paris" in answer.choices[0].message.content
    assert not any("recovered" in note for note in answer._hidden_params.get("notes", ()))
