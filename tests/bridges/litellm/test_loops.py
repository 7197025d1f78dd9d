"""Tool loops of three turns, stored as JSON after every message: with one provider, and with a switch and back."""

import re
from dataclasses import replace

import pytest

from bridges.litellm.talk import QUESTION, SUM, TOOLS, results, through_json, turn

TARGETS = {
    "enabled": (
        "anthropic/claude-sonnet-4-5",
        {"thinking": {"type": "enabled", "budget_tokens": 2000}, "max_tokens": 4000},
    ),
    "redacted": (
        "anthropic/claude-sonnet-4-5",
        {"reasoning_effort": "low", "max_tokens": 8000, "behaviour": "redact"},
    ),
    "adaptive": ("anthropic/claude-opus-5-5", {"reasoning_effort": "high"}),
    "gemini": ("gemini/gemini-3-pro", {"reasoning_effort": "low"}),
    "openai": ("openai/gpt-5.6", {"reasoning_effort": "low"}),
    "deepseek": ("deepseek/deepseek-v4", {"reasoning_effort": "high"}),
    "bedrock": (
        "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        {"reasoning_effort": "low"},
    ),
    "openrouter": ("openrouter/anthropic/claude-opus-5", {"reasoning_effort": "low"}),
}
HOWS = ["whole", "streamed", "awaited", "awaited-streamed"]
SECOND = {"role": "user", "content": "And what is the weather in Rome, then what is 2 + 2?"}
SEALS = ("signature", "data", "encrypted_content", "thoughtSignature", "redactedContent")


def seals_of(value):
    """All seals in a request body."""
    if isinstance(value, dict):
        own = [value[name] for name in SEALS if isinstance(value.get(name), str)]
        return own + [seal for item in value.values() for seal in seals_of(item)]
    if isinstance(value, list):
        return [seal for item in value for seal in seals_of(item)]
    return []


@pytest.fixture(params=TARGETS)
def target(request):
    """A model and its reasoning setting."""
    return TARGETS[request.param]


@pytest.mark.parametrize("how", HOWS)
def test_three_turns_at_home(line, target, how):
    """The emulator refuses lost, edited and moved seals, so an answer at the end proves that all were sent back."""
    model, options = target
    history = [{"role": "system", "content": "Be brief."}, QUESTION]
    for question in (SECOND, SUM, None):
        history, answers = turn(line, model, history, how=how, **options)
        assert answers[-1].content
        history = [*history, question] if question else history

    assert "15 * 23 = 345" in answers[-1].content
    if model.startswith("deepseek"):
        sent = [message for message in line.body["messages"] if message["role"] == "assistant"]
        assert all(message["reasoning_content"] for message in sent if message.get("tool_calls"))
    else:
        assert len(set(seals_of(line.body))) >= 3


@pytest.mark.parametrize("how", ["whole", "streamed"])
@pytest.mark.parametrize("away", ["openai", "gemini", "deepseek", "enabled"])
def test_away_and_back(line, target, away, how):
    """Another provider gets no seals; after the return all of them are sent."""
    model, options = target
    other, others = TARGETS[away]
    history, _ = turn(line, model, [QUESTION], how=how, **options)
    at_home = set(seals_of(line.body))
    assert at_home or model.startswith("deepseek")

    before = len(line.emulator.bodies)
    history, _ = turn(line, other, [*history, SECOND], how=how, **others)
    if other != model:
        assert not at_home & set(seals_of(line.emulator.bodies[before:]))

    history, answers = turn(line, model, [*history, SUM], how=how, **options)
    assert "345" in answers[-1].content
    assert at_home <= set(seals_of(line.body))


@pytest.mark.parametrize("kept", [True, False])
def test_reasoning_of_another_host_stays_behind(line, kept):
    """A plain field has no origin: with our key other hosts do not get it, without the key they do, as with litellm."""
    first = line.ask("deepseek/deepseek-v4", [QUESTION], tools=TOOLS).choices[0].message
    history = through_json([QUESTION, first.model_dump(), *results(first)])
    if not kept:
        history[1]["provider_specific_fields"] = None
    line.ask("moonshot/kimi-k2-thinking", history, tools=TOOLS)

    assert kept is not (first.reasoning_content == line.body["messages"][1]["reasoning_content"])


def test_the_history_is_plain_json(line):
    """A stored message has litellm's members, and one key of ours."""
    model, options = TARGETS["redacted"]
    history, _ = turn(line, model, [QUESTION], **options)
    call = next(message for message in history if message.get("tool_calls"))

    assert [block["type"] for block in call["thinking_blocks"]] == ["redacted_thinking", "thinking"]
    assert list(call["provider_specific_fields"]) == ["innervoice"]
    assert call["tool_calls"][0].keys() == {"function", "id", "type"}


@pytest.mark.parametrize("how", ["whole", "streamed"])
def test_calls_without_ids(line, how):
    """If a server sends calls without ids, unique ids are shown, and are not sent back with the call."""
    usual = line.emulator.reply

    def reply(*request):
        answer = usual(*request)
        body = re.sub(rb'"id":"call_[0-9a-f]+",', b"", answer.body)
        return replace(answer, pieces=iter([body]))

    line.emulator.reply = reply
    history, _ = turn(line, "ollama/qwen3:8b", [QUESTION], how=how)
    history, answers = turn(line, "ollama/qwen3:8b", [*history, SECOND], how=how)
    shown = [call["id"] for message in history for call in message.get("tool_calls") or ()]
    sent = [call for message in line.body["messages"] for call in message.get("tool_calls") or ()]

    assert "sunny in Rome" in answers[-1].content
    assert len(shown) == len(set(shown)) == len(sent) == 3
    assert not any("id" in call for call in sent)

    line.emulator.reply = usual
    turn(line, "anthropic/claude-haiku-4-5", [*history, SUM], how=how)
    blocks = [block for message in line.body["messages"] for block in message["content"]]
    assert shown == [block["id"] for block in blocks if block["type"] == "tool_use"]
