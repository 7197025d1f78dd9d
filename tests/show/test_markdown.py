"""Markdown: collapsed reasoning, with nothing in it that could break out."""

import pytest
from hypothesis import given, settings

import innervoice as iv
from innervoice.show import render
from innervoice.show.visible import visible
from show.hostile import hostile

markdown_it = pytest.importorskip("markdown_it")

COMMONMARK = markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"])


def response(thinking, answer="ANSWER", **fields):
    return iv.Response(parts=(iv.Thinking(thinking), iv.Text(answer)), ended=True, **fields)


def html_in(tokens):
    for token in tokens:
        if token.type.startswith("html"):
            yield token.content
        yield from html_in(token.children or [])


def text_of(tokens):
    """The text that a reader sees."""
    for token in tokens:
        if token.type in {"text", "code_inline", "html_inline", "text_special"}:
            yield token.content
        elif token.type in {"softbreak", "hardbreak", "paragraph_close"}:
            yield "\n"
        yield from text_of(token.children or [])


def test_full():
    value = response("15 * 23\n  = 345\n\n1. </details>", "It is **345**.")

    assert render(value, "markdown") == (
        "<details>\n"
        "<summary>Thinking (30 characters)</summary>\n"
        "\n"
        "> 15 \\* 23  \n"
        "> &nbsp;&nbsp;\\= 345\n"
        ">\n"
        "> 1\\. &lt;/details&gt;\n"
        "\n"
        "</details>\n"
        "\n"
        "It is **345**."
    )


def test_length_and_none():
    assert render(response("abc"), "markdown", "length") == "*Thinking (3 characters)*\n\nANSWER"
    assert render(response("abc"), "markdown", "none") == "ANSWER"


def test_a_history():
    history = [
        iv.user("15 * 23?"),
        iv.Message("assistant", (iv.ToolCall("1", "mul", "`{}`"),)),
        iv.tool_result("1", "345"),
    ]

    assert render(history, "markdown") == (
        "**user**\n\n15 * 23?\n\n"
        "**assistant**\n\n`` call mul(`{}`) ``\n\n"
        "**tool**\n\n`result of mul: 345`"
    )


def test_html_of_the_answer_is_text_unless_it_is_wanted():
    value = response("x", "a <b>b</b>")

    assert render(value, "markdown", "none") == "a &lt;b>b&lt;/b>"
    assert render(value, "markdown", "none", html=True) == "a <b>b</b>"


def test_nobody_is_notified_by_reasoning():
    assert "@joe" not in render(response("ask @joe and @org/team"), "markdown")


@settings(deadline=None)
@given(hostile)
def test_reasoning_stays_in_the_quote_in_the_element(thinking):
    tokens = COMMONMARK.parse(render(response(f"!{thinking}!"), "markdown"))
    opened = [token.type for token in tokens].index("blockquote_open")
    closed = [token.type for token in tokens].index("blockquote_close")

    assert ["html_block"] == [token.type for token in tokens[:opened]]
    after = [token.type for token in tokens[closed + 1 :]]
    assert ["html_block", "paragraph_open", "inline", "paragraph_close"] == after
    assert "</details>\n" == tokens[closed + 1].content
    assert "ANSWER" == tokens[-2].content
    assert 2 == len(list(html_in(tokens)))
    seen = "".join(text_of(tokens[opened:closed])).replace("@\u200b", "@")
    assert visible(f"!{thinking}!").replace("@\u200b", "@").split() == seen.split()


@settings(deadline=None)
@given(hostile)
def test_a_reader_without_html_is_not_fooled_either(thinking):
    plain = markdown_it.MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = plain.parse(render(response(f"!{thinking}!"), "markdown"))

    kinds = {token.type for token in tokens}
    assert kinds == {
        "paragraph_open",
        "inline",
        "paragraph_close",
        "blockquote_open",
        "blockquote_close",
    }
    assert "ANSWER" == tokens[-2].content


@settings(deadline=None)
@given(hostile)
def test_no_line_of_reasoning_begins_outside_of_the_quote(thinking):
    lines = render(response(f"!{thinking}!"), "markdown").split("\n")

    assert ["<details>", "", "", "</details>", "", "ANSWER"] == [lines[0], lines[2], *lines[-4:]]
    assert all(line.startswith(">") and "<" not in line for line in lines[3:-4])


@settings(deadline=None)
@given(hostile, hostile, hostile)
def test_neither_answers_nor_calls_swallow_what_stands_behind_them(answer, name, arguments):
    parts = (
        iv.Text(f"!{answer}"),
        iv.ToolCall("1", name, arguments),
        iv.Thinking("THOUGHT"),
        iv.Text("END"),
    )
    tokens = COMMONMARK.parse(render(iv.Response(parts=parts, ended=True), "markdown"))

    ours = [token.type for token in tokens[-10:]]
    assert ours == [
        "html_block",
        "blockquote_open",
        "paragraph_open",
        "inline",
        "paragraph_close",
        "blockquote_close",
        "html_block",
        "paragraph_open",
        "inline",
        "paragraph_close",
    ]
    assert "THOUGHT" == tokens[-7].content
    assert all(token.level == 0 for token in tokens[-4:-2])
    foreign = [html for html in html_in(tokens[:-10]) if not html.lower().startswith("<br")]
    assert not foreign
