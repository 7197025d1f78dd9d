"""What `serve --check` says of a config."""

from innervoice.gateway.config import load_config
from innervoice.gateway.routes import report_of

ENVIRON = {
    "ANTHROPIC_API_KEY": "key-of-anthropic",
    "A": "key-a-of-openai",
    "B": "key-b-of-openai",
    "T": "key-of-team-alpha",
    "AWS_REGION": "eu-west-1",
}
CONFIG = """
[server]
host = "0.0.0.0"
[[models]]
name = "sonnet"
to = ["anthropic/claude-sonnet-5-5", "mistral/mistral-large-4"]
reasoning = { at_most = "high" }
[[models]]
name = "claude-*"
to = "bedrock/anthropic.claude-*"
[[models]]
name = "mine"
to = ["box/qwen3", "openai/gpt-5.6"]
reasoning = { limit = 8000, loops = "answer" }
continue = true
[[models]]
name = "broken"
to = ["azure/gpt-5.6", "gemini/gemini-3.5-flash"]
[[models]]
name = "odd"
to = "anthropic/claude-opus-77"
[upstreams.openai]
keys = ["env:A", "env:B"]
[upstreams.box]
base_url = "http://10.0.0.5:8000/v1"
[upstreams.lonely]
base_url = "http://10.0.0.6:8000/v1"
[keys]
team = "env:T"
"""


def report(tmp_path, text, environ=ENVIRON, **options):
    path = tmp_path / "gateway.toml"
    path.write_text(text)
    return report_of(load_config(path, environ, emulated=bool(options)), environ, **options)


def test_each_name_and_what_it_reaches(tmp_path):
    lines = report(tmp_path, CONFIG)

    assert "listens on 0.0.0.0:8807 for callers: team" == lines[0]
    assert "sonnet, effort at most high" in lines
    assert "mine, reasoning at most 8000 tokens, loops: answer, continues streams" in lines
    assert (
        "  anthropic/claude-sonnet-5-5: anthropic speaks anthropic; key set (env:ANTHROPIC_API_KEY)"
        in lines
    )
    assert "  mistral/mistral-large-4: cannot be called" in lines
    assert (
        "  bedrock/anthropic.claude-*: bedrock speaks bedrock-converse; AWS credentials, looked up when it is called"
        in lines
    )
    assert "  box/qwen3: box speaks openai-chat at http://10.0.0.5:8000/v1; without a key" in lines
    assert (
        "  openai/gpt-5.6: openai speaks openai-responses; key set (env:A), key set (env:B)"
        in lines
    )
    assert "providers with a key: openai, anthropic" in lines


def test_what_is_wrong(tmp_path):
    lines = report(tmp_path, CONFIG)
    wrong = [line for line in lines if line.startswith("wrong: ")]
    notes = [line for line in lines if line.startswith("note: ")]

    assert 2 == len(wrong)
    assert "AZURE_OPENAI_RESOURCE" in wrong[0]
    assert (
        "wrong: broken: no key for gemini: set GEMINI_API_KEY or GOOGLE_API_KEY, or list one in [upstreams.gemini] keys"
        == wrong[1]
    )
    assert [
        "note: sonnet: no key for mistral: set MISTRAL_API_KEY, or list one in [upstreams.mistral] keys",
        "note: odd: the catalog has no model anthropic/claude-opus-77 at anthropic",
        "note: no entry of [[models]] uses lonely; callers reach it as lonely/MODEL",
    ] == notes


def test_no_key_is_printed(tmp_path):
    text = "\n".join(report(tmp_path, CONFIG))

    for name, value in ENVIRON.items():
        assert name == "AWS_REGION" or value not in text


def test_the_defaults_without_a_key():
    lines = report_of(load_config(None, {}), {})

    assert [
        "listens on 127.0.0.1:8807 for anyone on this machine",
        "providers with a key: none",
        "names in the list of models: 0",
        "note: no provider has a key, so only servers that need none can be called",
    ] == lines


def test_a_limit_that_cannot_be_kept(tmp_path):
    text = '[[models]]\nname = "a"\nto = "anthropic/claude-fable-5-2"\nreasoning = { at_most = "none" }'

    assert (
        'note: a: anthropic/claude-fable-5-2 always reasons; `at_most = "none"` cannot switch it off'
        in report(tmp_path, text)
    )


def test_emulated(tmp_path):
    """Every name is answered, and the lines say where."""
    lines = report(
        tmp_path,
        CONFIG,
        {"T": "key-of-team-alpha"},
        base_url_of=lambda provider: f"http://emulator/{provider}",
    )

    assert not [line for line in lines if line.startswith("wrong")]
    assert (
        "  gemini/gemini-3.5-flash: gemini speaks gemini at http://emulator/gemini; key set (emulated)"
        in lines
    )
