"""A recording is redacted, and gives the same facts without a network."""

import json
import re

import pytest
from click.testing import CliRunner

from innervoice.cli.commands import innervoice as command
from innervoice.emulator import Emulator
from probe.probing import Probed, emulator_server, probe

MODELS = [
    ("anthropic/claude-opus-5-5", "anthropic"),
    ("openai/gpt-5.6", "openai-responses"),
    ("openai/gpt-5.6", "openai-chat"),
    ("gemini/gemini-3.5-flash", "gemini"),
    ("gemini/gemini-3.5-flash", "gemini-interactions"),
    ("deepseek/deepseek-v4-pro", "openai-chat"),
    ("mistral/magistral-medium-latest", "mistral"),
    ("cohere/command-a-reasoning-08-2025", "cohere"),
    ("ollama/qwen3:8b", "ollama"),
    ("bedrock/anthropic.claude-opus-5-5", "bedrock-converse"),
    ("bedrock-invoke/anthropic.claude-opus-5-5", "anthropic"),
    ("openrouter/anthropic/claude-opus-5-5", "openai-chat"),
]
DEVIATIONS = [
    [],
    [{"model": {"efforts": ["low"]}, "server": {"seals": "unchecked", "fails": ["", "503"], "retry_after": "0"}}],
]  # fmt: skip


@pytest.fixture(scope="module")
def at():
    with emulator_server() as both:
        yield both


def replayed(folder, *arguments):
    line = ["probe", *arguments, "--replay", str(folder), "--json"]
    return Probed(CliRunner().invoke(command, line, catch_exceptions=False))


@pytest.mark.parametrize("deviations", DEVIATIONS, ids=["as cataloged", "deviating and flaky"])
@pytest.mark.parametrize(("model", "dialect"), MODELS)
def test_the_same_facts(at, tmp_path, model, dialect, deviations):
    server, answering = at
    answering.emulator = Emulator(deviations=deviations)
    measured = probe(server, model, "--dialect", dialect, "--record", str(tmp_path))
    again = replayed(tmp_path, model, "--dialect", dialect)

    assert len(measured.facts) > 8
    assert again.facts == measured.facts
    assert again.data["requests"] == measured.data["requests"]
    if deviations:
        assert "differs" in {fact["status"] for fact in again.facts.values()} or dialect in (
            "cohere",
            "ollama",
        )


@pytest.mark.parametrize(("model", "dialect"), MODELS)
def test_nothing_private_is_kept(at, tmp_path, model, dialect):
    server, answering = at
    answering.emulator = Emulator()
    probe(server, model, "--dialect", dialect, "--record", str(tmp_path))
    [file] = tmp_path.iterdir()
    text = file.read_text("utf-8")

    assert "test-key" not in text
    assert "authorization" not in text.lower()
    assert "127.0.0.1" not in text
    # Seals are long, and nothing else that a probe sends or gets is.
    assert not re.search(r"[A-Za-z0-9+/_=-]{100,}", text)


def test_the_form_of_the_vectors(at, tmp_path):
    """A list of self-contained entries, one in each line, so that a review sees single exchanges."""
    server, answering = at
    answering.emulator = Emulator()
    probe(
        server, "anthropic/claude-opus-5-5", "--only", "strict,grammar", "--record", str(tmp_path)
    )
    [file] = tmp_path.iterdir()
    entries = json.loads(file.read_bytes())

    assert file.name == "anthropic-claude-opus-5-5-anthropic.json"
    assert len(entries) == len(file.read_text("utf-8").splitlines()) - 2
    for entry in entries:
        assert entry.keys() == {
            "provider",
            "model",
            "dialect",
            "rule",
            "why",
            "key",
            "request",
            "response",
        }
    [strict] = [entry for entry in entries if entry["rule"] == "strict" and "innervoice_probe" in entry["request"]["body"]]  # fmt: skip
    assert strict["why"] == "an unknown member of the body"
    assert strict["request"]["path"].endswith("/v1/messages")
    assert strict["response"]["status"] == 400
    assert "Extra inputs" in strict["response"]["body"]["error"]["message"]


def test_private_words_of_a_server_are_not_kept(at, tmp_path):
    server, answering = at
    words = "Rate limit for organization org-Ab12Cd34Ef, key sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"
    answering.emulator = Emulator(deviations=[{"server": {"words": words}}])
    probe(server, "anthropic/claude-opus-5-5", "--only", "strict", "--record", str(tmp_path))
    text = next(tmp_path.iterdir()).read_text("utf-8")

    assert "Rate limit for organization" in text
    assert "Ab12Cd34Ef" not in text
    assert "abcdefghijklmnopqrstuvwxyz" not in text


def test_the_only_recording_needs_no_name(at, tmp_path):
    server, answering = at
    answering.emulator = Emulator()
    probe(server, "deepseek/deepseek-v4-pro", "--only", "plain", "--record", str(tmp_path))

    assert replayed(tmp_path, "--only", "plain").data["model"] == "deepseek/deepseek-v4-pro"


def test_a_fact_that_was_not_recorded(at, tmp_path):
    server, answering = at
    answering.emulator = Emulator()
    probe(server, "deepseek/deepseek-v4-pro", "--only", "plain", "--record", str(tmp_path))
    again = replayed(tmp_path, "--only", "plain,strict")

    assert again.facts["plain"]["status"] == "agrees"
    assert again.facts["strict"]["status"] == "not measured"
    assert again.facts["strict"]["reason"] == "not in the recording"


@pytest.mark.parametrize(
    ("content", "expected"),
    [(None, "has no recording of anthropic/claude-opus-5-5"), ("{", "cannot read the recording")],
)
def test_no_recording(tmp_path, content, expected):
    if content:
        (tmp_path / "anthropic-claude-opus-5-5-anthropic.json").write_text(content)
    line = ["probe", "anthropic/claude-opus-5-5", "--replay", str(tmp_path)]
    result = CliRunner().invoke(command, line, catch_exceptions=False)

    assert result.exit_code == 1
    assert expected in result.stderr
