"""`innervoice bulk map`, `convert` and `report`, as a user runs them."""

import importlib.util
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from innervoice.cli.commands import innervoice

ROWS = [
    {"messages": [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "<think>R1</think>A1"}, {"role": "user", "content": "3+3?"}, {"role": "assistant", "content": "<think>R2</think>A2"}]},
    {"messages": [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "I look at it from both sides.</think>A3"}]},
    {"messages": [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "<think>cut off"}]},
    {"messages": [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "", "reasoning_content": "R4", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}}]},
                  {"role": "tool", "tool_call_id": "c", "content": "sunny"}, {"role": "assistant", "content": "A4", "reasoning_content": "R5"}]},
]  # fmt: skip
needs_arrow = pytest.mark.skipif(
    importlib.util.find_spec("datasets") is None, reason="pyarrow and datasets are in .venv-bulk"
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS) + "{broken\n")
    return tmp_path


def run(*arguments, processes=1):
    """Runs a command; gives what it said, and its status."""
    result = CliRunner().invoke(
        innervoice, ["bulk", *arguments, *(["-j", str(processes)] if processes else [])]
    )
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    return result.output, result.exit_code


def lines(name):
    return [json.loads(line) for line in Path(name).read_text("utf-8").splitlines()]


def test_convert_for_trl_and_qwen3():
    said, code = run("convert", "rows.jsonl", "-o", "train.jsonl", "--to", "trl", "--for", "qwen3")
    examples = lines("train.jsonl")

    assert 0 == code, said
    assert ["R1", "R2", "I look at it from both sides.", "R4", "R5"] == [
        example["completion"][0]["reasoning_content"] for example in examples
    ]
    assert ["the answer is not complete: stopped_inside_thinking", "the row could not be read"] == [
        row["rejected"] for row in lines("train.rejected.jsonl")
    ]
    assert "5 rows written, 2 rows rejected" in said
    assert "trl: load with" in said


def test_the_manifest_says_what_was_done():
    run(
        "convert",
        "rows.jsonl",
        "-o",
        "train.jsonl",
        "--to",
        "axolotl",
        "--for",
        "gpt-oss",
        "--where",
        "len(answer) >= 0",
    )
    manifest = json.loads(Path("train.jsonl.manifest.json").read_text())

    assert "len(answer) >= 0" == manifest["settings"]["where"]
    assert {"target": "axolotl", "family": "gpt-oss", "history": "unroll"}.items() <= manifest[
        "settings"
    ]["recipe"].items()
    assert "field_thinking: thinking" in manifest["settings"]["trainer"]


def test_one_example_for_a_conversation():
    run("convert", "rows.jsonl", "-o", "all.jsonl", "--to", "messages")

    assert [["R1", "R2"], ["I look at it from both sides."], ["R4", "R5"]] == [
        [
            message["reasoning_content"]
            for message in example["messages"]
            if message["role"] == "assistant"
        ]
        for example in lines("all.jsonl")
    ]


@pytest.mark.parametrize(
    "to", ["trl", "axolotl", "llama-factory", "verl", "json", "columns", "text"]
)
def test_what_was_written_is_read_again(to):
    """Converted rows are a data set, which the same command reads."""
    said, code = run("convert", "rows.jsonl", "-o", "once.jsonl", "--to", to, "--for", "qwen3")
    assert 0 == code, said
    if to == "verl":
        return
    said, code = run("split", "once.jsonl", "-o", "again.jsonl")
    again = {(row["answer"], row["reasoning"]) for row in lines("again.jsonl")}

    assert 0 == code, said
    assert {("A1", "R1"), ("A2", "R2"), ("A3", "I look at it from both sides.")} <= again


def test_processes_do_not_change_the_result():
    run(
        "convert",
        "rows.jsonl",
        "-o",
        "one.jsonl",
        "--to",
        "trl",
        "--for",
        "qwen3",
        "--map",
        "loops",
        "--where",
        "status != 'x'",
    )
    said, code = run(
        "convert",
        "rows.jsonl",
        "-o",
        "two.jsonl",
        "--to",
        "trl",
        "--for",
        "qwen3",
        "--map",
        "loops",
        "--where",
        "status != 'x'",
        processes=2,
    )

    assert 0 == code, said
    assert Path("one.jsonl").read_bytes() == Path("two.jsonl").read_bytes()
    assert Path("one.rejected.jsonl").read_bytes() == Path("two.rejected.jsonl").read_bytes()


def test_map_adds_columns_and_keeps_what_the_filter_keeps():
    said, code = run(
        "map",
        "rows.jsonl",
        "-o",
        "out.jsonl",
        "--map",
        "stats",
        "--where",
        'loop_period is None and "orphan_closer" in notes',
    )
    (row,) = lines("out.jsonl")

    assert 0 == code, said
    assert ("A3", 29, None) == (row["answer"], row["reasoning_chars"], row["loop_novelty"])
    assert 6 == len(lines("out.rejected.jsonl"))


def test_redact_leaves_no_key():
    key = "sk-ant-api03-abcdefghijkl0123456789"
    Path("keys.jsonl").write_text(
        json.dumps({"prompt": f"key {key}", "response": f"<think>{key}</think>It is {key}."})
    )
    run("map", "keys.jsonl", "-o", "out.jsonl", "--map", "redact", "--raw", "--parts")

    assert key not in Path("out.jsonl").read_text()
    assert 3 == len(lines("out.jsonl")[0]["secrets"])


def test_report_in_lines_and_on_a_page():
    run("map", "rows.jsonl", "-o", "out/", "--map", "loops")
    said, code = run("report", "out/", processes=None)
    _, written = run("report", "out/", "-o", "report.html", "--title", "Mine", processes=None)

    assert (0, 0) == (code, written), said
    assert "7 rows, 6 with reasoning" in said
    assert "<title>Mine</title>" in Path("report.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("map", "rows.jsonl", "-o", "out.jsonl", "--where", "stauts == 1"),
            "did you mean 'status'",
        ),
        (
            ("map", "rows.jsonl", "-o", "out.jsonl", "--where", "__import__('os')"),
            "a filter has names of columns",
        ),
        (("map", "rows.jsonl", "-o", "out.jsonl", "--map", "nothing"), "'nothing' is not one of"),
        (("convert", "rows.jsonl", "-o", "out.jsonl", "--to", "nobody"), "'nobody' is not one of"),
        (("convert", "rows.jsonl", "-o", "out.jsonl"), "Missing option '--to'"),
        (
            (
                "convert",
                "rows.jsonl",
                "-o",
                "out.jsonl",
                "--to",
                "trl",
                "--template",
                "missing.jinja",
            ),
            "missing.jinja",
        ),
        (("convert", "missing.jsonl", "-o", "out.jsonl", "--to", "trl"), "missing.jsonl"),
    ],
)
def test_mistakes_are_said_before_anything_is_written(arguments, message):
    said, code = run(*arguments)

    assert 2 == code
    assert message in said
    assert not Path("out.jsonl").exists()


@needs_arrow
@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
@pytest.mark.parametrize(
    ("to", "family", "column"),
    [
        ("trl", "qwen3", "completion"),
        ("axolotl", "qwen3", "messages"),
        ("llama-factory", "gpt-oss", "conversations"),
        ("verl", None, "extra_info"),
    ],
)
def test_the_official_library_reads_what_was_written(ending, to, family, column, folder):
    import datasets

    said, code = run(
        "convert",
        "rows.jsonl",
        "-o",
        f"train.{ending}",
        "--to",
        to,
        *(["--for", family] if family else ["--history", "unroll"]),
    )
    assert 0 == code, said
    kind = "json" if ending == "jsonl" else "parquet"
    data = datasets.load_dataset(
        kind, data_files=f"train.{ending}", split="train", cache_dir=str(folder / "cache")
    )
    expected = {"completion": lambda row: row["completion"][-1]["reasoning_content"], "messages": lambda row: row["messages"][-1]["reasoning_content"],
                "conversations": lambda row: row["conversations"][-1]["value"].split("<|message|>")[1].split("<|end|>")[0], "extra_info": lambda row: row["extra_info"]["reasoning"]}[column]  # fmt: skip

    reasoning = [expected(row) for row in data]
    assert ["R1", "R2", "I look at it from both sides."] == reasoning[:3]


@needs_arrow
def test_rejected_rows_of_parquet_have_their_reason():
    from pyarrow import parquet

    run("convert", "rows.jsonl", "-o", "train.parquet", "--to", "trl", "--for", "qwen3")

    assert [
        "the answer is not complete: stopped_inside_thinking",
        "the row could not be read",
    ] == parquet.read_table("train.rejected.parquet").column("rejected").to_pylist()
    calls = parquet.read_table("train.parquet").column("completion").to_pylist()[3][0]["tool_calls"]
    assert [
        {"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}}
    ] == calls
