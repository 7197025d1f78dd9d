"""The commands and the engines of docs/guides/bulk.md do what the page says; its other examples are run by tests/test_docs.py."""

import importlib.util
import json
import re
import shlex
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "bulk.md").read_text("utf-8")
BATCH = [
    {"custom_id": f"r{n}", "response": {"status_code": 200, "body": {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": reason}]}}}
    for n, (text, reason) in enumerate([("<think>two</think>4", "stop"), ("<think>and so on", "length"), ("my key: sk-ant-api03-abcdefghijkl0123456789", "stop")])
]  # fmt: skip
ASKED = [
    {"custom_id": line["custom_id"], "body": {"messages": [{"role": "user", "content": "Q"}]}}
    for line in BATCH
]


FIRST, CHOOSING = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def run_block(block):
    runner = pytest.importorskip("click.testing").CliRunner()
    from innervoice.cli.commands import innervoice

    for line in block.splitlines():
        program, *arguments = shlex.split(line, comments=True)
        result = runner.invoke(
            innervoice, [*arguments, *(["-j", "1"] if "report" not in arguments else [])]
        )
        assert ("innervoice", 0) == (program, result.exit_code), result.output


@pytest.mark.skipif(importlib.util.find_spec("rensa") is None, reason="rensa is in .venv-bulk")
def test_commands_that_choose_among_rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    task = "How many of the first thirty whole numbers can be divided by two or by three?"
    rows = [{"prompt": task, "response": f"<think>{n}</think>#### {n}", "solution": 20} for n in (19, 20)]  # fmt: skip
    for name in ("samples.jsonl", "rows.jsonl"):
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("gsm8k.jsonl").write_text(json.dumps({"question": task}) + "\n")
    run_block(CHOOSING)

    written = {path: Path(path).read_text().splitlines() for path in ("best.jsonl", "new.jsonl", "clean.jsonl")}  # fmt: skip
    assert {"best.jsonl": 1, "new.jsonl": 1, "clean.jsonl": 0} == {path: len(rows) for path, rows in written.items()}  # fmt: skip
    assert "20" == json.loads(written["best.jsonl"][0])["sample_answer"]


def test_commands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("batch_output.jsonl").write_text("".join(json.dumps(line) + "\n" for line in BATCH))
    Path("batch_input.jsonl").write_text("".join(json.dumps(line) + "\n" for line in ASKED))
    run_block(FIRST)

    examples = [json.loads(line) for line in Path("train.jsonl").read_text().splitlines()]
    assert ["two", ""] == [example["completion"][0]["reasoning_content"] for example in examples]
    kept = [json.loads(line)["id"] for line in Path("good.jsonl").read_text().splitlines()]
    assert ["r0"] == kept
    reasons = [
        json.loads(line)["rejected"]
        for line in Path("good.rejected.jsonl").read_text().splitlines()
    ]
    assert [
        "not status == 'answered': status = 'budget_exhausted'",
        "not not secrets: secrets = a list of 1",
    ] == reasons
    assert "<svg" in Path("report.html").read_text()


@pytest.mark.skipif(
    importlib.util.find_spec("polars") is None,
    reason="polars, duckdb, daft and datasets are in .venv-bulk",
)
def test_engines():
    """They print what the page says, as on every page."""
    place = Path(__file__).parents[2] / "docs" / "examples.py"
    specification = importlib.util.spec_from_file_location("examples", place)
    examples = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(examples)

    assert PAGE == examples.page("docs/guides/bulk.md", "python engines")
    assert 3 == PAGE.count("```python engines")
