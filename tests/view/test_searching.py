"""Search over text, thinking, tools, notes, models and status."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from innervoice.canon.notes import Note
from innervoice.view.rows import rows_of, whole_text
from innervoice.view.searching import hits_in
from show.hostile import hostile
from view.samples import answered, conversation, hand_made, thinker


def found(made, query):
    return [(hit["n"], hit["where"], hit["hit"]) for hit in hits_in("c", made, query)]


def talk():
    gemini = answered(iv.Text("Short."), provider="gemini", model="gemini-3-pro", finish_reason="length", notes=(Note("retried", "busy"),))  # fmt: skip
    return conversation(*hand_made().turns, iv.user("Once more"), gemini)


@pytest.mark.parametrize(
    ("query", "hits"),
    [
        ("FIRST i", [(3, "thinking", "First")]),
        ('"first i look"', [(3, "thinking", "First I look")]),
        ('"i look first"', []),
        ("read_file", [(6, "tool", "read_file"), (8, "tool", "read_file"), (10, "tool", "read_file"), (11, "tool", "read_file")]),
        ("b.py", [(8, "tool", "b.py")]),
        ("no such file", [(10, "tool", "no")]),
        ("busy", [(17, "note", "busy")]),
        ("retried", [(17, "note", "retried")]),
        ("gemini", [(17, "model", "gemini")]),
        ("cut off", [(17, "status", "cut")]),
        ("in:thinking look", [(3, "thinking", "look"), (4, "thinking", "look")]),
        ("in:tools x", [(11, "tool", "x")]),
        ("in:text x", [(14, "text", "x")]),
        ("model:gemini status:truncated", [(17, "model", "gemini/gemini-3-pro")]),
        ("status:truncated", [(17, "status", "cut off at the token limit")]),
        ("status:truncated model:claude", []),
        ("model:gemini short", [(18, "text", "Short")]),
        ("role:user more", [(16, "text", "more")]),
        ("tool:read_file in:thinking file", [(7, "thinking", "file")]),
        ("tool:read_file role:user", [(9, "tool", "read_file, read_file")]),
        ("role:user", [(0, "status", "user"), (9, "status", "user"), (15, "status", "user")]),
        ("nowhere", []),
        ("", []),
        ("   ", []),
        ("in:thinking", []),
        ('"', []),
    ],
)  # fmt: skip
def test_what_a_query_finds(query, hits):
    assert hits == found(talk(), query)


def test_a_hit_is_shown_with_what_is_around_it_on_one_line():
    text = "start " + "a " * 100 + "\nneedle\tafter\n" + "b " * 200
    (hit,) = hits_in("id", conversation(answered(thinker(text))), "NEEDLE")

    assert ("id", "assistant: thinking", "needle") == (hit["id"], hit["title"], hit["hit"])
    assert hit["before"].startswith("…")
    assert hit["before"].endswith("a ")
    assert hit["after"].startswith(" after b")
    assert hit["after"].endswith("…")
    assert "\n" not in hit["before"] + hit["after"]
    assert len(hit["before"] + hit["after"]) < 200


def test_a_hit_behind_the_cut_of_a_row_is_found():
    made = conversation(answered(iv.Text("word " * 10_000 + "needle")))
    (hit,) = hits_in("c", made, "needle")

    assert "needle" not in rows_of(made)[1]["text"]
    assert "needle" in whole_text(made, hit["n"])


@settings(deadline=None)
@given(hostile, st.lists(hostile, min_size=1, max_size=4))
def test_any_query_is_survived_and_every_hit_holds_it(query, texts):
    made = conversation(*(answered(thinker(text), iv.Text(text)) for text in texts))
    for hit in hits_in("c", made, query):
        assert 0 <= hit["n"] < len(rows_of(made))
        "".join([hit["before"], hit["hit"], hit["after"], hit["title"]]).encode()


@settings(deadline=None)
@given(st.text("abİßı ", min_size=1, max_size=12), st.text("xyİ ", max_size=20))
def test_letters_that_grow_in_lower_case_are_found(word, around):
    made = conversation(answered(iv.Text(f"{around}{word}{around}")))
    shown = rows_of(made)[1]["text"]
    hits = found(made, f'in:text "{word}"')

    if word.strip() and word in shown:
        assert 1 == len(hits)


def test_a_long_session_is_searched_in_proportion():
    made = conversation(*(answered(thinker("aaaa " * 2000)) for _ in range(200)))
    started = time.process_time()

    assert [] == found(made, "a" * 400 + "b")
    assert time.process_time() - started < 2
