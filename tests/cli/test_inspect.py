"""`innervoice inspect` on captured answers."""

import json

import pytest

import innervoice as iv
from cli.runs import run
from wire.fixtures import ANSWERS


@pytest.mark.parametrize("answer", ANSWERS, ids=[answer.name for answer in ANSWERS])
def test_every_dialect_without_a_hint(answer, tmp_path):
    """Whole and streamed, the report names the parts in order and shows no seal."""
    for name, data in {
        "whole.json": json.dumps(answer.whole).encode(),
        "stream.bin": answer.stream,
    }.items():
        file = tmp_path / name
        file.write_bytes(data)
        done = run("inspect", str(file))
        report = done.stdout.decode()

        assert (0, b"") == (done.returncode, done.stderr)
        assert "status   tool_calls" in report
        assert report.index("thinking") < report.index(" text ") < report.index("weather (call_9)")
        for seal in answer.seals:
            assert seal not in report


def test_report():
    answer = {
        "id": "1",
        "model": "m",
        "choices": [
            {
                "message": {"content": "A\n B", "reasoning_content": "R" * 100},
                "finish_reason": "stop",
            }
        ],
    }
    report = run(
        "inspect", "-", "--provider", "deepseek", stdin=json.dumps(answer).encode()
    ).stdout.decode()

    assert report.splitlines() == [
        "-: deepseek, m, openai-chat",
        "  status   answered (stop)",
        "  tokens   not reported",
        "  0  thinking      100 characters",
        "       | " + "R" * 69 + "...",
        "  1  text            4 characters",
        "       | A B",
        "  - field_thinking: The reasoning was received in a separate field.",
        "",
    ]
    assert "RRR" not in run("inspect", "-", "-R", stdin=json.dumps(answer).encode()).stdout.decode()


def test_lines_of_bodies(tmp_path):
    """One report a line, also where a log wraps the answer, and JSON that reads back."""
    bodies = [answer.whole for answer in ANSWERS]
    lines = [
        json.dumps(bodies[0]),
        *(json.dumps({"request": {}, "response": body}) for body in bodies[1:]),
    ]
    file = tmp_path / "log.jsonl"
    file.write_text("\n".join(lines) + "\n")
    stored = run("inspect", str(file), "--json").stdout.splitlines()

    assert len(ANSWERS) == run("inspect", str(file)).stdout.count(b"  status   tool_calls")
    assert [iv.decode(body) for body in bodies] == [iv.from_json(line) for line in stored]


def test_what_cannot_be_read(tmp_path):
    file = tmp_path / "log.jsonl"
    good = {"choices": [{"message": {"content": "A"}, "finish_reason": "stop"}]}
    file.write_text(json.dumps(good) + "\n" + json.dumps({"error": {"message": "No."}}) + "\n")
    done = run("inspect", str(file))

    assert 1 == done.returncode
    assert b"log.jsonl:2: ProviderError: No." in done.stderr
    assert b"log.jsonl:1" in done.stdout
    assert 1 == run("inspect", "-", stdin=b"<html>").returncode
    assert 2 == run("inspect", "no-such-file").returncode
    assert 2 == run("inspect", "-", "--dialect", "klingon", stdin=b"{}").returncode
