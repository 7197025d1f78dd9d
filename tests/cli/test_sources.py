"""`innervoice inspect`, `lint` and `repair` open files of every format, from a file and from standard input."""

import json

import pytest

import innervoice as iv
from cli.runs import run
from innervoice.sources.opening import READERS
from sources.samples import SAMPLES
from sources.test_sessions import project

TARGET = "anthropic/claude-opus-4-6"
ONE_OF_EACH = {
    "claude-code": "a session",
    "codex": "a session",
    "har": "a recording",
    "batch": "bedrock",
    "litellm": "payloads",
    "stored": "a history",
    "captured": "bodies",
}
SAID = {
    "claude-code": ["-:2:", "Which colour?", "marks    abandoned", "marks    api_error", "error    overloaded"],
    "codex": ["-:5: openai, gpt-5.6", "sealed by", "marks    api_error"],
    "har": [", turn 1:", "A gre", "Hello."],
    "batch": ["-:1:", "A greeting.", "-:2: ProviderError: 400: No."],
    "litellm": ["-:1:", "model_replaced", "-:2: ProviderError: RateLimitError: 429: Slow down."],
    "stored": ["-: claude-opus-4-6, anthropic", "status   answered"],
    "captured": ["-:1:", "-:11:", "status   tool_calls"],
}  # fmt: skip
FAILING = {"batch", "litellm"}
"""Samples with a request that failed."""


@pytest.mark.parametrize("kind", ONE_OF_EACH)
def test_inspect(kind):
    """Every answer is reported, with its place; a failure is an error; no seal is shown."""
    content = SAMPLES[kind][ONE_OF_EACH[kind]]
    done = run("inspect", "-", stdin=content)
    report = (done.stdout + done.stderr).decode()

    assert (1 if kind in FAILING else 0) == done.returncode, report
    for words in SAID[kind]:
        assert words in report
    for secret in ("c2VhbA==", "EuwBCkYIBxgCKkA=", "sk-secret"):
        assert secret not in report
    stored = run("inspect", "-", "--json", stdin=content).stdout.splitlines()
    assert report.count("  0  ") == len([item for line in stored if (item := iv.from_json(line)).parts])  # fmt: skip


@pytest.mark.parametrize("kind", ONE_OF_EACH)
def test_lint(kind, tmp_path):
    """Every conversation is checked, and a problem has its line, where the format has lines."""
    file = tmp_path / "file"
    file.write_bytes(SAMPLES[kind][ONE_OF_EACH[kind]])
    done = run("lint", str(file), "--for", "openai/gpt-5.6")
    again = run("lint", "-", "--for", "openai/gpt-5.6", stdin=file.read_bytes())
    rows = json.loads(run("lint", str(file), "--for", "openai/gpt-5.6", "--json").stdout)

    assert done.returncode in (0, 1), done.stderr
    assert (done.returncode, done.stdout) == (again.returncode, again.stdout)
    assert f"({'innervoice' if kind == 'stored' else kind})" in done.stdout.decode()
    assert len(rows) == len(done.stdout.splitlines()) - 1
    if kind not in ("har", "stored"):
        assert all(row["line"] > 0 for row in rows)


@pytest.mark.parametrize("kind", ["har", "batch", "litellm", "captured"])
def test_repair_of_other_formats(kind, tmp_path):
    """The main conversation is written as innervoice stores it, which is said; the target accepts it."""
    out = tmp_path / "out.json"
    content = SAMPLES[kind][ONE_OF_EACH[kind]]
    done = run("repair", "-", "--for", TARGET, "-o", str(out), stdin=content)

    assert b"as innervoice stores it" in done.stdout, done.stderr
    assert (b"left out" in done.stdout) == (kind != "har")
    kept = iv.from_json(out.read_bytes())
    assert 0 == done.returncode
    assert "assistant" in {message.role for message in kept}
    assert [] == iv.lint([*kept, iv.user("Go on.")], TARGET)


def test_subagents_are_checked_too(tmp_path):
    folder = project(tmp_path / "p")
    done = run("lint", str(folder / "5a1d.jsonl"), "--for", TARGET)

    assert b"agent-a1.jsonl: line 2: " in done.stdout
    assert b"and 3 of subagents" in done.stdout


def test_what_no_command_can_open(tmp_path):
    out = str(tmp_path / "out.json")
    for arguments in (["lint", "-", "--for", TARGET], ["repair", "-", "--for", TARGET, "-o", out]):
        done = run(*arguments, stdin=b"<html>sk-secret")
        assert (2, True) == (done.returncode, b"received HTML or XML" in done.stderr)
    done = run("inspect", "-", stdin=b"<html>sk-secret")
    assert (1, b"") == (done.returncode, done.stdout)
    assert b"-: DecodeError: expected a session" in done.stderr


WORDS = {
    "gateway-log": "logs of the gateway", "gateway-lines": "logs of the gateway", "opencode": "opencode", "inspect": "logs of inspect",
    "gemini-cli": "Gemini CLI", "pi": " pi,", "copilot-cli": "Copilot CLI", "cline": "Cline", "langfuse": "Langfuse", "langsmith": "LangSmith",
    "codex": "Codex", "claude-code": "Claude Code", "otel": "OpenTelemetry traces", "har": "HAR recordings", "batch": "batch files",
    "litellm": "litellm", "stored": "innervoice's own files", "captured": "captured streams",
}  # fmt: skip


@pytest.mark.parametrize("command", ["inspect", "lint", "repair", "carry"])
def test_help_names_the_formats_of_all_readers(command):
    """Seen failing: five readers were never named."""
    said = " ".join(run(command, "--help").stdout.decode().split())
    assert [] == [reader.kind for reader in READERS if WORDS[reader.kind] not in said]
