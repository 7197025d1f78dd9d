"""A stream in a pipe: append-only text without control characters."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

import innervoice as iv
from innervoice.show import Live
from innervoice.show.visible import visible
from show.hostile import hostile
from show.streams import RECAST, THOUGHT, Clock, finish, stream


def piped(events, seconds=0.0, **options):
    """The written text, and how much of it was written after each event."""
    clock, file = Clock(), io.StringIO()
    with Live(file=file, clock=clock, **options) as live:
        for event in events:
            live.feed(event)
            clock.now += seconds
    return file.getvalue()


def test_reasoning_is_quoted_then_told_in_a_line_then_the_answer():
    events = stream(iv.Thinking(THOUGHT), iv.Text("It is 345.\n"))

    assert piped(events, 0.5) == (
        "> 15 * 20 = 300\n> 15 * 3 = 45\n[thought for 2.5 s · 25 characters]\n\nIt is 345.\n"
    )


def test_it_is_written_while_it_comes():
    file = io.StringIO()
    live = Live(file=file)
    live.feed(iv.PartStart(0, "thinking"))
    live.feed(iv.ThinkingDelta(0, "15 *"))

    assert "> 15 *" == file.getvalue()

    live.feed(iv.ThinkingDelta(0, " 23"))

    assert "> 15 * 23" == file.getvalue()


def test_tokens_are_told_at_the_end_when_they_come_at_the_end():
    events = stream(iv.Thinking("hm"), iv.Text("345"), usage=iv.Usage(reasoning_tokens=412))

    assert piped(events).endswith("\n345\n\n[412 tokens of reasoning]\n")


def test_tokens_that_are_known_are_told_with_the_thought():
    events = [
        iv.UsageUpdate(iv.Usage(reasoning_tokens=1412)),
        *stream(iv.Thinking("hm"), iv.Text("345"), usage=iv.Usage(reasoning_tokens=1412)),
    ]

    assert piped(events) == "> hm\n[thought · 1,412 tokens · 2 characters]\n\n345\n"


@pytest.mark.parametrize(
    ("show", "shown"),
    [
        ("full", "> First I look at it.\n> Then I think.\n[thought · 33 characters]\n\nANSWER\n"),
        ("summary", "> First I look at it. …\n[thought · 33 characters]\n\nANSWER\n"),
        ("length", "[thought · 33 characters]\n\nANSWER\n"),
        ("none", "ANSWER\n"),
    ],
)
def test_the_policy_is_obeyed(show, shown):
    events = stream(iv.Thinking("First I look at it.\nThen I think."), iv.Text("ANSWER"))

    assert shown == piped(events, show=show)


@pytest.mark.parametrize("show", ["full", "summary", "length"])
def test_hidden_reasoning_is_a_line(show):
    events = stream(iv.Thinking("", "hidden"), iv.Text("345"))

    assert piped(events, 1.0, show=show) == "[hidden reasoning · 1.0 s]\n\n345\n"


def test_several_summaries_are_one_thought():
    events = stream(iv.Thinking("one", "summary"), iv.Thinking("two", "summary"), iv.Text("3"))

    assert piped(events) == "> one\n\n> two\n[thought · 8 characters]\n\n3\n"


def test_calls_are_a_line_each():
    events = stream(
        iv.Thinking("hm"),
        iv.ToolCall("1", "mul", '{"a": 15,\n"b": 23}'),
        iv.ToolCall("2", "add", "{}"),
        finish_reason="tool_calls",
    )

    assert piped(events) == (
        '> hm\n[thought · 2 characters]\ncall mul({"a": 15, "b": 23})\ncall add({})\n'
    )


def test_a_field_that_stays_open_while_the_answer_comes():
    events = [
        iv.PartStart(0, "thinking"),
        iv.ThinkingDelta(0, "one"),
        iv.PartStart(1, "text"),
        iv.TextDelta(1, "A"),
        iv.TextDelta(1, "B"),
        iv.PartEnd(0, iv.Thinking("one")),
        iv.PartEnd(1, iv.Text("AB")),
        finish(iv.Thinking("one"), iv.Text("AB")),
    ]

    assert piped(events, 1.0) == "> one\n[thought for 2.0 s · 3 characters]\n\nAB\n"


def test_what_was_no_answer_is_called_back():
    assert piped(RECAST) == (
        "Let me see, 345.\n"
        "\n"
        "[read again: what follows replaces the text above]\n"
        "[thought · 17 characters]\n"
        "\n"
        "It is 345.\n"
    )


def test_what_was_an_answer_after_all_is_written_anew():
    splitter = iv.Splitter(model="qwq-32b")
    events = [*splitter.feed("It is"), *splitter.feed(" 345."), *splitter.finish()]

    assert piped(events) == (
        "> It is 345.\n\n[read again: what follows replaces the text above]\n\nIt is 345.\n"
    )


def test_nothing_about_reasoning_is_said_of_a_recast_under_none():
    written = piped(RECAST, show="none")

    assert "thought" not in written
    assert written.endswith("\n\nIt is 345.\n")


def test_why_it_broke_off_is_told():
    failed = iv.Response(parts=(iv.Text("It"),), error=iv.Failure(message="overloaded\x1b[2J"))
    events = [iv.PartStart(0, "text"), iv.TextDelta(0, "It"), iv.Finish(failed)]

    assert piped(events) == "It\n\n[interrupted: overloaded␛[2J]\n"


def test_a_stream_without_an_end_keeps_what_came():
    assert piped([iv.PartStart(0, "text"), iv.TextDelta(0, "half an")]) == "half an\n"


def test_a_whole_response_is_shown_too():
    assert (
        piped([finish(iv.Thinking("hm"), iv.Text("345"))])
        == "> hm\n[thought · 2 characters]\n\n345\n"
    )


def test_halves_of_characters_and_line_breaks_find_each_other():
    events = [iv.PartStart(0, "text"), *(iv.TextDelta(0, c) for c in "a\r\n\ud83d\ude42\ud83d")]
    events.append(iv.PartEnd(0, iv.Text("a\r\n\ud83d\ude42\ud83d")))

    assert piped(events) == "a\n🙂\ufffd\n"


def test_a_stream_of_another_encoding_shows_what_it_can():
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii")
    with Live(file=file) as live:
        live.feed(iv.PartStart(0, "text"))
        live.feed(iv.TextDelta(0, "15 · 23"))

    assert raw.getvalue() == b"15 ? 23\n"


@given(hostile, hostile, st.integers(1, 9))
def test_no_control_character_is_written_and_nothing_is_lost(thinking, answer, size):
    parts = iv.Thinking(f"!{thinking}!"), iv.Text(f"!{answer}!")
    written = piped(stream(*parts, size=size))

    assert written == visible(written)
    quoted, _, rest = written.partition("[thought")
    assert all(line.startswith("> ") for line in quoted.splitlines() if line)
    assert visible(f"!{answer}!") == rest.partition("\n\n")[2].removesuffix("\n")
    spoken = "\n".join(line[2:] for line in quoted.splitlines())
    assert visible(f"!{thinking}!").split() == spoken.split()
