"""Newer facts out of lists: whole files of models.dev that fit its schema, and files that fit nothing."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

import innervoice as iv
from catalog.models_dev import API, API_2, CATALOG, MODEL, MODEL_2, files, fits
from innervoice.canon.rows import ModelRow
from innervoice.catalog.lookup import dialect_at, host_of, model_row_of
from innervoice.catalog.refresh import refreshed

EFFORTS = ("minimal", "low", "medium", "high", "xhigh", "max")
FIRST = {
    "id": "x", "name": "X", "attachment": False, "reasoning": True, "tool_call": True, "release_date": "2026-11-01",
    "last_updated": "2026-11-01", "modalities": {"input": ["text"], "output": ["text"]}, "open_weights": False,
    "limit": {"context": 500_000, "output": 64_000},
}  # fmt: skip
SECOND = {
    "id": "x", "type": "chat", "name": "X", "description": "X.", "open_weights": False, "release_date": "2026-11-01",
    "last_updated": "2026-11-01", "modalities": {"input": ["text"], "output": ["text"]},
    "limit": {"context": 500_000, "output": 64_000}, "api": {},
}  # fmt: skip
ROWS = {"dialects", "control", "forced_tools", "prefill", "limit", "replay", "reads", "bound"}
"""Columns that no list says anything about."""


def first(provider="deepseek", model="deepseek-v9", **members):
    value = {**FIRST, **members}
    assert fits(value, MODEL)
    return {provider: {"models": {model: value}}}


def second(provider="deepseek", model="deepseek-v9", api=None, **reasoning):
    abilities = {"tools": {"supported": True}, "reasoning": {"supported": True, **reasoning}}
    value = {**SECOND, "capabilities": abilities, "api": api or {}}
    assert fits(value, MODEL_2)
    return {provider: {"models": {model: value}}}


def row_of(data, source="a list, 2026-11-16"):
    (row,) = refreshed(data, source).rows
    return row


def known_row(provider, model):
    host = host_of(provider)
    return model_row_of(model, host.id, dialect_at(host, model))


# ---- files of the published shape ------------------------------------------------------------------


@pytest.mark.parametrize("shape", [API, CATALOG, API_2], ids=["api", "catalog", "second version"])
@given(data=st.data())
def test_every_file_of_the_schema_is_read(shape, data):
    """Each model is in one of the counts, each row is whole, and nothing but what a list says is new."""
    file = data.draw(files(shape))
    assert fits(file, shape)
    providers = file["providers"] if shape is CATALOG else file
    if not any(provider["models"] for provider in providers.values()):
        return
    before = copy.deepcopy(file)
    made = refreshed(file, "models.dev, 2026-11-16")

    assert before == file
    names = [(provider, name) for provider, entry in providers.items() for name in entry["models"]]
    counted = made.without_reasoning + made.unknown_hosts.total() + len(made.unknown_models)
    assert counted + len(made.rows) <= len(names)
    assert set(made.unknown_hosts) <= {"some-new-host", "302ai"}
    assert {what.split()[0] for what in made.not_understood} <= {"budget", "max_output", "context"}
    for row in made.rows:
        assert row == ModelRow.from_row({name: getattr(row, name) for name in row.__struct_fields__ if getattr(row, name) is not None})  # fmt: skip
        known = known_row(row.hosts[0], row.match[0])
        assert all(getattr(row, column) == getattr(known, column) for column in ROWS)
        assert list(row.efforts) == [word for word in EFFORTS if word in row.efforts]
        assert not row.budget or 0 <= row.budget[0] <= row.budget[1]
        assert row.default in ("on", "none", known.default, *EFFORTS)


@pytest.mark.parametrize("made", [
    first(reasoning_options=[{"type": "toggle"}, {"type": "effort", "values": ["none", "low", None, "max"], "default": "low"}], interleaved={"field": "reasoning_content"}),
    second(toggle=True, effort=["none", "low", "default", "max"], default={"type": "effort", "value": "low"}, api={"chat-completions": {"base_url": "", "path": "", "compatibility": {"reasoning_field": "reasoning_content"}}}),
    {"providers": first(reasoning_options=[{"type": "effort", "values": ["max", "none", "low"], "default": "low"}], interleaved={"field": "reasoning_content"}), "models": {}},
])  # fmt: skip
def test_what_is_taken(made):
    row = row_of(made)

    assert (("deepseek-v9",), ("deepseek",), False) == (row.match, row.hosts, row.guess)
    assert (("low", "max"), "low", "value") == (row.efforts, row.default, row.off)
    assert (64_000, 500_000) == (row.max_output, row.context)
    assert "reasoning_content" == row.replay_field
    assert row.source.startswith("a list, 2026-11-16")
    assert "guess" in row.source


@pytest.mark.parametrize(
    ("options", "off", "default"),
    [
        ([{"type": "toggle", "default": False}], "value", "none"),
        ([{"type": "toggle", "default": True}], "value", "on"),
        ([{"type": "effort", "values": ["low", "high"]}], "never", None),
        ([{"type": "effort", "values": ["none", "high"], "default": "none"}], "value", "none"),
        ([{"type": "budget_tokens", "min": 0, "max": 9000}], "value", None),
        ([{"type": "budget_tokens", "min": 1024, "max": 9000}], "never", None),
        ([], None, None),
    ],
)
def test_off(options, off, default):
    known = known_row("deepseek", "deepseek-v9")
    row = row_of(first(reasoning_options=options))

    assert (off or known.off) == row.off
    assert (default or known.default) == row.default


@pytest.mark.parametrize("model", ["claude-sonnet-5-5", "claude-opus-5"])
def test_a_list_does_not_know_better_than_a_row_how_off_is_said(model):
    """between_tools and the highest effort beside off are in no list."""
    known = known_row("anthropic", model)
    row = row_of(first("anthropic", model, reasoning_options=[{"type": "effort", "values": ["low", "max"]}, {"type": "toggle"}]))  # fmt: skip

    assert (known.off, known.off_up_to) == (row.off, row.off_up_to)


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ({"min": 1024, "max": 30_000}, (1024, 30_000)),
        ({"min": -1, "max": 30_000}, (0, 30_000)),
        ({"min": 1024.0}, (1024, 64_000)),
        ({"max": 30_000}, (0, 30_000)),
        ({}, (0, 64_000)),
        ({"min": 5, "max": 1}, None),
        ({"min": 0.5, "max": 10}, (0, 10)),
    ],
)
def test_budgets(bounds, expected):
    row = row_of(first(reasoning_options=[{"type": "budget_tokens", **bounds}]))

    assert expected == row.budget


def test_bounds_in_the_wrong_order_are_counted():
    made = refreshed(first(reasoning_options=[{"type": "budget_tokens", "min": 5, "max": 1}]), "x")

    assert {"budget [5, 1]": 1} == made.not_understood


def test_what_is_not_taken_is_counted():
    file = {
        **first(),
        **first("some-new-host", "a"),
        **first("another-host", "b"),
        "openai": {"models": {"gpt-5.6": {**FIRST, "reasoning": False}}},
    }
    file["deepseek"]["models"]["deepseek-v10"] = {
        **FIRST,
        "reasoning_options": [{"type": "effort", "values": ["low", "ultra"]}, {"type": "slider"}],
    }
    made = refreshed(file, "x")

    assert {"some-new-host": 1, "another-host": 1} == made.unknown_hosts
    assert 1 == made.without_reasoning
    assert {"effort 'ultra'": 1, "reasoning option 'slider'": 1} == made.not_understood
    assert ["deepseek-v9", "deepseek-v10"] == [row.match[0] for row in made.rows]
    assert 2 == made.taken["context"]


def test_one_row_where_two_providers_are_one_host():
    file = {**first("zai", "glm-9"), **first("zhipuai", "glm-9")}

    assert [("zai",)] == [row.hosts for row in refreshed(file, "x").rows]


# ---- hostile files ---------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
MEMBERS = st.sampled_from(["reasoning_options", "limit", "interleaved", "capabilities", "api", "reasoning", "values", "type"])  # fmt: skip


@given(
    members=st.dictionaries(MEMBERS, JSON, max_size=4), name=st.text(max_size=20), option=JSON
)  # fmt: skip
def test_wrong_types_anywhere(members, name, option):
    """No crash, and rows that are whole."""
    model = {"reasoning": True, "reasoning_options": [option, {"type": "effort", "values": option}, {"type": "budget_tokens", "min": option, "max": option}], **members}  # fmt: skip
    made = refreshed({"deepseek": {"models": {name: model, "deepseek-v9": model}}}, "x")

    for row in made.rows:
        assert "*" not in row.match[0]
        ModelRow.from_row({each: getattr(row, each) for each in row.__struct_fields__ if getattr(row, each) is not None})  # fmt: skip


@given(data=JSON)
def test_other_files(data):
    """An error that says what was expected, or no rows."""
    rows, message = [], "api.json"
    try:
        rows = refreshed(data, "x").rows
    except iv.DecodeError as error:
        message = str(error)

    assert [] == rows
    assert "api.json" in message


@pytest.mark.parametrize("name", ["*", "deepseek-*", "", "a" * 201, "x\n\x1b[31m", "x/", "deepseek-v4+cut=1"])  # fmt: skip
def test_names_that_would_fit_other_models(name):
    """A name becomes a pattern: it must fit no other model."""
    made = refreshed({"deepseek": {"models": {name: FIRST, "deepseek-v9": FIRST}}}, "x")

    assert [("deepseek-v9",)] == [row.match for row in made.rows]
    assert {"a model's name": 1} == made.not_understood


@pytest.mark.parametrize("number", [10**30, -2, 1.5, float("inf"), True, "64000", [], {}])
def test_numbers_that_are_none(number):
    known = known_row("deepseek", "deepseek-v9")
    row = row_of({"deepseek": {"models": {"deepseek-v9": {**FIRST, "limit": {"context": number, "output": number}}}}})  # fmt: skip

    assert (known.max_output, known.context) == (row.max_output, row.context)


def test_a_list_of_models_alone():
    """models.json names no providers."""
    with pytest.raises(iv.DecodeError, match=r"catalog\.json"):
        refreshed({"openai/gpt-5": {"name": "GPT-5", "reasoning": True}}, "x")
