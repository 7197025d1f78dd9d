"""What holds for every step: it drops no row, adds its columns and no others, changes nothing, and does not depend on the size of batches."""

import copy
import importlib.util
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bulk.batches import row, rows, sliced
from innervoice.bulk.filtering import parse_filter
from innervoice.bulk.maps import MAPS, steps_for, steps_named
from innervoice.bulk.schema import COLUMNS
from innervoice.bulk.secrets import secrets
from innervoice.bulk.stats import Price, cost
from innervoice.errors import UsageError

# The public prices are another package.
STEPS = {
    name: make()
    for name, make in MAPS.items()
    if name not in ("to", "cost", "contamination", "duplicates")
}
STEPS["to"] = MAPS["to"]("trl", "qwen3")
STEPS["to verl"] = MAPS["to"]("verl")
STEPS["cost"] = cost(Price(1.0, 2.0))
STEPS["contamination"] = MAPS["contamination"](str(Path(__file__).with_name("tasks.jsonl")))
if importlib.util.find_spec("rensa"):
    STEPS["duplicates"] = MAPS["duplicates"]()
EACH = [name for name, step in STEPS.items() if not step.survey]
"""The steps that look at one row after the other."""
STEPS["redact"] = secrets(redact=True)


def test_every_step_is_tested():
    assert MAPS.keys() <= STEPS.keys() | {"duplicates"}


@pytest.mark.parametrize("name", STEPS)
@settings(max_examples=12, deadline=None)
@given(rows())
def test_a_step_adds_its_columns_and_changes_nothing(name, batch):
    step = STEPS[name]
    before = copy.deepcopy(batch)
    after = step.run(batch)

    assert before == batch, "the batch that came in is unchanged"
    assert {*batch, *step.adds} == {*after}
    assert {len(batch["id"])} == {len(values) for values in after.values()}
    changed = {"prompt", "answer", "reasoning"} if name == "redact" else step.adds.keys()
    assert all(batch[other] == after[other] for other in batch if other not in changed)


@pytest.mark.parametrize("name", EACH)
@settings(max_examples=8, deadline=None)
@given(rows(min_size=1), st.integers(1, 4))
def test_a_step_does_not_depend_on_the_size_of_batches(name, batch, size):
    step = STEPS[name]
    whole = step.run(batch)
    pieces = [
        step.run(sliced(batch, start, start + size)) for start in range(0, len(batch["id"]), size)
    ]

    assert whole == {
        column: [value for piece in pieces for value in piece[column]] for column in whole
    }


@pytest.mark.parametrize("name", STEPS)
@settings(max_examples=8, deadline=None)
@given(rows())
def test_values_have_the_types_that_a_step_says(name, batch):
    """So that a file with a schema can hold them."""
    pyarrow = pytest.importorskip("pyarrow")
    from innervoice.bulk.arrow import record_batch_of, schema_of

    step = STEPS[name]
    after = step.run(batch)
    read = record_batch_of({column: after[column] for column in step.adds}, schema_of(step.adds))

    assert isinstance(read, pyarrow.RecordBatch)
    assert [after[column] for column in step.adds] == [
        _same(read.column(column).to_pylist(), after[column]) for column in step.adds
    ]


def _same(read, written):
    """What was read, as it was written: Arrow fills the members that a struct lacks."""
    if isinstance(written, dict):
        return {name: _same(read[name], value) for name, value in written.items()}
    return (
        [_same(*pair) for pair in zip(read, written, strict=True)]
        if isinstance(written, list)
        else read
    )


def test_a_step_names_no_column_of_the_schema_but_those_that_it_is_for():
    for name, step in STEPS.items():
        if name != "split":
            assert not step.adds.keys() & COLUMNS.keys(), name


def test_a_filter_brings_its_steps():
    found = steps_for(
        parse_filter('loop_novelty > 0.1 and answer_script == "han" and status == "answered"')
    )

    assert ["loops", "language"] == [step.name for step in found]
    assert [] == steps_for(parse_filter("loop_novelty > 0"), steps_named(["loops"]))


@pytest.mark.parametrize("name", ["to", "split", "nothing"])
def test_names_of_steps_that_need_no_argument(name):
    with pytest.raises(UsageError, match="there are: strip, keep_last, unroll, stats, loops"):
        steps_named([name])


KEY = "sk-ant-api03-abcdefghijkl0123456789"


def test_secrets_are_found_by_part_with_their_places():
    batch = row(
        prompt=[{"role": "user", "content": f"my key is {KEY}."}],
        reasoning=f"{KEY} again",
        answer="password: hunter2hunter2",
    )
    found = secrets().run(batch)
    first, second, third = found["secrets"][0]

    assert ("prompt.content", 0, "key") == (first["place"], first["message"], first["kind"])
    assert KEY == batch["prompt"][0][0]["content"][first["start"] : first["end"]].rstrip(".")
    assert ("reasoning", None, 0, len(KEY)) == (
        second["place"],
        second["message"],
        second["start"],
        second["end"],
    )
    assert "hunter2hunter2" == batch["answer"][0][third["start"] : third["end"]]
    assert KEY not in repr(found["secrets"])
    assert batch["answer"] == found["answer"], "only redacted on request"


def test_secrets_that_overlap_are_one():
    """A name says that all behind it is one, where the key alone would end earlier."""
    after = secrets(redact=True).run(row(answer=f"token: {KEY}/and4more done"))

    assert 1 == len(after["secrets"][0])
    assert ["token: [redacted, 44 characters] done"] == after["answer"]


def test_redacted_rows_have_no_secret_anywhere():
    part = {"type": "thinking", "text": KEY, "state": "complete", "origin": f'{{"block": "{KEY}"}}'}
    batch = row(
        prompt=[{"role": "user", "content": KEY, "calls": KEY}],
        reasoning=KEY,
        answer=f"a {KEY} b",
        parts=[part],
        raw=f'{{"x": "{KEY}"}}',
    )
    after = secrets(redact=True).run(batch)

    assert KEY not in repr(after)
    assert ["a [redacted, 35 characters] b"] == after["answer"]
    assert KEY in repr(batch)
