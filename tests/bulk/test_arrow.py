"""Arrow in, Arrow out: the one function that engines call."""

import pytest

pytest.importorskip("pyarrow", reason="needs pyarrow: .venv-bulk")

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from bulk.slow_step import STEP
from innervoice import bulk
from innervoice.bulk.arrow import arrow_type
from innervoice.errors import UsageError

TEXTS = ["<think>a</think>b", None, "c", "a thought that is long enough\n</think>d", ""]


@pytest.mark.parametrize("form", ["array", "chunked", "large", "slice", "polars"])
def test_a_column_of_any_kind_is_split(form):
    array = pa.array(TEXTS)
    if form == "chunked":
        array = pa.chunked_array([TEXTS[:2], TEXTS[2:]])
    elif form == "large":
        array = pa.array(TEXTS, pa.large_string())
    elif form == "slice":
        array = pa.array(["x", *TEXTS, "y"]).slice(1, 5)
    elif form == "polars":
        array = pytest.importorskip("polars").Series(TEXTS)
    split = bulk.split_arrow(array).to_pylist()

    assert ["b", "c", "d", ""] == [row["answer"] for row in split if row]
    assert ["a", None, "a thought that is long enough", None] == [
        row["reasoning"] for row in split if row
    ]
    assert split[1] is None


@settings(deadline=None)  # the machine may be busy
@given(
    st.lists(
        st.none()
        | st.sampled_from(["<think>", "</think>", "word", "`", "\n"]).flatmap(
            lambda one: st.just(one * 2)
        ),
        max_size=6,
    )
)
def test_a_column_is_split_as_each_text(texts):
    for text, row in zip(
        texts, bulk.split_arrow(pa.array(texts, pa.string())).to_pylist(), strict=True
    ):
        if text is None:
            assert row is None
        else:
            response = iv.split(text)
            assert (response.text, response.thinking, response.status) == (
                row["answer"],
                row["reasoning"],
                row["status"],
            )


def test_the_schema_has_the_types_that_the_columns_say():
    schema = bulk.schema_of(bulk.COLUMNS)

    assert list(bulk.COLUMNS) == schema.names
    members = ("role", "content", "reasoning", "calls", "call_id")
    assert (
        pa.list_(pa.struct([(name, pa.string()) for name in members]))
        == schema.field("prompt").type
    )
    assert (
        pa.struct([("input", pa.int64()), ("output", pa.int64()), ("reasoning", pa.int64())])
        == schema.field("usage").type
    )
    assert pa.int32() == arrow_type("int32")


def test_steps_map_a_record_batch_to_one_with_their_columns():
    record_batch = pa.RecordBatch.from_pydict(
        {"answer": ["ab", None], "other": pa.array([1, 2], pa.int8())}
    )
    mapped = bulk.mapped(record_batch, [STEP])

    assert {"answer": ["ab", None], "other": [1, 2], "length": [2, 0]} == mapped.to_pydict()
    assert [pa.string(), pa.int8(), pa.int64()] == mapped.schema.types


def test_what_has_no_place_in_a_type_is_not_lost_in_silence():
    schema = pa.schema(
        [("text", pa.string()), ("prompt", bulk.schema_of(bulk.COLUMNS).field("prompt").type)]
    )
    batch = {
        "text": ["half \ud800", {"a": 1}],
        "prompt": [[{"role": "user", "content": "\udfff"}], None],
    }
    rows = bulk.record_batch_of(batch, schema).to_pylist()

    assert ["half \ufffd", '{"a":1}'] == [row["text"] for row in rows]
    missing = {"reasoning": None, "calls": None, "call_id": None}
    assert [{"role": "user", "content": "\ufffd", **missing}] == rows[0]["prompt"]


def test_a_batch_of_any_columns_is_split():
    batch = bulk.split_batch({"response": TEXTS, "n": [1, 2, 3, 4, 5]}, "response")

    assert ["b", None, "c", "d", ""] == batch["answer"]
    assert [1, 2, 3, 4, 5] == batch["n"]


def test_lines_become_parquet_with_the_types_of_their_values(tmp_path):
    from pyarrow import parquet

    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"response": "a", "n": 1, "ok": true, "f": 1, "o": {"x": 1}}\n{"response": "b", "n": 2, "ok": null, "f": 1.5, "o": [2]}\n'
    )
    bulk.run(path, tmp_path / "out.parquet")
    table = parquet.read_table(tmp_path / "out.parquet")

    assert ["int64", "bool", "double", "string"] == [
        str(table.schema.field(name).type) for name in ("n", "ok", "f", "o")
    ]
    assert [1.0, 1.5] == table["f"].to_pylist()
    assert ['{"x":1}', "[2]"] == table["o"].to_pylist()


def test_a_column_of_parquet_keeps_its_type_and_its_rows(tmp_path):
    from pyarrow import parquet

    messages = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": "a"},
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": "b"},
    ]
    data = pa.table(
        {
            "messages": [messages, messages[:2]],
            "score": pa.array([1.5, 2.5], pa.float32()),
            "tags": [["x"], None],
        }
    )
    parquet.write_table(data, tmp_path / "a.parquet")
    bulk.run(tmp_path / "a.parquet", tmp_path / "out")
    table = parquet.read_table(tmp_path / "out" / "part-00000.parquet")

    assert ["a", "b", "a"] == table["answer"].to_pylist()
    assert (pa.float32(), [1.5, 1.5, 2.5]) == (
        table.schema.field("score").type,
        table["score"].to_pylist(),
    )
    assert [["x"], ["x"], None] == table["tags"].to_pylist()


def test_an_unknown_ending_is_said(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"response": "a"}\n')

    with pytest.raises(UsageError, match=r"expected a folder, or a file whose name ends in"):
        bulk.run(tmp_path / "a.jsonl", tmp_path / "out.csv")
