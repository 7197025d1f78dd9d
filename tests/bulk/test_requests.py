"""The requests of a batch are joined to its answers by their ids."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from bulk.batches import row
from innervoice.bulk.requests import requests
from innervoice.cli.commands import innervoice
from innervoice.errors import UsageError

TOOL = {"type": "function", "function": {"name": "look", "parameters": {}}}
REQUESTS = {
    "OpenAI": {"custom_id": "a", "method": "POST", "body": {"model": "m", "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Q"}]}},
    "Anthropic": {"custom_id": "a", "params": {"model": "m", "system": [{"type": "text", "text": "Be brief."}], "messages": [{"role": "user", "content": [{"type": "text", "text": "Q"}]}]}},
    "Gemini": {"key": "a", "request": {"systemInstruction": {"parts": [{"text": "Be brief."}]}, "contents": [{"role": "user", "parts": [{"text": "Q"}]}]}},
    "Responses": {"custom_id": "a", "body": {"model": "m", "instructions": "Be brief.", "input": "Q"}},
    "Bedrock": {"recordId": "a", "modelInput": {"system": "Be brief.", "messages": [{"role": "user", "content": "Q"}]}},
}  # fmt: skip


def file_of(tmp_path, *lines):
    path = tmp_path / "requests.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


@pytest.mark.parametrize("provider", REQUESTS)
def test_every_form_of_requests(provider, tmp_path):
    path = file_of(tmp_path, {"custom_id": "other", "body": {"messages": []}}, REQUESTS[provider])
    after = requests(path).run(row(id="a", prompt=None))

    assert [
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Q"}]
    ] == after["prompt"]


def test_a_prompt_that_is_there_stays_and_an_unknown_id_has_none(tmp_path):
    path = file_of(tmp_path, REQUESTS["OpenAI"])
    known = row(id="a")

    assert known["prompt"] == requests(path).run(known)["prompt"]
    assert [None] == requests(path).run(row(id="b", prompt=None))["prompt"]


def test_files_without_requests_are_refused(tmp_path):
    with pytest.raises(UsageError, match="there is no file"):
        requests(str(tmp_path / "missing.jsonl"))
    with pytest.raises(UsageError, match="has no requests"):
        requests(file_of(tmp_path, {"x": 1})).run(row())


def test_convert_joins_what_was_asked(tmp_path, monkeypatch):
    """Answers come in any order."""
    monkeypatch.chdir(tmp_path)
    asked = [
        {
            "custom_id": f"r{n}",
            "body": {"messages": [{"role": "user", "content": f"Q{n}"}], "tools": [TOOL]},
        }
        for n in range(3)
    ]
    said = [
        {"custom_id": f"r{n}", "response": {"status_code": 200, "body": {"choices": [{"message": {"role": "assistant", "content": f"<think>R{n}</think>A{n}"}, "finish_reason": "stop"}]}}}
        for n in (2, 0, 1)
    ]  # fmt: skip
    Path("in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in asked))
    Path("out.jsonl").write_text("".join(json.dumps(line) + "\n" for line in said))
    command = [
        "bulk",
        "convert",
        "out.jsonl",
        "-o",
        "train.jsonl",
        "--to",
        "trl",
        "--for",
        "qwen3",
        "-j",
        "1",
    ]
    without = CliRunner().invoke(innervoice, command)
    joined = CliRunner().invoke(innervoice, [*command, "--requests", "in.jsonl", "--overwrite"])
    examples = [json.loads(line) for line in Path("train.jsonl").read_text().splitlines()]

    assert "--requests FILE" in without.output
    assert 0 == joined.exit_code, joined.output
    assert [("Q2", "R2"), ("Q0", "R0"), ("Q1", "R1")] == [
        (example["prompt"][0]["content"], example["completion"][0]["reasoning_content"])
        for example in examples
    ]
    assert [TOOL] == examples[0]["tools"]
