"""`innervoice bulk split`, as users call it."""

import json
import subprocess
import sys

import pytest

pytest.importorskip("click", reason="needs click: innervoice[cli]")


def innervoice(*arguments, given=b"", folder=None):
    command = [sys.executable, "-m", "innervoice", "bulk", *map(str, arguments)]
    return subprocess.run(command, input=given, capture_output=True, check=False, cwd=folder)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "rows.jsonl"
    rows = [
        {"id": "a", "response": "<think>hm</think>yes", "n": 1},
        {"id": "b", "response": "no", "n": 2},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + "bad\n")
    return path


def test_a_file_is_split_into_a_file(source, tmp_path):
    done = innervoice("split", source, "-o", tmp_path / "out.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]

    assert 0 == done.returncode, done.stderr
    assert [("yes", "hm"), ("no", None), (None, None)] == [
        (row["answer"], row["reasoning"]) for row in rows
    ]
    assert b"a text with reasoning in it: response" in done.stderr
    assert b"<think> (1 of 2 texts)" in done.stderr
    assert b"3 rows: 2 answered, 1 unreadable" in done.stderr
    assert b"rows.jsonl:3: the line is not JSON" in done.stderr
    assert b"" == done.stdout


def test_pipes_are_read_and_written(source):
    done = innervoice("split", "-", "-o", "-", given=source.read_bytes())

    assert ["yes", "no", None] == [json.loads(line)["answer"] for line in done.stdout.splitlines()]


def test_standard_input_is_split_into_a_file(source, tmp_path):
    done = innervoice(
        "split", "-", "-o", tmp_path / "out.jsonl", "-j", "2", given=source.read_bytes()
    )

    assert 0 == done.returncode, done.stderr
    assert 3 == len((tmp_path / "out.jsonl").read_text().splitlines())


def test_what_would_be_read_is_shown_without_writing(source, tmp_path):
    done = innervoice("split", source, "-o", tmp_path / "out.jsonl", "--dry-run")

    assert b"passed on: n" in done.stderr
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere.jsonl", "-o", "x.jsonl"), b"there is no file"),
        (("{source}", "-o", "x.csv"), b".parquet"),
        (
            ("{source}", "-o", "x.jsonl", "--text", "nothing"),
            b"there is no column 'nothing'; the columns are: id, response, n",
        ),
        (("{source}", "-o", "x.jsonl", "--markup", "nonsense"), b"markup must be one of"),
        (("{source}", "-o", "x.jsonl", "--reasoning", "n"), b"--answer"),
        (("{source}",), b"--output"),
    ],
    ids=str,
)
def test_wrong_arguments_are_said_in_a_sentence(arguments, said, source, tmp_path):
    done = innervoice(
        "split", *(argument.format(source=source) for argument in arguments), folder=tmp_path
    )

    assert 2 == done.returncode
    assert said in done.stderr
    assert b"Traceback" not in done.stderr


def test_parquet_is_split_into_part_files(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow: .venv-bulk")
    arrow = pytest.importorskip("pyarrow")
    rows = [
        {"prompt": "?", "response": f"<think>t{number}</think>a{number}", "label": number}
        for number in range(50)
    ]
    parquet.write_table(arrow.Table.from_pylist(rows), tmp_path / "a.parquet")
    done = innervoice(
        "split", tmp_path / "a.parquet", "-o", tmp_path / "out/", "--text", "response"
    )
    table = parquet.read_table(tmp_path / "out" / "part-00000.parquet")

    assert 0 == done.returncode, done.stderr
    assert [f"a{number}" for number in range(50)] == table["answer"].to_pylist()
    assert list(range(50)) == table["label"].to_pylist()
    assert "int64" == str(table.schema.field("label").type)
