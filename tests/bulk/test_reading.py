"""Files are read completely, whatever they are packed in, and what cannot be read is a row that says where it is."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from innervoice import bulk
from innervoice.bulk.files import input_files
from innervoice.bulk.reading import pieces_of, tables_of
from innervoice.errors import UsageError

ROWS = [
    {"id": f"r{number}", "response": f"<think>thought {number}</think>answer {number}"}
    for number in range(7)
]
LINES = b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)


def all_of(paths, options=None):
    rows = []
    for batch in bulk.read(paths, options):
        rows += [
            dict(zip(batch, values, strict=True)) for values in zip(*batch.values(), strict=True)
        ]
    return rows


def answers(rows):
    return [row["answer"] for row in rows]


def packed(name, data):
    if name.endswith(".gz"):
        return gzip.compress(data)
    if name.endswith(".zst"):
        zstandard = pytest.importorskip("zstandard", reason="needs zstandard: .venv-bulk")
        return zstandard.compress(data)
    return data


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.jsonl.gz", "a.jsonl.zst", "a.rows"])
def test_lines_are_read_however_they_are_packed(name, tmp_path):
    (tmp_path / name).write_bytes(packed(name, LINES))

    assert [f"answer {number}" for number in range(7)] == answers(all_of(tmp_path / name))


@pytest.mark.parametrize(
    "form",
    [json.dumps(ROWS), json.dumps(ROWS, indent=1), LINES.decode()],
    ids=["list", "indented", "lines"],
)
def test_a_json_file_is_a_list_or_lines(form, tmp_path):
    (tmp_path / "a.json").write_text(form)

    assert [f"answer {number}" for number in range(7)] == answers(all_of(tmp_path / "a.json"))


def test_globs_and_folders_are_read_in_the_order_of_names(tmp_path):
    (tmp_path / "in" / "deep").mkdir(parents=True)
    for number, name in enumerate(
        ["b.jsonl", "a.jsonl", "deep/c.jsonl", ".hidden.jsonl", "readme.txt"]
    ):
        (tmp_path / "in" / name).write_text(json.dumps({"response": f"{number}"}) + "\n")

    assert ["1", "0"] == answers(all_of(str(tmp_path / "in" / "*.jsonl")))
    assert ["1", "0", "2"] == answers(all_of(tmp_path / "in"))
    assert ["0", "1"] == answers(all_of([tmp_path / "in" / "b.jsonl", tmp_path / "in" / "a.jsonl"]))


def test_addresses_are_read_through_fsspec():
    fsspec = pytest.importorskip("fsspec", reason="needs fsspec: .venv-bulk")
    with fsspec.open("memory://data/a.jsonl", "wb") as file:
        file.write(LINES)

    assert [f"answer {number}" for number in range(7)] == answers(all_of("memory://data/*.jsonl"))


def test_without_fsspec_an_address_says_what_is_missing():
    try:
        import fsspec  # noqa: F401
    except ModuleNotFoundError:
        with pytest.raises(UsageError, match="needs fsspec"):
            all_of("s3://bucket/a.jsonl")
    else:
        pytest.skip("fsspec is installed")


def test_a_path_without_files_is_said(tmp_path):
    with pytest.raises(UsageError, match=r"there is no file .*nowhere"):
        all_of(tmp_path / "nowhere.jsonl")


BAD = {
    "no JSON": b"{not json",
    "cut off": b'{"id": "x", "response": "<think>',
    "a list": b'["x"]',
    "a number": b"17",
    "not UTF-8": b'{"response": "\xff\xfe"}',
    "without the text": b'{"id": "x"}',
    "null": b'{"id": "x", "response": null}',
    "a number for a text": b'{"id": "x", "response": 5}',
    "nested": b'{"response":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_is_a_row_with_its_place_and_no_answer(name, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(LINES + BAD[name] + b"\n" + LINES)
    rows = all_of(path)

    assert 15 == len(rows)
    assert ("unreadable", None, None) == (
        rows[7]["status"],
        rows[7]["answer"],
        rows[7]["reasoning"],
    )
    assert rows[7]["id"] in ("x", f"{path}:8")
    assert ["row_unreadable"] == rows[7]["notes"]
    assert ["answered"] * 7 == [row["status"] for row in rows[8:]]


def test_blank_lines_are_no_rows_but_count_as_lines(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"response": "a"}\r\n\r\n\n{"response": "b"}')

    rows = all_of(path)
    assert [(f"{path}:1", "a"), (f"{path}:4", "b")] == [(row["id"], row["answer"]) for row in rows]


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl.zst"])
def test_a_damaged_archive_gives_its_rows_and_says_where_it_ends(name, tmp_path):
    path = tmp_path / name
    many = b"".join(
        json.dumps({"response": f"{number} {number**5}" * 20}).encode() + b"\n"
        for number in range(20_000)
    )
    whole = packed(name, many)
    path.write_bytes(whole[: len(whole) // 2])
    rows = all_of(path, bulk.ReadOptions(skip_bad_files=True))

    assert len(rows) > 100
    assert "unreadable" == rows[-1]["status"]
    assert {"answered"} == {row["status"] for row in rows[:-2]}


@settings(deadline=None)  # the machine may be busy
@given(
    st.lists(
        st.sampled_from(
            [b"{}\n", b'{"a": 1}\n', b"\n", b"x\n", b'{"b": "' + b"y" * 30 + b'"}\r\n']
        ),
        max_size=40,
    ),
    st.sampled_from([b"", b'{"last": 1}', b"\n"]),
    st.integers(1, 120),
)
def test_pieces_hold_every_line_once(tmp_path_factory, lines, last, size):
    path = tmp_path_factory.mktemp("pieces") / "a.jsonl"
    path.write_bytes(b"".join(lines) + last)
    pieces = list(pieces_of(input_files([path]), size))
    numbers = [number for piece in pieces for table in tables_of(piece) for number in table.numbers]
    content = path.read_bytes().split(b"\n")

    assert [number for number, line in enumerate(content, 1) if line.strip()] == numbers
    assert path.stat().st_size == sum(piece.size for piece in pieces)


def test_a_large_file_counts_its_lines_across_pieces(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        b"".join(
            b'{"response": "%d %s"}\n' % (number, b"x" * (number % 900)) for number in range(8_000)
        )
    )
    pieces = list(pieces_of(input_files([path]), 700_000))
    numbers = [number for piece in pieces for table in tables_of(piece) for number in table.numbers]

    assert len(pieces) > 4
    assert list(range(1, 8_001)) == numbers


def test_a_row_can_be_kept_as_it_was(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(LINES + b"bad \xff\n")
    rows = all_of(path, bulk.ReadOptions(raw=True))

    assert LINES.decode().splitlines() == [row["raw"] for row in rows[:7]]
    assert "bad \ufffd" == rows[7]["raw"]


# ---- with pyarrow ----------------------------------------------------------------------------------------


@pytest.fixture
def table():
    arrow = pytest.importorskip("pyarrow", reason="needs pyarrow: .venv-bulk")
    return arrow.Table.from_pylist(ROWS)


def test_parquet_is_read_by_row_groups(table, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    pieces = list(pieces_of(input_files([tmp_path / "a.parquet"]), 1))

    assert [0, 2, 4, 6] == [piece.first for piece in pieces]
    assert [f"answer {number}" for number in range(7)] == answers(all_of(tmp_path / "a.parquet"))


@pytest.mark.parametrize("form", ["file", "stream"])
def test_arrow_is_read_as_file_and_as_stream(form, table, tmp_path):
    ipc = pytest.importorskip("pyarrow.ipc")
    new = ipc.new_file if form == "file" else ipc.new_stream
    with new(str(tmp_path / "a.arrow"), table.schema) as writer:
        writer.write_table(table, max_chunksize=3)

    assert [f"answer {number}" for number in range(7)] == answers(all_of(tmp_path / "a.arrow"))


def test_a_damaged_parquet_file_is_a_row(table, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(table, tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes(b"PAR1 nothing PAR1")
    rows = all_of(
        [tmp_path / "a.parquet", tmp_path / "b.parquet"], bulk.ReadOptions(skip_bad_files=True)
    )

    assert 8 == len(rows)
    assert ("unreadable", f"{tmp_path / 'b.parquet'}:1") == (rows[7]["status"], rows[7]["id"])


def test_parquet_without_pyarrow_says_what_is_missing(tmp_path):
    try:
        import pyarrow  # noqa: F401, ICN001
    except ModuleNotFoundError:
        Path(tmp_path / "a.parquet").write_bytes(b"PAR1")
        with pytest.raises(UsageError, match=r"(?:innervoice|/[^\s\"]+)\[bulk\]"):
            all_of(tmp_path / "a.parquet")
    else:
        pytest.skip("pyarrow is installed")
