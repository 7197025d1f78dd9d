"""Whose model a bare name means."""

import pytest

from innervoice.catalog.lookup import all_hosts
from innervoice.catalog.makers import hosts_that_know, maker_of, names_at


@pytest.mark.parametrize(
    ("model", "maker"),
    [
        ("claude-opus-5-5", "anthropic"),
        ("Claude-Opus-5-5", "anthropic"),
        ("gpt-5.6", "openai"),
        ("o3-mini", "openai"),
        ("gemini-3.5-flash", "gemini"),
        ("kimi-k2.5", "moonshot"),
        ("glm-4.6", "zai"),
        ("deepseek-reasoner", "deepseek"),
        ("qwen3-max", "alibaba"),
        ("grok-4.3", "xai"),
        ("mistral-small-latest", "mistral"),
    ],
)
def test_the_maker_knows_its_model(model, maker):
    assert maker == maker_of(model).id
    assert maker in [host.id for host in hosts_that_know(model)]


@pytest.mark.parametrize("model", ["gpt-oss-120b", "llama3", "my-claude-opus-5-5", "a/gpt-5.6", ""])
def test_a_name_without_a_maker(model):
    """Open models, unknown names, and names that have a model's name only inside."""
    assert maker_of(model) is None


def test_a_name_that_one_host_alone_knows():
    """Bedrock writes the vendor into the name."""
    known = hosts_that_know("anthropic.claude-opus-5-5-v1:0")

    assert ["bedrock"] == [host.id for host in known]


@pytest.mark.parametrize("model", ["claude-opus-9", "gemini-9", "whatever"])
def test_guesses_and_patterns_for_everything_know_no_name(model):
    known = {host.id for host in hosts_that_know(model)}

    assert not known & {"anthropic", "gemini", "ollama", "groq", "together", "deepseek"}


def test_names_are_those_of_the_makers():
    """Each name that is listed belongs to the provider that lists it, and could be asked by itself."""
    for host in all_hosts():
        for name in names_at(host.id):
            assert "*" not in name
            assert maker_of(name) is host
            assert host in hosts_that_know(name)

    assert {"claude-opus-5-5", "claude-haiku-4-5"} <= set(names_at("anthropic"))
    assert "claude-opus-5-5-20" not in names_at("anthropic")
    assert {"gemini-3.5-flash", "gemini-2.5-pro"} <= set(names_at("gemini"))
    assert {"mistral-small-latest", "mistral-medium"} <= set(names_at("mistral"))
    assert () == names_at("openrouter") == names_at("bedrock") == names_at("nobody")


def test_no_two_makers_of_one_pattern():
    patterns = [pattern for host in all_hosts() for pattern in host.makes]

    assert sorted(set(patterns)) == sorted(patterns)
