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


def test_commands(tmp_path, monkeypatch):
    runner = pytest.importorskip("click.testing").CliRunner()
    from innervoice.cli.commands import innervoice

    monkeypatch.chdir(tmp_path)
    Path("batch_output.jsonl").write_text("".join(json.dumps(line) + "\n" for line in BATCH))
    Path("batch_input.jsonl").write_text("".join(json.dumps(line) + "\n" for line in ASKED))
    (block,) = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    for line in block.splitlines():
        program, *arguments = shlex.split(line, comments=True)
        result = runner.invoke(
            innervoice, [*arguments, *(["-j", "1"] if "report" not in arguments else [])]
        )
        assert ("innervoice", 0) == (program, result.exit_code), result.output

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
