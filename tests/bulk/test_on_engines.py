"""Every engine gives what the steps give on a batch."""

import importlib.util
import json
import pickle

import pytest

from innervoice.bulk.loops import loops
from innervoice.bulk.maps import split

TEXTS = [
    "<think>R</think>A",
    "plain",
    None,
    "<think>" + "again " * 40,
    "thought first, then it ends here.</think>B",
    "",
]
STEPS = (split("text", model=None), loops())


def needs(name):
    """Skips the test where a package is missing."""
    return pytest.mark.skipif(
        importlib.util.find_spec(name) is None, reason=f"{name} is in .venv-bulk"
    )


@pytest.fixture
def expected():
    """The columns as the steps give them without any engine."""
    batch = {"n": list(range(len(TEXTS))), "text": TEXTS}
    for step in STEPS:
        batch = step.run(batch)
    return batch


@pytest.fixture
def table():
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.table({"n": list(range(len(TEXTS))), "text": TEXTS})


@needs("polars")
def test_polars_frame_and_lazy_frame(expected, table):
    import polars as pl

    import innervoice.bulk.on_polars  # noqa: F401 - registers the namespace

    frame = pl.from_arrow(table)

    assert expected == frame.iv.map(*STEPS).to_dict(as_series=False)
    assert expected == frame.lazy().iv.map(*STEPS).collect().to_dict(as_series=False)


@needs("polars")
def test_polars_expression(expected, table):
    import polars as pl

    import innervoice.bulk.on_polars  # noqa: F401 - registers the namespace

    frame = pl.from_arrow(table).select("n", pl.col("text").iv.split().alias("s")).unnest("s")

    for name in ("answer", "reasoning", "status", "notes", "markup"):
        assert expected[name] == frame[name].to_list(), name
    lazy = pl.LazyFrame({"text": TEXTS}).select(pl.col("text").iv.split(markup=["mistral"]))
    assert lazy.collect_schema() == lazy.collect().schema


@needs("daft")
def test_daft(expected, table):
    import daft

    from innervoice.bulk import on_daft

    frame = on_daft.mapped(daft.from_arrow(table), *STEPS)

    assert expected == frame.to_pydict()


@needs("datasets")
def test_datasets(expected, table, tmp_path):
    import datasets

    from innervoice.bulk import on_datasets

    whole = datasets.Dataset(table)
    streamed = whole.to_iterable_dataset()

    assert expected == on_datasets.mapped(whole, *STEPS, batch_size=2).to_dict()
    rows = list(on_datasets.mapped(streamed, *STEPS, batch_size=4))
    assert expected == {name: [row[name] for row in rows] for name in expected}


@needs("duckdb")
def test_duckdb(expected, table):
    import duckdb

    from innervoice.bulk.tables import mapped_table

    found = mapped_table(duckdb.sql('select * from "table" order by n').to_arrow_table(), STEPS)

    assert [(1,)] == duckdb.sql("select count(*) from found where loop_period = 6").fetchall()
    assert expected == {**found.to_pydict(), "n": expected["n"]}


@needs("pyarrow")
def test_ray_gets_a_function_of_tables_that_can_be_pickled(expected, table):
    """The real one is tested by `scripts/test engines`."""
    from innervoice.bulk import on_ray

    class Dataset:
        def select_columns(self, names):
            assert ["text"] == names
            return self

        def take(self, most):
            return table.slice(0, most).to_pylist()

        def map_batches(self, function, *, batch_format, **options):
            assert ("pyarrow", {"num_cpus": 2}) == (batch_format, options)
            return pickle.loads(pickle.dumps(function))(table)

    assert expected == on_ray.mapped(Dataset(), *STEPS, num_cpus=2).to_pydict()


@needs("pyarrow")
def test_tables_without_rows_have_the_columns_of_all_others(table):
    from innervoice.bulk.tables import mapped_schema, mapped_table

    whole, none = mapped_table(table, STEPS), mapped_table(table.slice(0, 0), STEPS)

    assert whole.schema == none.schema == mapped_schema(table.schema, STEPS)


# ---- the rows of the command, in every engine ----------------------------------------------------------------

MIXED = [
    *(f"Row {n}: 先看题目。</think>\n\nIt is {n}." for n in range(600)),
    *(f"短{n}</think>是" for n in range(150)),
    *(f"<think>\nOpened {n}.\n</think>\n\nIt is {n}." for n in range(50)),
    *(f"<|begin_of_thought|>\nSky {n}.\n<|end_of_thought|>\n\n<|begin_of_solution|>\n{n}\n<|end_of_solution|>" for n in range(40)),
    *(f"<seed:think>Seed {n}.</seed:think>It is {n}." for n in range(40)),
    *(f"Plain {n}." for n in range(20)),
]  # fmt: skip
SPLIT = ("answer", "reasoning", "status", "notes", "markup")


@pytest.fixture(scope="module")
def of_command(tmp_path_factory):
    """What `innervoice bulk split` writes."""
    from click.testing import CliRunner

    from innervoice.cli.commands import innervoice

    folder = tmp_path_factory.mktemp("mixed")
    lines = [json.dumps({"text": text}) + "\n" for text in MIXED]
    (folder / "rows.jsonl").write_text("".join(lines), "utf-8")
    command = ["bulk", "split", str(folder / "rows.jsonl"), "-o", str(folder / "out.jsonl")]
    result = CliRunner().invoke(innervoice, [*command, "-j", "1"])
    assert 0 == result.exit_code, result.output
    assert "the texts begin inside a thought: 750 of 900" in result.output
    rows = [json.loads(line) for line in (folder / "out.jsonl").read_text("utf-8").splitlines()]
    return {name: [row[name] for row in rows] for name in SPLIT}


def of_polars(table):
    import polars as pl

    import innervoice.bulk.on_polars  # noqa: F401 - registers the namespace

    return pl.from_arrow(table).lazy().iv.map(split("text")).collect().to_dict(as_series=False)


def of_polars_expression(table):
    import polars as pl

    import innervoice.bulk.on_polars  # noqa: F401 - registers the namespace

    frame = pl.from_arrow(table).select(pl.col("text").iv.split().alias("s")).unnest("s")
    return frame.to_dict(as_series=False)


def of_duckdb(table):
    import duckdb

    from innervoice.bulk.tables import mapped_table

    return mapped_table(duckdb.sql('select * from "table"').to_arrow_table(), [split("text")])


def of_daft(table):
    import daft

    from innervoice.bulk import on_daft

    return on_daft.mapped(daft.from_arrow(table), split("text")).to_arrow()


def of_datasets(table):
    import datasets

    from innervoice.bulk import on_datasets

    return on_datasets.mapped(datasets.Dataset(table), split("text"), batch_size=100).to_dict()


ENGINES = {
    "polars": of_polars,
    "polars, expression": of_polars_expression,
    "duckdb": of_duckdb,
    "daft": of_daft,
    "datasets": of_datasets,
}


@needs("pyarrow")
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_gives_the_rows_of_the_command(engine, of_command):
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip(engine.partition(",")[0], reason="the engines are in .venv-bulk")
    result = ENGINES[engine](pyarrow.table({"text": MIXED}))
    columns = result if isinstance(result, dict) else result.to_pydict()

    for name in SPLIT:
        assert of_command[name] == columns[name], name


def test_the_rows_of_the_command_are_right(of_command):
    expected = [
        *((f"It is {n}.", f"Row {n}: 先看题目。") for n in range(600)),
        *(("是", f"短{n}") for n in range(150)),
        *((f"It is {n}.", f"Opened {n}.") for n in range(50)),
        *((f"{n}", f"Sky {n}.") for n in range(40)),
        *((f"It is {n}.", f"Seed {n}.") for n in range(40)),
        *((f"Plain {n}.", None) for n in range(20)),
    ]

    assert expected == list(zip(of_command["answer"], of_command["reasoning"], strict=True))
