"""What is passed on to Parquet is there: as it was, as text, or counted."""

import json

import pytest
from click.testing import CliRunner

from innervoice.cli.commands import innervoice

arrow = pytest.importorskip("pyarrow", reason="needs pyarrow: .venv-bulk")
parquet = pytest.importorskip("pyarrow.parquet")

TEXT = "<think>We add.</think>It is 5."


def run(*arguments):
    return CliRunner().invoke(innervoice, ["bulk", *map(str, arguments), "-j", "1"])


def split(tmp_path, *inputs):
    result = run("split", *inputs, "-o", tmp_path / "out" / "rows.parquet")
    assert 0 == result.exit_code, result.output
    return parquet.read_table(tmp_path / "out" / "rows.parquet").to_pylist(), result.output


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_long_numbers_are_kept_as_text(tmp_path):
    number = 123456789012345678901234567890
    rows, _ = split(tmp_path, write_lines(tmp_path / "a.jsonl", [{"prompt": "Q", "response": TEXT, "n": n} for n in (1, number)]))  # fmt: skip

    assert ["1", str(number)] == [row["n"] for row in rows]


def test_values_that_change_their_type_after_the_sample_are_counted(tmp_path):
    lines = [{"prompt": "Q", "response": TEXT + "x" * 900, "n": n} for n in range(9_000)]
    lines[4_001]["n"] = "many"
    rows, output = split(tmp_path, write_lines(tmp_path / "a.jsonl", lines))

    assert [*range(4_001), None, *range(4_002, 9_000)] == [row["n"] for row in rows]
    assert "1 values of the column n do not fit its type and are null" in output


def test_a_new_name_overwrites_no_column(tmp_path):
    line = {"prompt": "Q", "response": TEXT, "source": "a", "row_source": "b", "row_row_source": "c"}  # fmt: skip
    (row,), _ = split(tmp_path, write_lines(tmp_path / "a.jsonl", [line]))

    assert ("a", "b", "c") == (
        row["row_row_row_source"],
        row["row_source"],
        row["row_row_source"],
    )


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ([1], ["x"], ["1", "x"]),
        ([1], [2.5], ["1", "2.5"]),
        (arrow.array([1], "int32"), arrow.array([2], "int64"), [1, 2]),
        ([{"a": 1}], ["x"], ['{"a":1}', "x"]),
        ([None], ["x"], [None, "x"]),
    ],
)
def test_one_column_with_two_types_in_two_files(one, other, expected, tmp_path):
    for name, values in (("a", one), ("b", other)):
        table = arrow.table({"prompt": ["Q"], "response": [TEXT], "n": values})
        parquet.write_table(table, tmp_path / f"{name}.parquet")
    rows, _ = split(tmp_path, tmp_path / "a.parquet", tmp_path / "b.parquet")

    assert expected == [row["n"] for row in rows]


def test_two_columns_of_one_name_are_an_error(tmp_path):
    table = arrow.Table.from_arrays([[TEXT], ["1"], ["2"]], names=["response", "n", "n"])
    parquet.write_table(table, tmp_path / "a.parquet")
    result = run("split", tmp_path / "a.parquet", "-o", tmp_path / "out.parquet")

    assert 2 == result.exit_code
    assert "two columns of one name: n" in result.output


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_verl_keeps_the_tool_calls_of_earlier_turns(ending, tmp_path):
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":2}'}}
    messages = [
        {"role": "user", "content": "Sum?"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "5", "tool_call_id": "c1"},
        {"role": "assistant", "content": TEXT},
    ]
    path = write_lines(tmp_path / "a.jsonl", [{"messages": messages}])
    output = tmp_path / f"out.{ending}"
    result = run("convert", path, "-o", output, "--to", "verl")
    assert 0 == result.exit_code, result.output
    example = (
        parquet.read_table(output).to_pylist()[-1]
        if ending == "parquet"
        else json.loads(output.read_text().splitlines()[-1])
    )
    prompt = example["prompt"]

    assert "add" == prompt[1]["tool_calls"][0]["function"]["name"]
    assert "c1" == prompt[2]["tool_call_id"]
