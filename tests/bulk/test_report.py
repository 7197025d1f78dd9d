"""The report counts what is there, on a page that needs nothing else and runs nothing."""

import json
import re
from functools import reduce
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bulk.batches import row, rows, sliced
from innervoice.bulk.maps import steps_named
from innervoice.bulk.report.page import render_lines, render_page
from innervoice.bulk.report.tallies import Histogram, Tallies

HOSTILE = '</pre><script>alert(1)</script><img src=x onerror="alert(1)">\x1b]0;owned\x07\u202egnp'
STEPS = steps_named(["stats", "loops", "language", "leak", "secrets"])


def tallied(*batches, steps=STEPS):
    tallies = Tallies()
    for batch in batches:
        tallies.add(reduce(lambda rows, step: step.run(rows), steps, batch))
    return tallies


class Page(HTMLParser):
    """The elements and attributes of a page, and whether every element ends."""

    VOID = frozenset({"meta", "rect", "line"})

    def __init__(self, page):
        super().__init__()
        self.elements, self.attributes, self.open = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert tag == self.open.pop()


def test_counts_are_on_the_page():
    batch = {name: values * 3 for name, values in row().items()}
    batch.update(
        status=["answered", "answered", "truncated"],
        notes=[["inline_thinking"], [], ["inline_thinking"]],
        markup=["think", None, "field"],
    )
    page = render_page(tallied(batch), "My data")

    assert "<title>My data</title>" in page
    assert "3 rows, 3 of them (100.0%) with reasoning." in page
    for said in (
        "2 (66.7%)",
        "truncated",
        "inline_thinking",
        "Reasoning inside the text, marked by tags",
    ):
        assert said in page


def test_the_page_runs_and_loads_nothing():
    hostile = {
        name: [HOSTILE]
        if name in ("id", "answer", "reasoning", "status", "markup", "model")
        else values
        for name, values in row().items()
    }
    hostile["notes"] = [[HOSTILE]]
    page = Page(render_page(tallied(hostile), HOSTILE))

    assert [] == page.open
    assert not {"script", "img", "link", "iframe", "object", "a", "form", "base"} & {*page.elements}
    assert not [
        name
        for name, _ in page.attributes
        if name in ("src", "href", "srcset", "style") or name.startswith("on")
    ]
    contents = [value for name, value in page.attributes if name == "content"]
    assert any("default-src 'none'" in content for content in contents)


def test_control_characters_are_shown_not_sent():
    tallies = tallied(row(answer=HOSTILE, reasoning=HOSTILE, status=HOSTILE))

    for text in (render_page(tallies, HOSTILE), render_lines(tallies)):
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_keys_are_not_in_examples():
    key = "sk-ant-api03-abcdefghijkl0123456789"

    assert key not in render_page(tallied(row(answer=f"It is {key}.", reasoning=key)))


def test_examples_are_of_each_status_and_note():
    one, other = row(id="first", notes=["rethought"]), row(id="second", status="empty")
    examples = tallied(one, other, one, one).examples

    assert {
        "answered": ["first", "first"],
        "rethought": ["first", "first"],
        "empty": ["second"],
    } == {reason: [example.id for example in held] for reason, held in examples.items()}


@pytest.mark.parametrize("share", [0.01, 0.5, 0.95, 1.0])
def test_percentiles_are_right_within_five_percent(share):
    numbers = [(n * 7919) % 50_000 for n in range(10_000)]
    histogram = Histogram()
    for number in numbers:
        histogram.add(number)
    exact = sorted(numbers)[max(round(share * len(numbers)) - 1, 0)]

    assert histogram.percentile(share) == pytest.approx(exact, rel=0.05)


@settings(deadline=None, max_examples=20)
@given(rows(), st.integers(1, 4))
def test_tallies_of_parts_add_up(batch, size):
    """Whatever the size of batches, and however tallies are put together, the report is the same."""
    whole = render_page(tallied(batch))
    parts = [sliced(batch, start, start + size) for start in range(0, len(batch["id"]), size)] or [
        batch
    ]
    taken = Tallies()
    for part in parts:
        taken.take(tallied(part))

    assert whole == render_page(tallied(*parts)) == render_page(taken)


@settings(deadline=None, max_examples=30)
@given(rows())
def test_any_rows_make_a_page_and_lines(batch):
    tallies = tallied(batch)

    assert [] == Page(render_page(tallies)).open
    assert re.match(r"\d+ rows, \d+ with reasoning\n", render_lines(tallies))


def test_memory_does_not_grow_with_rows_that_differ():
    tallies = Tallies()
    for n in range(30):
        tallies.add(
            {name: values * 100 for name, values in row(answer="x" * n).items()}
            | {"model": [f"m{n}-{i}" for i in range(100)]}
        )

    assert len(tallies.words["model"]) <= 1_001
    assert 3000 == tallies.words["model"].total()


def test_lines_for_a_terminal():
    lines = render_lines(
        tallied(row(status="truncated", usage={"input": 1, "output": 9, "reasoning": 4}))
    )

    assert "1 rows, 1 with reasoning" in lines
    assert re.search(r"truncated +1 +100.0%", lines)
    assert "Tokens of reasoning" in lines


def test_the_share_of_thought_keeps_estimates_apart():
    """Counted: 30 of 40 tokens. Split: 50 tokens, by texts of 400 and 100 bytes. A summary counts nothing."""
    origin = json.dumps(
        {"provider": "anthropic", "model": "claude-opus-4-6", "dialect": "anthropic"}
    )
    summary = [{"type": "thinking", "text": "x" * 400, "state": "complete", "origin": origin}]
    uncounted = {
        "reasoning": "x" * 400,
        "answer": "y" * 100,
        "usage": {"input": 1, "output": 100, "reasoning": None},
    }
    tallies = tallied(
        row(usage={"input": 1, "output": 40, "reasoning": 30}),
        row(**uncounted),
        row(**uncounted, parts=summary),
    )  # fmt: skip

    lines = render_lines(tallies)
    assert "75% of 40 tokens, as providers counted, in 1 row" in lines
    assert "~76% of ~100 tokens, estimated, in 1 row" in lines
    page = render_page(tallies, "My data")
    assert "~76% of ~100 tokens, estimated, in 1 row; 75% of 40 tokens" in page


def test_shares_of_parts_add_up():
    batch = row(usage={"input": 1, "output": 40, "reasoning": 30})
    one, whole = tallied(batch), tallied(batch, batch)
    one.take(tallied(batch))

    assert whole.token_lines() == one.token_lines()
    assert ["75% of 80 tokens, as providers counted, in 2 rows"] == one.token_lines()
