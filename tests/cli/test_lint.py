"""`innervoice lint` and `repair` on histories that others keep."""

import json
from pathlib import Path

import pytest

from cli.runs import run
from sources.langchain_messages import as_constructor, conversation
from sources.test_transcripts import codex, file_of, poisoned
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
        assert 0 == run("repair", str(file), "--for", target, "-o", str(out), "--force").returncode
        left = json.loads(run("lint", str(out), "--for", target, "--json").stdout)
        # Only Gemini's own format can hold what skips its check; encode puts it there. What is lost stays lost.
        unmended = {"reasoning_missing"} | (set() if kind == "gemini" else {"signature_filled"})
        assert {problem["code"] for problem in left} <= unmended


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
    file, out = tmp_path / "s.jsonl", tmp_path / "out.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in SESSIONS[kind]))
    target = {"claude-code": "anthropic/claude-opus-4-6", "codex": "openai/gpt-5.6"}[kind]
    done = run("lint", str(file), "--for", target)
    assert 0 == done.returncode, done.stdout
    assert f"3 messages ({kind})".encode() in done.stdout
    assert 0 == run("repair", str(file), "--for", target, "-o", str(out)).returncode
    assert file.read_bytes() == out.read_bytes()


REPORTS = {
    "claude-code": [
        "line 7: thinking removed: it came from glm-4.7",
        "line 10: thinking removed: it was never signed",
        "line 13: thinking removed: it was never signed",
        "line 17: result added after it for the call 'toolu_4': it has no result",
        "4 changes for anthropic/claude-opus-4-6",
    ],
    "codex": [
        "line 5: thinking removed: it came from openai/gpt-oss-120b",
        "line 9: thinking removed: it is not stored, and it has no encrypted content",
        "line 14: result added after it for the call 'call_2': it has no result",
        "line 15: result added after it for the call 'call_3': it has no result",
        "line 17: tool result removed: there is no call with its id",
        "5 changes for openai/gpt-5.6",
    ],
}


@pytest.mark.parametrize("kind", SESSIONS)
def test_poisoned_sessions(kind, tmp_path):
    """F4: what was done is said line by line, the file is in its own format, and it is clean."""
    file, out, again = (tmp_path / name for name in ("s.jsonl", "out.jsonl", "again.jsonl"))
    file.write_bytes(poisoned().data if kind == "claude-code" else file_of(codex()))
    target = {"claude-code": "anthropic/claude-opus-4-6", "codex": "openai/gpt-5.6"}[kind]

    linted = run("lint", str(file), "--for", target)
    assert 1 == linted.returncode
    first = REPORTS[kind][0].split(":")[0]
    assert linted.stdout.decode().startswith(f"{first}: ")
    rows = json.loads(run("lint", str(file), "--for", target, "--json").stdout)
    assert first == f"line {rows[0]['line']}"

    done = run("repair", str(file), "--for", target, "-o", str(out))
    assert 0 == done.returncode, done.stderr
    report = done.stdout.decode().splitlines()
    assert REPORTS[kind] == [line.split(", written")[0] for line in report]
    assert b" 0 would be refused" in run("lint", str(out), "--for", target).stdout

    once_more = run("repair", str(out), "--for", target, "-o", str(again))
    assert once_more.stdout.decode().startswith("no change")
    assert out.read_bytes() == again.read_bytes()


def test_the_page_has_the_report():
    """What `repair` prints for such a session stands in the documentation."""
    page = (Path(__file__).parents[2] / "docs" / "histories.md").read_text("utf-8")

    assert "\n".join(REPORTS["claude-code"]) + ", written to repaired.jsonl\n" in page


def test_langchain(tmp_path):
    file, out = tmp_path / "h.json", tmp_path / "out.json"
    file.write_text(json.dumps({"messages": conversation(as_constructor), "step": 3}))
    target = "anthropic/claude-opus-4-6"
    assert b"9 messages (langchain)" in run("lint", str(file), "--for", target).stdout
    done = run("repair", str(file), "--for", target, "-o", str(out))
    assert 0 == done.returncode, done.stderr
    assert b"message 6: thinking removed: it was never signed\n" in done.stdout
    assert 3 == json.loads(out.read_text())["step"]
    assert 0 == run("lint", str(out), "--for", target).returncode


def test_a_repair_says_what_it_did_to_a_list(tmp_path):
    file, out = tmp_path / "h.json", tmp_path / "out.json"
    result = {**RESULT, "tool_use_id": "nobody"}
    last = {"role": "assistant", "content": [{"type": "text", "text": "So"}]}
    file.write_text(json.dumps([*HISTORIES["anthropic"], {"role": "user", "content": [result]}, last]))  # fmt: skip
    done = run("repair", str(file), "--for", "anthropic/claude-opus-4-6", "-o", str(out))
    lines = done.stdout.decode().splitlines()

    assert "message 3, part 0: tool result removed: there is no call with its id" == lines[0]
    assert lines[1].startswith(
        "left: message 3: would be refused: the history ends with an assistant message"
    )
    assert "1 change for anthropic/claude-opus-4-6" in lines[2]
    assert 1 == done.returncode  # only who asks can end it with words of the user

    file.write_text(json.dumps(HISTORIES["anthropic"], indent=1))
    done = run("repair", str(file), "--for", "anthropic/claude-opus-4-6", "-o", str(out), "--force")
    assert 0 == done.returncode
    assert done.stdout.startswith(b"no change")
    assert file.read_bytes() == out.read_bytes()


def test_a_signature_is_filled_where_the_format_has_one(tmp_path):
    file, out = tmp_path / "h.json", tmp_path / "out.json"
    file.write_text(json.dumps(HISTORIES["gemini"]))
    done = run("repair", str(file), "--for", HOME["gemini"], "-o", str(out))
    assert b"message 1: this step has no signature" in done.stdout
    assert b"skip_thought_signature_validator" in out.read_bytes()


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
    nowhere = tmp_path / "no-such-folder" / "out.json"
    assert 2 == run("repair", str(file), "--for", "openai/gpt-5.6", "-o", str(nowhere)).returncode
    assert HISTORIES["anthropic"] == json.loads(file.read_text())


def test_members_that_only_another_api_has(tmp_path):
    """A name and a cache mark are problems like others: a row each, and no traceback."""
    marked = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
    file = tmp_path / "h.json"
    file.write_text(
        json.dumps(
            [{"role": "user", "content": "hi", "name": "a"}, {"role": "user", "content": [marked]}]
        )
    )

    linted = run("lint", str(file), "--for", "gemini/gemini-3.5-flash", "--json")

    assert b"" == linted.stderr
    assert ["extra_dropped", "cache_mark_dropped"] == [
        row["code"] for row in json.loads(linted.stdout)
    ]


def test_a_moved_system_message_is_a_change(tmp_path):
    file, out = tmp_path / "h.json", tmp_path / "out.json"
    call = {"id": "call_abc12", "type": "function", "function": {"name": "build", "arguments": "{}"}}  # fmt: skip
    messages = [
        {"role": "user", "content": "Build it."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "system", "content": "Be brief."},
        {"role": "tool", "tool_call_id": "call_abc12", "content": "Built."},
    ]
    file.write_text(json.dumps(messages))
    done = run("repair", str(file), "--for", "vllm/Qwen/Qwen3-32B", "-o", str(out))
    first, last = done.stdout.decode().splitlines()

    assert (
        first
        == "message 2: the host requires results directly after their calls: move it behind the results of the call"
    )
    assert last.startswith("1 change")
    assert ["user", "assistant", "tool", "system"] == [one["role"] for one in json.loads(out.read_text())]  # fmt: skip
