"""Every conversation of every dialect arrives at every other one, with all its words, calls and results."""

import pytest

import innervoice as iv
from innervoice.catalog.targets import target_of
from innervoice.wire.dialects import dialect_named, rules_of
from planning.conversations import (
    ANSWER,
    ARGUMENTS,
    DISTANCE,
    PICTURE,
    PLAN,
    SOURCES,
    SYSTEM,
    TEXTS,
    request_from,
    said,
)

TARGETS = (
    "anthropic/claude-opus-5-5",
    "anthropic/claude-sonnet-4-5",
    "openai/gpt-5.6",
    "openai/gpt-4o",
    "xai/grok-4",
    "deepseek/deepseek-v4-pro",
    "openrouter/openai/gpt-5",
    "gemini/gemini-3-pro",
    "gemini/gemini-2.5-flash",
    "bedrock/anthropic.claude-sonnet-4-5",
    "bedrock/amazon.nova-2-lite",
    "mistral/magistral-medium-latest",
    "mistral/mistral-large-latest",
    "cohere/command-a-reasoning-08-2025",
    "ollama/qwen3:8b",
)
HOME = {
    "anthropic": "anthropic/claude-opus-5-5",
    "openai-chat": "deepseek/deepseek-v4-pro",
    "openai-responses": "openai/gpt-5.6",
    "gemini": "gemini/gemini-3-pro",
    "bedrock-converse": "bedrock/anthropic.claude-sonnet-4-5",
    "mistral": "mistral/mistral-large-latest",
    "cohere": "cohere/command-a-reasoning-08-2025",
    "ollama": "ollama/qwen3:8b",
    "langchain": "openai/gpt-5.6",
}


def check(request, *, flagged=False):
    """Everything of the conversation is there."""
    texts, calls, results, pictures = said(request)
    assert SYSTEM in "\n".join(texts["system"])
    for role in ("user", "assistant"):
        spoken = "\n".join(texts[role])
        places = [spoken.find(text) for text in TEXTS[role]]
        assert -1 not in places, (role, spoken)
        assert places == sorted(places), (role, spoken)
    assert "".join(texts["assistant"]).replace("\n", "") == PLAN + ANSWER
    assert calls == ARGUMENTS
    content = {name: text for name, (text, _) in results.items()}
    assert content == {
        "get_weather": "fog", "get_distance": DISTANCE, "find_map": "a map", "get_time": "no clock",
    }  # fmt: skip
    assert pictures == [PICTURE]
    if flagged:
        assert [name for name, (_, error) in results.items() if error] == ["get_time"]


def sent(request):
    """The request that its host reads, after the rules of the API."""
    wire = iv.encode(request)
    refusals = list(rules_of(wire.dialect)(wire.body, target_of(request)))
    assert refusals == []
    return iv.decode_request(wire.body, wire.dialect), wire


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("reasoning", [None, "high", "none"])
def test_there_and_back(source, target, reasoning):
    request = request_from(source, target).replace(reasoning=iv.Reasoning.from_any(reasoning))
    check(request)
    there, wire = sent(request)
    flags = said(request)[2]["get_time"][1] and dialect_named(wire.dialect).flags_errors
    check(there, flagged=flags)
    home = HOME[source]
    back, wire = sent(there.replace(model=home, dialect=None, reasoning=None))
    check(back, flagged=flags and dialect_named(wire.dialect).flags_errors)
