"""Rows in the layouts of public data sets, through the command: every column of the result is compared. The traps are columns that look like the model's output and are not.

The content is ours; the columns are those of the sets.
"""

import base64
import csv
import gzip
import json
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from innervoice.cli.commands import innervoice

ASK = "What is 2 + 3?"
R1 = "<think>\nWe add two and three.\n</think>\n\nIt is 5."
CRITIQUE = "<think>\nThe code adds them, so it is right.\n</think>\n\n<judgement>right</judgement>"


def user(text=ASK):
    return {"role": "user", "content": text}


class Set(NamedTuple):
    """The rows of a set, and the columns that must come out of them; those that are not named are null."""

    rows: list[dict[str, Any]]
    expected: list[dict[str, Any]]


def split_row(**changes):
    """A row of the result."""
    row = {
        "turn": 0, "last": True, "model": None, "prompt": [user()], "answer": "It is 5.", "calls": None, "reasoning": "We add two and three.",
        "status": "answered", "finish": None, "usage": None, "notes": ["inline_thinking"], "markup": "think",
    }  # fmt: skip
    return {**row, **changes}


COLUMN = {"notes": ["field_thinking"], "markup": "column"}
PLAIN = {"reasoning": None, "notes": [], "markup": None}
SETS = {
    "medical-o1": Set(
        [{"Question": ASK, "Complex_CoT": "We add two and three.", "Response": "It is 5."}],
        [split_row(**COLUMN)],
    ),
    "OpenCodeReasoning-2": Set(
        [{"id": "a1", "question_id": "q1", "question": ASK, "r1_generation": R1, "qwq_critique": CRITIQUE, "solution": "print(5)", "judgement": "right", "dataset": "apps", "license": "mit", "pass_rate": "0.5"}],
        [split_row(id="a1", question_id="q1", qwq_critique=CRITIQUE, solution="print(5)", judgement="right", dataset="apps", license="mit", pass_rate="0.5")],
    ),
    "R1-Distill-SFT": Set(
        [{"id": "b", "problem": ASK, "reannotated_assistant_content": R1, "solution": "We add. 5", "source": "amc", "verified": None}],
        [split_row(id="b", solution="We add. 5", row_source="amc", verified=None)],
    ),
    "OpenMathReasoning": Set(
        [{"expected_answer": "5", "problem_type": "has_answer_extracted", "problem_source": "aops", "generation_model": "DeepSeek-R1", "pass_rate_72b_tir": "0.9", "problem": ASK, "generated_solution": R1, "inference_mode": "cot"}],
        [split_row(model="DeepSeek-R1", expected_answer="5", problem_type="has_answer_extracted", problem_source="aops", pass_rate_72b_tir="0.9", inference_mode="cot")],
    ),
    "natural_reasoning": Set(
        [{"question": ASK, "reference_answer": "5", "responses": [{"response_model": "llama", "response": "It is 5."}]}],
        [split_row(**PLAIN, model="llama", reference_answer="5")],
    ),
    "Dolphin-R1": Set(
        [{"messages": [{"role": "system", "content": "Be brief."}, user()], "reasoning": "We add two and three.", "answer": "It is 5.", "model": "r1"}],
        [split_row(**COLUMN, model="r1", prompt=[{"role": "system", "content": "Be brief."}, user()])],
    ),
    "Alpaca": Set(
        [{"instruction": "Add the numbers.", "input": "2, 3", "output": "It is 5."}, {"instruction": ASK, "input": "", "output": "It is 5."}],
        [split_row(**PLAIN, prompt=[user("Add the numbers.\n\n2, 3")]), split_row(**PLAIN)],
    ),
    "content lists": Set(
        [
            {"messages": [user(), {"role": "assistant", "content": [{"type": "text", "text": R1}]}]},
            {"messages": [user(), {"role": "assistant", "content": [{"type": "text", "text": R1[:20]}, {"type": "text", "text": R1[20:]}]}]},
            {"messages": [user(), {"role": "assistant", "content": [{"type": "thinking", "thinking": "We add two and three.", "signature": "s"}, {"type": "text", "text": R1}]}]},
        ],
        [split_row(), split_row(), split_row(notes=["field_thinking", "inline_thinking", "inline_repeated"])],
    ),
    "OpenAI fine-tuning": Set(
        [{"messages": [{"role": "system", "content": "Be brief."}, user(), {"role": "assistant", "content": R1, "weight": 1}]}],
        [split_row(prompt=[{"role": "system", "content": "Be brief."}, user()])],
    ),
    "OpenAI preferences": Set(
        [{"input": {"messages": [user()], "tools": []}, "preferred_output": [{"role": "assistant", "content": R1}], "non_preferred_output": [{"role": "assistant", "content": "6"}]}],
        [split_row(non_preferred_output=[{"role": "assistant", "content": "6"}])],
    ),
    "harmony conversations": Set(
        [{"text": f"<|start|>system<|message|>You are ChatGPT.<|end|><|start|>user<|message|>{ASK}<|end|><|start|>assistant<|channel|>analysis<|message|>We add two and three.<|end|><|start|>assistant<|channel|>final<|message|>It is 5.<|return|>"}],
        [split_row(prompt=[{"role": "system", "content": "You are ChatGPT."}, user()], notes=["wrapper_removed", "inline_thinking"], markup="harmony")],
    ),
    "ChatML conversations": Set(
        [{"text": f"<|im_start|>user\n{ASK}<|im_end|>\n<|im_start|>assistant\n{R1}<|im_end|>\n"}],
        [split_row()],
    ),
    "Langfuse": Set(
        [{"id": "o1", "traceId": "t1", "type": "GENERATION", "name": "ask", "model": "qwen3", "input": [user()], "output": {"role": "assistant", "content": R1}, "level": "DEFAULT", "statusMessage": None}],
        [split_row(id="o1", model="qwen3", traceId="t1", type="GENERATION", name="ask", level="DEFAULT", statusMessage=None)],
    ),
    "LangSmith": Set(
        [
            {
                "id": "run1",
                "name": "ChatOpenAI",
                "run_type": "llm",
                "status": "success",
                "inputs": {"messages": [[{"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "HumanMessage"], "kwargs": {"content": ASK, "type": "human"}}]]},
                "outputs": {"generations": [[{"text": R1, "type": "ChatGeneration", "message": {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "AIMessage"], "kwargs": {"content": R1, "type": "ai"}}}]]},
            }
        ],
        [split_row(id="run1", name="ChatOpenAI", run_type="llm", row_status="success")],
    ),
    "a prompt that mentions the tags": Set(
        [{"prompt": f"Think in <think> and </think>. {ASK}", "output": R1, "score": 1}],
        [split_row(prompt=[user(f"Think in <think> and </think>. {ASK}")], score=1)],
    ),
}  # fmt: skip


def run(*arguments):
    result = CliRunner().invoke(innervoice, ["bulk", *map(str, arguments)])
    return result.exit_code, result.output


def written(tmp_path, name, *options):
    code, output = run(
        "split", tmp_path / name, "-o", tmp_path / "out" / "rows.jsonl", "-j", 1, *options
    )
    assert 0 == code, output
    lines = (tmp_path / "out" / "rows.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def compared(rows, path, expected):
    for number, row in enumerate(rows, 1):
        assert str(path) == row.pop("source")
        if row["id"] == f"{path}:{number}":
            del row["id"]
    assert expected == rows


def as_lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize("name", SETS)
def test_rows_of_a_set(name, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(as_lines(SETS[name].rows), "utf-8")

    compared(written(tmp_path, path.name), path, SETS[name].expected)


def write_csv(path, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def write_parquet(path, rows):
    arrow = pytest.importorskip("pyarrow", reason="needs pyarrow: .venv-bulk")
    pytest.importorskip("pyarrow.parquet").write_table(arrow.Table.from_pylist(rows), path)


def write_arrow(path, rows):
    arrow = pytest.importorskip("pyarrow", reason="needs pyarrow: .venv-bulk")
    table = arrow.Table.from_pylist(rows)
    with pytest.importorskip("pyarrow.ipc").new_file(str(path), table.schema) as writer:
        writer.write_table(table)


def write_zst(path, rows):
    zstandard = pytest.importorskip("zstandard", reason="needs zstandard: .venv-bulk")
    path.write_bytes(zstandard.ZstdCompressor().compress(as_lines(rows).encode()))


FORMATS = {
    "rows.json": lambda path, rows: path.write_text(json.dumps(rows)),
    "array.jsonl": lambda path, rows: path.write_text(json.dumps(rows, indent=1)),
    "wrapped.json": lambda path, rows: path.write_text(json.dumps({"data": rows, "meta": {}})),
    "viewer.json": lambda path, rows: path.write_text(
        json.dumps({"features": [], "rows": [{"row_idx": n, "row": r} for n, r in enumerate(rows)]})
    ),
    "rows.jsonl.gz": lambda path, rows: path.write_bytes(gzip.compress(as_lines(rows).encode())),
    "rows.jsonl.zst": write_zst,
    "rows.csv": write_csv,
    "rows.parquet": write_parquet,
    "rows.arrow": write_arrow,
}
FLAT = [
    name for name, one in SETS.items()
    if all(isinstance(value, str) for row in one.rows for value in row.values())
]  # fmt: skip


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", SETS)
def test_every_set_in_every_format(name, format, tmp_path):  # noqa: A002
    """The rows are those of JSON lines. A table of text has no lists, and a file with a schema fills members that are missing."""
    if name not in FLAT and format in ("rows.csv", "rows.parquet", "rows.arrow"):
        pytest.skip("only sets of texts")
    path = tmp_path / format
    FORMATS[format](path, SETS[name].rows)
    rows = written(tmp_path, format, "--format", "jsonl")
    expected = SETS[name].expected

    compared(rows, path, expected)


def test_a_column_of_bytes_is_text_if_it_can_be(tmp_path):
    arrow = pytest.importorskip("pyarrow", reason="needs pyarrow: .venv-bulk")
    pytest.importorskip("pyarrow.parquet").write_table(
        arrow.table({"prompt": [ASK], "response": [R1.encode()]}), tmp_path / "rows.parquet"
    )

    compared(written(tmp_path, "rows.parquet"), tmp_path / "rows.parquet", [split_row()])


def test_bytes_that_are_no_text_are_refused(tmp_path):
    arrow = pytest.importorskip("pyarrow", reason="needs pyarrow: .venv-bulk")
    pytest.importorskip("pyarrow.parquet").write_table(
        arrow.table({"prompt": [ASK], "response": [base64.b64decode("/9j/4AAQ")]}),
        tmp_path / "rows.parquet",
    )
    code, output = run("split", tmp_path / "rows.parquet", "-o", tmp_path / "out.jsonl")

    assert 2 == code
    assert "The columns are: prompt (str), response (bytes)" in output


def test_a_guess_that_another_column_contradicts_is_refused_with_the_options(tmp_path):
    rows = [{"prompt": ASK, "rationale": "Because.", "answer": "5", "trace_text": R1}]
    (tmp_path / "rows.jsonl").write_text(as_lines(rows * 3))
    code, output = run("split", tmp_path / "rows.jsonl", "-o", tmp_path / "out.jsonl")

    assert 2 == code
    assert (
        "Pass --text trace_text --prompt prompt, or --reasoning rationale --answer answer --prompt prompt."
        in " ".join(output.split())
    )
    answers = written(tmp_path, "rows.jsonl", "--text", "trace_text", "--prompt", "prompt")
    assert ["It is 5."] * 3 == [row["answer"] for row in answers]


def test_a_log_of_inspect_is_a_row_for_each_sample(tmp_path):
    def sample(number):
        message = {"role": "assistant", "content": f"<think>\nSum {number}.\n</think>\n\n{number}", "source": "generate", "model": "openai/m"}  # fmt: skip
        return {
            "id": number, "epoch": 1, "input": ASK, "target": "5",
            "messages": [{**user(), "source": "input"}, message],
            "output": {"model": "openai/m", "choices": [{"message": message, "stop_reason": "stop"}]},
        }  # fmt: skip

    log = {
        "version": 2,
        "status": "success",
        "eval": {"run_id": "r", "eval_id": "e", "task": "sums", "model": "openai/m"},
        "samples": [sample(1), sample(2)],
    }
    (tmp_path / "log.json").write_text(json.dumps(log))
    rows = written(tmp_path, "log.json")

    assert [("1", "Sum 1."), ("2", "Sum 2.")] == [(row["answer"], row["reasoning"]) for row in rows]
    assert [[user()]] * 2 == [row["prompt"] for row in rows]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "the files have no rows"),
        ("not JSON\n", "rows.jsonl:1: the line is not JSON"),
        ("{}\n{}\n", "the objects are empty"),
    ],
)
def test_files_without_columns_say_why(content, words, tmp_path):
    (tmp_path / "rows.jsonl").write_text(content)
    code, output = run("split", tmp_path / "rows.jsonl", "-o", tmp_path / "out.jsonl")

    assert 2 == code
    assert words in output
    assert "nothing" not in output
