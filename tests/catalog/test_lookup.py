import re

import pytest

from innervoice.catalog.lookup import (
    all_cards,
    all_hosts,
    card_of,
    fits,
    host_in_langchain,
)
from innervoice.catalog.targets import resolved
from innervoice.wire.dialects import dialect_named


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("deepseek-ai/DeepSeek-R1", "deepseek-r1"),
        ("deepseek-r1:70b", "deepseek-r1"),
        ("DeepSeek-R1-Distill-Qwen-7B", "deepseek-r1"),
        ("tngtech/deepseek-r1t2-chimera", "r1t-chimera"),
        ("deepseek/deepseek-v4-pro", "deepseek-v4"),
        ("qwen3:0.6b", "qwen3"),
        ("Qwen/Qwen3-235B-A22B-Thinking-2507", "qwen-thinking"),
        ("Qwen/QwQ-32B", "qwq"),
        ("moonshot.kimi-k2-thinking", "kimi-k2"),
        ("us.amazon.nova-micro-v1:0", "nova"),
        ("z-ai/glm-4.5-air:free", "glm-echoing"),
        ("glm-4.6", "glm"),
        ("openai/gpt-oss-120b", "gpt-oss"),
    ],
)
def test_family(model, family):
    assert family == card_of(model).family


@pytest.mark.parametrize(
    "model", ["gpt-5.6", "supernova-1", "myqwen3", "glm", "", "claude-opus-5-5"]
)
def test_no_card(model):
    assert None is card_of(model)


def test_rows_are_whole():
    """Every row names its source and a day or month, and no two rows share a family or a pattern."""
    cards = all_cards()
    families = [card.family for card in cards]
    patterns = [pattern for card in cards for pattern in card.match]

    assert len(families) == len(set(families))
    assert len(patterns) == len(set(patterns))
    for card in cards:
        assert "2026-" in card.source
        assert all(pattern == pattern.lower() for pattern in card.match)


def test_hosts_are_whole():
    """Every gap of an address can be filled, every token is also a key, and no two hosts share a name anywhere."""
    hosts = all_hosts()
    names = [name for host in hosts for name in (host.id, *host.aliases)]
    in_langchain = [host.langchain_name for host in hosts if host.langchain_name]

    assert len(names) == len(set(names))
    assert len(in_langchain) == len(set(in_langchain))
    for host in hosts:
        gaps = set(re.findall(r"{(\w+)}", host.base_url))
        assert gaps - {"server"} == set(host.url_variables), host.id
        assert host.id == "custom" or "server" not in gaps or host.server_variables, host.id
        assert set(host.tokens) <= set(host.keys), host.id
        assert host.key_header == host.key_header.lower(), host.id


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("google_genai", "gemini"),
        ("google_vertexai", "vertex"),
        ("bedrock_converse", "bedrock"),
        ("azure_openai", "azure"),
        ("azure", "azure"),
        ("openai", "openai"),
    ],
)
def test_names_of_langchain(name, host):
    assert host == host_in_langchain(name).id


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("gpt-5", "gpt-5", True),
        ("gpt-5", "gpt-5.6", False),
        ("gpt-5", "my-gpt-5", True),
        ("gpt-5", "mygpt-5", False),
        ("gpt-5*", "mygpt-5 gpt-5.6", True),
        ("gpt-5*", "mygpt-5.6", False),
        ("a*b", "ab", True),
        ("ab*b", "ab", False),
        ("a*b*c", "a-c-b", False),
        ("a*b*c", "a-b-b-c", True),
        ("*-thinking", "qwen3-thinking", True),
        ("*", "", True),
    ],
)
def test_patterns(pattern, name, expected):
    assert fits((pattern,), name) is expected


@pytest.mark.parametrize(
    ("unknown", "newest", "dialect"),
    [
        ("anthropic/claude-fable-9", "anthropic/claude-fable-5-2", None),
        ("bedrock/anthropic.claude-opus-9", "bedrock/anthropic.claude-opus-5-5", None),
        ("openai/gpt-9", "openai/gpt-6.1-terra", "openai-chat"),
        ("openai/gpt-9", "openai/gpt-6.1-terra", "openai-responses"),
        ("azure/gpt-7", "azure/gpt-6.1-terra", "openai-responses"),
        ("gemini/gemini-9", "gemini/gemini-4-carbon", "gemini"),
        ("vertex/gemini-9", "vertex/gemini-4-carbon", "gemini-interactions"),
        ("xai/grok-9", "xai/grok-4.7", "openai-responses"),
        ("cohere/command-z", "cohere/command-a-plus", None),
        ("deepseek/deepseek-v9", "deepseek/deepseek-v4-pro", None),
        ("moonshot/kimi-k9", "moonshot/kimi-k3", None),
        ("zai/glm-9", "zai/glm-5.3", None),
        ("alibaba/qwen9", "alibaba/qwen3.8-max", None),
    ],
)
def test_an_unknown_name_is_taken_for_the_newest(unknown, newest, dialect):
    """The fallback sends nothing that the newest model of the family refuses, and treats its reasoning alike."""
    guessed, known = resolved(unknown, dialect).row, resolved(newest, dialect).row

    assert (guessed.guess, known.guess) == (True, False)
    assert set(guessed.efforts) <= set(known.efforts)
    for name in ("control", "off", "replay", "replay_field", "bound", "forced_tools", "tools", "prefill", "limit"):  # fmt: skip
        assert getattr(known, name) == getattr(guessed, name), name


def test_a_host_that_counts_has_an_endpoint_for_it():
    counting = [host for host in all_hosts() if host.counts]

    assert counting
    assert all(dialect_named(host.dialect).counts_at for host in counting)
