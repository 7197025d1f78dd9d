"""Rows are kept by an expression, and nothing but the expression is run."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bulk.batches import rows
from innervoice.bulk.filtering import parse_filter
from innervoice.errors import UsageError

BATCH = {
    "status": ["answered", "empty", None],
    "n": [1, 2, None],
    "share": [0.5, 0.25, None],
    "notes": [[], ["rethought"], None],
    "answer": ["Yes, " * 20, "NO", ""],
    "done": [True, False, None],
}


@pytest.mark.parametrize(
    ("expression", "kept"),
    [
        ('status == "answered"', [0]),
        ('status != "answered"', [1, 2]),
        ("n < 2", [0]),
        ("n >= 2 or n is None", [1, 2]),
        ("n == None", [2]),
        ("n is not None", [0, 1]),
        ("1 < n <= 2", [1]),
        ("n * 2 + 1 > 3", [1]),
        ("-n < -1", [1]),
        ("n / share == 8", [1]),
        ("n // 2 == 1", [1]),
        ("n % 2 == 1", [0]),
        ("n / 0 == 1", []),
        ('"rethought" in notes', [1]),
        ('"rethought" not in notes', [0, 2]),
        ('status in ("answered", "truncated")', [0]),
        ("status in ['empty', None]", [1, 2]),
        ('"es" in answer', [0]),
        ("len(answer) > 2", [0]),
        ("len(notes) == 0", [0]),
        ('lower(answer) == "no"', [1]),
        ("done", [0]),
        ("not done", [1, 2]),
        ("not (done or n == 2)", [2]),
        ('done and n == 1 and status == "answered"', [0]),
        ("True", [0, 1, 2]),
        ("share > 0.3", [0]),
        ("n > share", [0, 1]),
        ("n in {1, 5}", [0]),
    ],
)
def test_rows_that_are_kept(expression, kept):
    reasons = parse_filter(expression, BATCH).reasons(BATCH)

    assert kept == [index for index, reason in enumerate(reasons) if reason is None]


def test_rejected_rows_say_which_condition_did_not_hold():
    kept, rejected = parse_filter('done and n < 1 and status == "x"').sorted(BATCH)

    assert [] == kept["n"]
    assert [
        "not n < 1: n = 1",
        "not done: done = false",
        "not done: done = null",
    ] == rejected["rejected"]
    assert [1, 2, None] == rejected["n"]


def test_reasons_quote_no_texts():
    """A text is long, and parts may hold a seal."""
    batch = {"answer": ["secret words"], "parts": [[{"type": "thinking", "origin": "seal"}]]}
    reasons = parse_filter('answer == "x" or len(parts) > 4').reasons(batch)

    assert "secret" not in reasons[0]
    assert "seal" not in reasons[0]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("__import__('os').system('true')", "a filter has names of columns"),
        ("answer.lower()", "a filter has names of columns"),
        ("answer[0] == 'Y'", "a filter has names of columns"),
        ("lambda: 1", "a filter has names of columns"),
        ("[x for x in notes]", "a filter has names of columns"),
        ("f'{n}'", "a filter has names of columns"),
        ("1 if n else 2", "a filter has names of columns"),
        ("n ** 99 > 1", "a filter has names of columns"),
        ("n << 99 > 1", "a filter has names of columns"),
        ("~n", "a filter has names of columns"),
        ("1j == n", "a filter has names of columns"),
        ("b'' == answer", "a filter has names of columns"),
        ("len(answer, 2)", "a filter has names of columns"),
        ("len(obj=answer)", "a filter has names of columns"),
        ("print(n)", "a filter has names of columns"),
        ("(n := 3)", "a filter has names of columns"),
        ("*n", "not an expression"),
        ("n <", "not an expression"),
        ("import os", "not an expression"),
        ("", "not an expression"),
        ("(" * 500, "not an expression|cannot be read"),
        ("not " * 2000 + "n", "cannot be read"),
        ("n\0", "not an expression|cannot be read"),
        ("n" * 20_000, "at most 10,000 characters"),
        ("n is 3", "takes None"),
        ("stauts == 1", "did you mean 'status'"),
        ("nothing_like_it == 1", "there are: status, n"),
        ("len == 1", "'len'"),
    ],
)
def test_what_is_no_filter_is_refused(expression, message):
    with pytest.raises(UsageError, match=message):
        parse_filter(expression, BATCH)


@pytest.mark.parametrize(
    "expression",
    [
        "n < 'a'",
        "status + 1 == 2",
        "'a' * 9 == status",
        "len(n) == 1",
        "lower(n) == 'a'",
        "3 in status",
        "n in share",
        "notes < 3",
    ],
)
def test_wrong_types_are_said(expression):
    with pytest.raises(UsageError, match=r"not a |cannot compare"):
        parse_filter(expression, BATCH).reasons(BATCH)


@settings(deadline=None)
@given(
    rows(),
    st.sampled_from(["len(answer) > 5", "reasoning != None", '"rethought" in notes', "not finish"]),
)
def test_no_row_is_lost(batch, expression):
    kept, rejected = parse_filter(expression).sorted(batch)

    assert sorted(batch["id"]) == sorted(kept["id"] + rejected["id"])
    assert {*batch, "rejected"} == {*rejected}
    assert all(rejected["rejected"])


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_a_filter_or_an_error_of_ours(text):
    with contextlib.suppress(UsageError):
        assert len(parse_filter(text, BATCH).reasons(BATCH)) == 3
