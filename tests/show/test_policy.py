"""How much of a response each policy shows."""

import pytest

import innervoice as iv
from innervoice.show import view_of
from innervoice.show.policy import Answer, Block, Remark, Result, ShownCall, ShownTurn, Thought

OPENING = "I need to multiply fifteen by twenty-three."
LONG = f"{OPENING} So 15 * 20 = 300.\nThen 15 * 3 = 45."


def response(*parts, **fields):
    return iv.Response(parts=parts, ended=True, finish_reason="stop", **fields)


def items(value, show="full"):
    (turn,) = view_of(value, show)
    return list(turn.items)


def test_full_shows_all_reasoning_then_the_answer():
    shown = items(response(iv.Thinking(LONG), iv.Text("345")))

    assert [Thought(text=LONG, characters=len(LONG)), Answer("345")] == shown


def test_summary_shows_the_opening_of_full_reasoning_and_its_length():
    thought, answer = items(response(iv.Thinking(LONG), iv.Text("345")), "summary")

    assert f"{OPENING} …" == thought.text
    assert f"Thinking ({len(LONG)} characters)" == thought.title
    assert Answer("345") == answer


@pytest.mark.parametrize(
    ("text", "opening"),
    [
        ("Short.", "Short."),
        ("First line\nsecond", "First line …"),
        ("1. Look at e.g. the first number. Then the other.", "1. Look at e.g. the first number. …"),
        ("\n\n  So it goes on.  \n", "So it goes on."),
        ("これは長い文章の最初の文であり、二十文字より長い。次の文。", "これは長い文章の最初の文であり、二十文字より長い。 …"),
    ],
)  # fmt: skip
def test_the_opening_is_a_sentence_or_a_line(text, opening):
    assert opening == items(response(iv.Thinking(text), iv.Text("x")), "summary")[0].text


def test_the_opening_of_endless_words_is_cut():
    text = items(response(iv.Thinking("word " * 1000), iv.Text("x")), "summary")[0].text

    assert len(text) < 170
    assert text.endswith("word …")


def test_summary_shows_a_provider_summary_in_full():
    thought = items(response(iv.Thinking(LONG, "summary"), iv.Text("345")), "summary")[0]

    assert LONG == thought.text
    assert f"Thinking (summary, {len(LONG)} characters)" == thought.title


def test_length_shows_how_much_it_was_and_no_text():
    usage = iv.Usage(reasoning_tokens=1412)
    thought = items(response(iv.Thinking("x" * 1203), iv.Text("345"), usage=usage), "length")[0]

    assert "" == thought.text
    assert "Thinking (1,203 characters, 1,412 tokens)" == thought.title


def test_none_shows_nothing_about_reasoning():
    value = response(
        iv.Thinking(LONG),
        iv.Thinking("", "hidden"),
        iv.Text("345"),
        usage=iv.Usage(reasoning_tokens=9),
    )

    assert [Answer("345")] == items(value, "none")


@pytest.mark.parametrize("show", ["full", "summary", "length"])
def test_hidden_reasoning_is_one_line_and_counted(show):
    hidden = iv.Thinking("", "hidden")

    assert "Hidden reasoning" == items(response(hidden, iv.Text("345")), show)[0].title
    assert (
        "Hidden reasoning (2 blocks)"
        == items(response(hidden, hidden, iv.Text("345")), show)[0].title
    )


def test_reasoning_that_is_only_counted_is_hidden_reasoning():
    value = response(iv.Text("345"), usage=iv.Usage(reasoning_tokens=412))

    assert "Hidden reasoning (412 tokens)" == items(value, "length")[0].title


def test_no_tokens_no_reasoning():
    assert [Answer("345")] == items(response(iv.Text("345"), usage=iv.Usage(reasoning_tokens=0)))


def test_tokens_are_told_once_and_not_as_those_of_one_thought():
    value = response(
        iv.Thinking("one"),
        iv.ToolCall("c1", "f"),
        iv.Thinking("two"),
        iv.Text("345"),
        usage=iv.Usage(reasoning_tokens=7),
    )

    titles = [item.title for item in items(value) if isinstance(item, Thought)]

    assert ["Thinking (3 characters, 7 tokens in all)", "Thinking (3 characters)"] == titles


def test_neighbours_are_one_thought_with_a_blank_line_between():
    value = response(iv.Thinking("a", "summary"), iv.Thinking("b", "summary"), iv.Text("c"))

    assert "a\n\nb" == items(value)[0].text


def test_the_order_of_reasoning_calls_and_text_is_kept():
    value = response(
        iv.Thinking("t1"),
        iv.Text("a1"),
        iv.ToolCall("c1", "add", "{}"),
        iv.Thinking("t2"),
        iv.Media("image/png"),
        iv.Text("a2"),
    )

    assert [Thought, Answer, ShownCall, Thought, Block, Answer] == [
        type(item) for item in items(value)
    ]


@pytest.mark.parametrize(
    "text", ["one<think>x</think>two", "<think>a</think>\n\n  b\n", "a <think>b</think> c\n"]
)
def test_under_none_the_answer_is_that_of_the_response(text):
    split = iv.split(text)

    assert [Answer(split.text)] == items(split, "none")


def test_an_answer_around_inline_reasoning_is_trimmed_where_that_was():
    shown = items(iv.split("<think>a</think>\n\nIt is 345."))

    assert [Thought(text="a", characters=1), Answer("It is 345.")] == shown


def test_blank_reasoning_leaves_no_trace():
    value = response(iv.Text("a"), iv.Thinking(" \n"), iv.Text("b"))

    assert [Answer(value.text)] == items(value)


def test_reasoning_of_an_unexpected_shape_is_hidden_reasoning():
    odd = iv.Opaque({"reasoning_content": {"deep": "SECRET"}})

    assert [Thought(hidden_blocks=1), Answer("345")] == items(response(odd, iv.Text("345")))
    assert [Answer("345")] == items(response(odd, iv.Text("345")), "none")


def test_unfinished_reasoning_says_so_and_why_there_is_no_answer():
    value = iv.Response(
        parts=(iv.Thinking("so far", complete=False),), ended=True, finish_reason="length"
    )

    thought, remark = items(value)

    assert "Thinking (6 characters, unfinished)" == thought.title
    assert Remark("no answer: the token limit was reached while thinking") == remark
    assert [Remark("no answer: the token limit was reached")] == items(value, "none")


def test_an_error_is_told_beside_what_came():
    value = iv.Response(parts=(iv.Text("half"),), error=iv.Failure(message="overloaded"))

    assert [Answer("half"), Remark("interrupted: overloaded")] == items(value)


def test_a_history_has_roles_and_results_know_their_calls():
    history = [
        iv.user("15 * 23?"),
        iv.Message("assistant", (iv.Thinking("hm"), iv.ToolCall("c1", "mul", "{}"))),
        iv.tool_result("c1", "345"),
        response(iv.Text("345")),
    ]

    asked, called, result, answered = view_of(history, "length")

    assert ShownTurn((Answer("15 * 23?"),), "user") == asked
    assert ShownCall(1, "mul", "{}") == called.items[1]
    assert ShownTurn((Result("345", call=ShownCall(1, "mul", "{}")),), "tool") == result
    assert "assistant" == answered.role


def test_a_result_of_parts_is_its_text_and_the_kinds_of_the_rest():
    message = iv.tool_result("c9", [iv.Text("see"), iv.Media("image/png"), {"type": "doc"}])

    assert [Result("see\n[image/png]\n[doc]")] == items(message)


@pytest.mark.parametrize("show", ["all", "", None])
def test_an_unknown_word_is_refused(show):
    with pytest.raises(iv.UsageError, match="full, summary, length, none"):
        view_of(response(), show)


@pytest.mark.parametrize("value", ["text", None, [iv.Text("x")]])
def test_what_cannot_be_shown_is_refused(value):
    with pytest.raises(iv.UsageError, match="expected a"):
        view_of(value)
