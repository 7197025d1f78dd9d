"""`innervoice carry`: what it writes, prints and refuses."""

import json
from pathlib import Path

import pytest

from cli.runs import run
from innervoice.sources.opening import open_source
from innervoice.sources.writers.carrying import WRITERS
from sources.made_sessions import opencode_database
from sources.test_carry import CLAUDE_SEAL, OPENAI_SEAL, claude_lines, codex_lines, facts_of

NOWHERE = dict.fromkeys(("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "PI_CODING_AGENT_DIR"), "")  # fmt: skip


def carry(tmp_path, *arguments, **more):
    """Runs the command with a home of its own."""
    return run("carry", *map(str, arguments), HOME=str(tmp_path / "home"), **NOWHERE, **more)


@pytest.fixture
def session(tmp_path):
    file = tmp_path / "claude.jsonl"
    file.write_bytes(claude_lines())
    return file


@pytest.mark.parametrize("to", WRITERS)
def test_it_writes_a_session_and_says_how_to_go_on(to, session, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = carry(tmp_path, session, "--to", to, "--cwd", tmp_path / "my shop")
    report = done.stdout.decode()
    lines = dict(line.split(": ", 1) for line in report.splitlines() if ": " in line)
    written = open_source(Path(lines["written"]))
    facts = facts_of(written.conversation().turns)

    assert (0, b"") == (done.returncode, done.stderr)
    assert WRITERS[to].kind == written.kind
    assert ["Fix the wheels.", "Thanks. And the bell?"] == facts["questions"]
    assert "2 questions, 3 answers, 2 tool calls, 2 results, 1 thought" in report
    assert f"cd '{tmp_path}/my shop' && {to} " in lines["go on with"]
    assert f"{tmp_path}/my shop is not on this machine" in report
    for seal in (CLAUDE_SEAL, OPENAI_SEAL):
        assert seal not in report


def test_a_dry_run_writes_nothing(session, tmp_path):
    done = carry(tmp_path, session, "--to", "codex", "--dry-run")

    assert b"would be written: " in done.stdout
    assert [session] == [path for path in tmp_path.rglob("*") if path.is_file()]


def test_json_has_the_same_facts(session, tmp_path):
    done = carry(tmp_path, session, "--to", "codex", "--json", "--dry-run")
    row = json.loads(done.stdout)

    assert {"questions": 2, "answers": 3, "calls": 2, "results": 2, "thoughts": 1, "seals": 0, "seals_left": 1} == row["counts"]  # fmt: skip
    assert ["seal_left", "thinking_shown", "error_flag_dropped"] == [
        note["code"] for note in row["notes"]
    ]
    assert ("Codex", "openai/gpt-5.6", False) == (row["program"], row["model"], row["written"])
    assert row["id"] in row["command"]


def test_an_existing_file_stays(session, tmp_path):
    other = tmp_path / "mine.jsonl"
    other.write_text("mine")
    done = carry(tmp_path, session, "--to", "codex", "--out", other)

    assert 2 == done.returncode
    assert b"exists" in done.stderr
    assert "mine" == other.read_text()


def test_another_place_says_where_the_agent_looks(session, tmp_path):
    done = carry(tmp_path, session, "--to", "codex", "--out", tmp_path / "new.jsonl")

    assert (tmp_path / "new.jsonl").is_file()
    assert f"Codex looks for it at {tmp_path}/home/.codex/sessions/".encode() in done.stdout


def test_standard_input_is_a_session(tmp_path):
    done = carry(tmp_path, "-", "--to", "claude", "--cwd", tmp_path, stdin=codex_lines())

    assert b"from a Codex session to Claude Code: 1 question" in done.stdout


def test_one_of_several_conversations(tmp_path):
    """The others are named, and nothing else is guessed."""
    file = tmp_path / "opencode.db"
    opencode_database(file)
    main = carry(tmp_path, file, "--to", "claude", "--json")
    report = carry(tmp_path, file, "--to", "claude").stdout.decode()
    other = carry(tmp_path, file, "--to", "claude", "--json", "--conversation", "ses_2")
    wrong = carry(tmp_path, file, "--to", "claude", "--conversation", "ses_9")

    assert 1 == json.loads(main.stdout)["other_conversations"]
    assert "left: 1 other conversation of the file; --conversation names one: ses_2" in report
    assert json.loads(main.stdout)["counts"] != json.loads(other.stdout)["counts"]
    assert 2 == wrong.returncode
    assert b"ses_1" in wrong.stderr


WRONG = {
    "no session": (b"just words", ("--to", "codex"), b"expected a session"),
    "no turns": (b'[{"role": "system", "content": "x"}]', ("--to", "codex"), b"nothing to carry"),
    "no such agent": (None, ("--to", "cursor"), b"'claude', 'codex'"),
    "no such model": (None, ("--to", "pi", "-m", "claude-opus-55"), b"did you mean"),
    "a model that it cannot have": (None, ("--to", "gemini", "-m", "openai/gpt-5.6"), b"models of gemini only"),
    "text that Claude refuses": (None, ("--to", "claude", "--thoughts", "text"), b"Claude refuses"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_refused(case, session, tmp_path):
    content, arguments, words = WRONG[case]
    if content is not None:
        session.write_bytes(content)
    done = carry(tmp_path, session, *arguments)

    assert 2 == done.returncode, done.stdout
    assert words in done.stderr
    assert b"Traceback" not in done.stderr
    assert not (tmp_path / "home").exists()
