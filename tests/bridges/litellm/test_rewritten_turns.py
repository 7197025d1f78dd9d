"""Programs that write something else into the text of a turn: its reasoning is found by the conversation before it."""

import json

import pytest

from bridges.litellm.talk import QUESTION, SUM, TOOLS
from bridges.litellm.test_loops import seals_of

TARGETS = {
    "claude": ("anthropic/claude-sonnet-4-5", {"reasoning_effort": "low"}),
    "adaptive": ("anthropic/claude-opus-5-5", {"reasoning_effort": "high"}),
    "gemini": ("gemini/gemini-3-pro", {"reasoning_effort": "low"}),
    "openai": ("openai/gpt-5.6", {"reasoning_effort": "low"}),
    "deepseek": ("deepseek/deepseek-v4", {"reasoning_effort": "high"}),
}
MORE = {"role": "user", "content": "And what is 2 + 2?"}


def asked(line, target, *, question, text, **more):
    """The first response, and the second after the first was sent back as a text."""
    model, options = target
    first = line.ask(model, [question], tools=TOOLS, **options).choices[0].message
    shown = {"role": "assistant", "content": text(first)}
    second = line.ask(model, [question, shown, MORE], tools=TOOLS, **options, **more)
    return first, second


def thinking_in(line, message):
    """Whether the last request has reasoning: a seal, or the text of the message."""
    sent = json.dumps(line.body, ensure_ascii=False)
    return bool(seals_of(line.body)) or json.dumps(message.reasoning_content) in sent


@pytest.fixture(params=TARGETS)
def target(request):
    """A model and its reasoning setting."""
    return TARGETS[request.param]


def test_appended_text(line, target):
    first, second = asked(line, target, question=SUM, text=lambda turn: f"{turn.content} Logged.")

    assert thinking_in(line, first)
    assert " Logged." in json.dumps(line.body)
    assert "2 + 2 = 4" in second.choices[0].message.content
    assert any("restored" in note for note in second._hidden_params["notes"])


def test_calls_in_the_text(line, target):
    """The calls are words now, so only the reasoning comes back; of Gemini's without the signature, which belongs to the call."""
    first, second = asked(
        line, target, question=QUESTION, text=lambda turn: f"Calls: {[call.id for call in turn.tool_calls]}"
    )  # fmt: skip

    assert thinking_in(line, first)
    assert "2 + 2 = 4" in second.choices[0].message.content


@pytest.mark.parametrize("text", ["Another answer.", "Said before: 15 * 23 = 345.", ""])
def test_another_text(line, text):
    first, _ = asked(line, TARGETS["claude"], question=SUM, text=lambda turn: text)

    assert not thinking_in(line, first)


def test_another_key(line):
    """Reasoning is found for the caller that it was sent to only."""
    first, _ = asked(line, TARGETS["claude"], question=SUM, text=lambda turn: f"{turn.content} Logged.", api_key="other")  # fmt: skip

    assert not thinking_in(line, first)


@pytest.mark.parametrize(("behaviour", "is_found"), [("pieces=3", False), ("silent", True)])
def test_two_answers_to_the_same_conversation(line, behaviour, is_found):
    """If the text was made of either of the two, neither is used."""
    model, options = TARGETS["claude"]
    line.ask(model, [SUM], behaviour=behaviour, tools=TOOLS, **options)
    first, _ = asked(line, TARGETS["claude"], question=SUM, text=lambda turn: f"{turn.content} Logged.")  # fmt: skip

    assert is_found is thinking_in(line, first)
