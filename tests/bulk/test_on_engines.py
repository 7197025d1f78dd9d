"""Every engine gives what the steps give on a batch."""

import importlib.util
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
        def map_batches(self, function, *, batch_format, **options):
            assert ("pyarrow", {"num_cpus": 2}) == (batch_format, options)
            return pickle.loads(pickle.dumps(function))(table)

    assert expected == on_ray.mapped(Dataset(), *STEPS, num_cpus=2).to_pydict()


@needs("pyarrow")
def test_tables_without_rows_have_the_columns_of_all_others(table):
    from innervoice.bulk.tables import mapped_schema, mapped_table

    whole, none = mapped_table(table, STEPS), mapped_table(table.slice(0, 0), STEPS)

    assert whole.schema == none.schema == mapped_schema(table.schema, STEPS)
