"""The fast search for the next marker finds what one expression for all markers finds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innervoice.inline.formats import DEFAULT_TAGS, ROWS
from innervoice.inline.vocabulary import vocabulary

PIECES = [
    *(f"{marker}" for row in ROWS.values() for marker in (*row.opens, *row.closes, *row.wrappers, *row.heads)),
    "<think>", "</think>", "<THINK >", "<a:think>", "<|channel|>analysis<|message|>", "to=x <|channel|>y<|message|>", "assistantfinal",
    "ASSISTANTCOMMENTARY to=a.b json{", "analysisWe", "commentary to=f{", "assistant final", "Here is my ", "to=", "<", "<|", "[", "◁", "thought\n",
    "x", " ", "\n", "words and words ", "z" * 300, "z" * 4090, "<x:" * 3, "<think " + "a" * 250 + ">",
]  # fmt: skip
CHOSEN = [(), *((name,) for name in ROWS), tuple(ROWS), ("mistral", "harmony"), ("granite", "muse")]


def all_found(find, text):
    """The spans and names of all markers, one after the other."""
    found, position = [], 0
    while match := find(text, position):
        found.append((match.span(), match.lastgroup))
        position = max(match.end(), position + 1)
    return found


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join), st.sampled_from(CHOSEN))
def test_the_fast_search_finds_the_same_markers(text, rows):
    words = vocabulary(DEFAULT_TAGS, rows)

    assert all_found(words.find, text) == all_found(words.search.search, text)


@pytest.mark.parametrize("shift", range(-20, 21))
def test_a_marker_across_the_end_of_a_window_is_found(shift):
    words = vocabulary(DEFAULT_TAGS, tuple(ROWS))
    for marker in ("[THINK]", "assistantfinal", "<|channel|>analysis<|message|>", "</think>"):
        text = "y" * (4096 + shift) + marker + "y" * 9000 + "</think>"

        assert all_found(words.find, text) == all_found(words.search.search, text)
        assert len(all_found(words.find, text)) == 2
