"""`innervoice lint` and `repair` on histories that others keep."""

import json

import pytest

import innervoice as iv
from cli.runs import run
from wire.fixtures import ANSWERS

CLAUDE = ANSWERS[0].whole["content"]
RESULT = {"type": "tool_result", "tool_use_id": "call_9", "content": "rain"}
HISTORIES = {
    "anthropic": [{"role": "user", "content": "Weather?"}, {"role": "assistant", "content": CLAUDE}, {"role": "user", "content": [RESULT]}],
    "openai-chat": [{"role": "user", "content": "x"}, {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}, {"role": "tool", "tool_call_id": "c", "content": "1"}],
    "gemini": [{"role": "user", "parts": [{"text": "x"}]}, {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}, {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]}],
    "openai-responses": [{"role": "user", "content": "x"}, {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}, {"type": "function_call_output", "call_id": "c", "output": "1"}],
}  # fmt: skip
SESSIONS = {
    "claude-code": [
        {"type": "summary", "summary": "x"},
        {"type": "user", "message": {"role": "user", "content": "Weather?"}},
        *({"type": "assistant", "message": {"id": "m1", "role": "assistant", "content": [block]}} for block in CLAUDE),
        {"type": "user", "message": {"role": "user", "content": [RESULT]}},
    ],
    "codex": [{"type": "session_meta", "payload": {}}, *({"type": "response_item", "payload": item} for item in HISTORIES["openai-responses"])],
}  # fmt: skip
HOME = {
    "anthropic": "anthropic/claude-opus-4-6",
    "openai-chat": "mistral/mistral-small-latest",
    "gemini": "gemini/gemini-3-flash-preview",
    "openai-responses": "openai/gpt-5.6",
}


@pytest.mark.parametrize("kind", HISTORIES)
@pytest.mark.parametrize("in_body", [False, True])
def test_lists_and_bodies(kind, in_body, tmp_path):
    """Read in any format, judged for any target, and repaired in the same format."""
    member = {"gemini": "contents", "openai-responses": "input"}.get(kind, "messages")
    value = {member: HISTORIES[kind], "model": "m"} if in_body else HISTORIES[kind]
    file, out = tmp_path / "h.json", tmp_path / "out.json"
    file.write_text(json.dumps(value))
    for target in HOME.values():
        linted = run("lint", str(file), "--for", target)
        assert linted.returncode in (0, 1), linted.stderr
        assert f"({kind})".encode() in linted.stdout
        assert 0 == run("repair", str(file), "--for", target, "-o", str(out)).returncode
        left = json.loads(run("lint", str(out), "--for", target, "--json").stdout)
        # Only Gemini's own format can hold what skips its check; encode puts it there.
        assert not [
            problem for problem in left if kind == "gemini" or problem["code"] != "signature_filled"
        ]


def test_home_is_clean_and_abroad_is_not(tmp_path):
    file = tmp_path / "h.json"
    file.write_text(json.dumps(HISTORIES["anthropic"]))
    assert 0 == run("lint", str(file), "--for", "anthropic/claude-opus-4-6").returncode
    abroad = run("lint", str(file), "--for", "openai/gpt-5.6")
    assert 1 == abroad.returncode
    assert b"message 1, part 0" in abroad.stdout
    assert 3 == len(json.loads(run("lint", str(file), "--for", "openai/gpt-5.6", "--json").stdout))


@pytest.mark.parametrize("kind", SESSIONS)
def test_sessions(kind, tmp_path):
    """A session file is read with its blocks joined to messages again."""
    file, out = tmp_path / "s.jsonl", tmp_path / "out.json"
    file.write_text("\n".join(json.dumps(line) for line in SESSIONS[kind]))
    target = {"claude-code": "anthropic/claude-opus-4-6", "codex": "openai/gpt-5.6"}[kind]
    done = run("lint", str(file), "--for", target)
    assert 0 == done.returncode, done.stdout
    assert f"3 messages ({kind})".encode() in done.stdout
    assert 0 == run("repair", str(file), "--for", target, "-o", str(out)).returncode
    assert 3 == len(iv.from_json(out.read_bytes()))


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", "not json", '{"a": 1}\n{"b": 2}', "[1, 2]", '[{"x": 1}]']
)
def test_what_is_no_history(content, tmp_path):
    file = tmp_path / "h.json"
    file.write_text(content)
    done = run("lint", str(file), "--for", "openai/gpt-5.6")
    assert 2 == done.returncode
    assert b"expected" in done.stderr


def test_bad_usage(tmp_path):
    file = tmp_path / "h.json"
    file.write_text(json.dumps(HISTORIES["anthropic"]))
    assert 2 == run("lint", str(file)).returncode
    assert 2 == run("lint", str(file), "--for", "nobody").returncode
    assert 2 == run("lint", "no-such-file", "--for", "openai/gpt-5.6").returncode
    same = run("repair", str(file), "--for", "openai/gpt-5.6", "-o", str(file))
    assert 2 == same.returncode
    assert HISTORIES["anthropic"] == json.loads(file.read_text())
