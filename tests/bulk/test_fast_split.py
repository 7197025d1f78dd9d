"""The way without a splitter gives what the splitter gives: answer, reasoning, status and notes."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from bulk.texts import FINISHES, MARKUP, PIECES, drawn
from inline.cases import CASES
from innervoice.bulk.fast_split import TextSplitter, scan
from innervoice.errors import UsageError
from innervoice.inline.formats import ROWS
from innervoice.inline.vocabulary import Vocabulary, vocabulary

VECTORS = Path(__file__).parents[2] / "vectors" / "inline.json"
SPLITTERS = {markup: TextSplitter(markup=markup) for markup in MARKUP}


def of_splitter(text, markup, finish):
    response = iv.split(text, markup=markup, finish_reason=finish)
    notes = tuple(note.code for note in response.notes)
    return response.text, response.thinking, response.status, notes


def strings_in(value):
    if isinstance(value, str):
        yield value
    for inner in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from strings_in(inner)


CORPUS = sorted(
    {*strings_in(json.loads(VECTORS.read_text("utf-8"))), *(case.text for case in CASES)}
)


@pytest.mark.parametrize("markup", MARKUP, ids=str)
def test_every_corpus_text_is_split_as_by_the_splitter(markup):
    assert len(CORPUS) > 100
    for text in CORPUS:
        for finish in (None, "length"):
            assert of_splitter(text, markup, finish) == SPLITTERS[markup].split(text, finish)[:4], (
                text
            )


@pytest.mark.parametrize("finish", [None, "stop", "length"])
@pytest.mark.parametrize("text", ["Four.<|", "Four.<|retu", "<think>a</think>Four.<|retu", "Four."])
def test_a_token_that_the_limit_cut_off_is_no_answer(text, finish):
    """A text may end in the middle of a token; only the splitter knows which tokens it may be. Its first two characters alone may be text."""
    markup = ("harmony",)
    split = TextSplitter(markup=markup).split(text, finish)

    assert of_splitter(text, markup, finish) == split[:4]
    assert ("Four." == split.answer) is (finish == "length" or text != "Four.<|")


@pytest.mark.parametrize("seed", range(8))
def test_drawn_texts_are_split_as_by_the_splitter(seed):
    """A few thousand here, a million by `bench/bulk --agree`."""
    generator = random.Random(seed)
    for _ in range(2_500):
        text, markup, finish = (
            drawn(generator),
            generator.choice(MARKUP),
            generator.choice(FINISHES),
        )

        assert of_splitter(text, markup, finish) == SPLITTERS[markup].split(text, finish)[:4], text


@settings(deadline=None)  # the machine may be busy
@given(
    st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=12).map("".join),
    st.sampled_from(MARKUP),
    st.sampled_from(FINISHES),
)
def test_any_text_is_split_as_by_the_splitter(text, markup, finish):
    assert of_splitter(text, markup, finish) == SPLITTERS[markup].split(text, finish)[:4]


@settings(deadline=None)  # the machine may be busy
@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join), st.sampled_from(MARKUP))
def test_both_ways_name_the_same_markup(text, markup):
    splitter = SPLITTERS[markup]

    assert splitter.columns_of(splitter.response(text)) == splitter.split(text)


USUAL = {
    "plain": "Nothing to see here, but a < b and `code`.",
    "tagged": "<think>\nFirst.\n</think>\n\nThe answer.",
    "orphan": "First I look at the question, then `at` it again.\n</think>\n\nThe answer.",
    "truncated": "<think>\nFirst I look at",
    "mention": "<think>a</think>Write `<think>` or\n```\n<think></think>\n```\nat the start.",
    "multi": "<think>a</think>one<think>b</think>two",
    "channels": "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b<|return|>",
    "token": "<|begin_of_thought|>a<|end_of_thought|>\n<|begin_of_solution|>b<|end_of_solution|>",
}


@pytest.mark.parametrize("kind", USUAL)
def test_usual_texts_need_no_splitter(kind):
    """Else the bars of `bench/bulk` cannot hold."""
    markup = {"token": ("openthinker",), "channels": ("harmony",)}.get(kind, ())

    assert scan(USUAL[kind], vocabulary(rows=markup), None) is not None


def test_a_text_of_many_markers_is_left_to_the_splitter_soon(monkeypatch):
    """Seen failing: the time grew with the square of their number."""
    found, find = [], Vocabulary.find
    monkeypatch.setattr(Vocabulary, "find", lambda *place: found.append(place) or find(*place))
    text = "<|channel|>analysis<|message|>" + "<|end|>" * 1000

    assert scan(text, vocabulary(rows=("harmony",)), None) is None
    assert len(found) < 20


@pytest.mark.parametrize(
    "hints", [{"model": "qwq-32b"}, {"prefix_open": True}, {"model": "nobody-knows"}], ids=str
)
def test_hints_about_the_model_are_those_of_split(hints):
    for text in USUAL.values():
        response = iv.split(text, **hints)
        notes = tuple(note.code for note in response.notes)

        assert (response.text, response.thinking, response.status, notes) == TextSplitter(
            **hints
        ).split(text)[:4]


def test_wrong_hints_fail_before_the_first_row():
    with pytest.raises(UsageError, match="markup must be one of"):
        TextSplitter(markup=["nonsense"])


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.opens and row.closes])
def test_reasoning_in_any_format_says_which_format_it_is(name):
    row = ROWS[name]
    found = TextSplitter(markup=[name]).split(f"{row.opens[0]}hm{row.closes[0]}yes")

    assert ("hm", "yes", name) == (found.reasoning, found.answer, found.markup)
