"""HTML: our elements and the model's text, never the model's elements."""

import pytest
from hypothesis import given

import innervoice as iv
from innervoice.show import render
from innervoice.show.visible import visible
from show.hostile import hostile
from show.reader import Reader


def response(thinking, answer="ANSWER", **fields):
    return iv.Response(parts=(iv.Thinking(thinking), iv.Text(answer)), ended=True, **fields)


def test_reasoning_is_folded_before_the_answer():
    page = Reader(render(response("15 * 23 = 345", "It is <b>345</b>."), "html"))

    assert ["div", "details", "summary", "div", "div"] == page.elements
    assert "Thinking (13 characters)" == page.texts["div/details/summary"]
    assert "15 * 23 = 345" == page.texts["div/details/div"]
    assert "It is <b>345</b>." == page.texts["div/div"]


def test_unfolded():
    assert "<details" in render(response("x"), "html")
    assert " open>" not in render(response("x"), "html")
    assert " open>" in render(response("x"), "html", unfolded=True)


def test_none_has_no_trace():
    page = render(response("x"), "html", "none")

    assert "Think" not in page
    assert "details" not in page


@pytest.mark.parametrize("show", ["full", "summary", "length"])
def test_hidden_reasoning_is_a_line(show):
    value = iv.Response(parts=(iv.Thinking("", "hidden"), iv.Text("a")), ended=True)
    page = Reader(render(value, "html", show))

    assert "details" not in page.elements
    assert page.texts["div/div"].startswith("Hidden reasoning")


@given(hostile, hostile)
def test_text_stays_text(thinking, answer):
    parts = (
        iv.Thinking(f"!{thinking}!"),
        iv.Text(f"!{answer}!"),
        iv.ToolCall("1", answer, thinking),
        iv.Media(answer),
    )
    page = Reader(render(iv.Response(parts=parts, ended=True), "html"))

    assert not page.open
    assert not page.other
    assert [
        "div",
        "details",
        "summary",
        "div",
        "div",
        "div",
        "code",
        "div",
        "code",
    ] == page.elements
    assert page.attributes == {"class", "style", "dir"}
    assert visible(f"!{thinking}!") == page.texts["div/details/div"]
    assert visible(f"!{answer}!") == page.texts["div/div"]


def test_nothing_is_loaded_from_elsewhere():
    page = render(response('<img src="http://evil.example/x.png">'), "html")

    assert not {"src", "href", "link", "script", "img"} & set(Reader(page).elements)
    assert "url(" not in page
