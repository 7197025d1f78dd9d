"""A stream on a terminal: what a user sees while it arrives, and what stays."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from innervoice.show import Live
from innervoice.show.visible import visible
from show.hostile import hostile
from show.screens import Terminal
from show.streams import RECAST, THOUGHT, Clock, finish, stream

rich_console = pytest.importorskip("rich.console")


def shown(events, seconds=0.0, width=60, height=12, rate=0.0, **options):
    """The terminal at the end, and the screen after each event."""
    terminal, clock, seen = Terminal(width, height), Clock(), []
    console = rich_console.Console(
        file=terminal, force_terminal=True, width=width, height=height, _environ={}
    )
    with Live(console=console, clock=clock, refresh_per_second=rate, **options) as live:
        for event in events:
            live.feed(event)
            seen.append(terminal.seen)
            clock.now += seconds
    assert not terminal.unknown
    return terminal.seen, seen


def test_reasoning_is_seen_while_it_comes_and_one_line_stays():
    usage = iv.Usage(reasoning_tokens=412)
    last, seen = shown(stream(iv.Thinking(THOUGHT), iv.Text("It is 345."), usage=usage), 0.5)

    assert "thinking · 0.5 s · 7 characters\n15 * 20" == seen[1]
    assert f"thinking · 2.0 s · 25 characters\n{THOUGHT}" == seen[4]
    assert "thought for 2.5 s · 25 characters" == seen[5]
    assert "thought for 2.5 s · 412 tokens · 25 characters\n\nIt is 345." == last


def test_a_long_time_is_told_in_minutes():
    last, _ = shown(stream(iv.Thinking("x"), iv.Text("345")), 62.6)

    assert last.startswith("thought for 2 min 5 s · 1 character\n")


def test_reasoning_is_kept_if_asked():
    last, _ = shown(stream(iv.Thinking(THOUGHT), iv.Text("It is 345.")), 0.5, keep=True)

    assert f"{THOUGHT}\nthought for 2.5 s · 25 characters\n\nIt is 345." == last


@pytest.mark.parametrize(
    ("show", "while_thinking", "at_the_end"),
    [
        ("full", f"thinking · 2.0 s · 25 characters\n{THOUGHT}", "thought for 2.5 s · 25 characters\n\nOK"),
        ("summary", "thinking · 2.0 s · 25 characters", "thought for 2.5 s · 25 characters\n\nOK"),
        ("length", "thinking · 2.0 s · 25 characters", "thought for 2.5 s · 25 characters\n\nOK"),
        ("none", "", "OK"),
    ],
)  # fmt: skip
def test_the_policy_is_obeyed(show, while_thinking, at_the_end):
    last, seen = shown(stream(iv.Thinking(THOUGHT), iv.Text("OK")), 0.5, show=show)

    assert while_thinking == seen[4]
    assert at_the_end == last


def test_under_summary_the_opening_is_kept_if_asked():
    last, _ = shown(stream(iv.Thinking(THOUGHT), iv.Text("OK")), show="summary", keep=True)

    assert "15 * 20 = 300 …\nthought · 25 characters\n\nOK" == last


def test_hidden_reasoning_is_a_line():
    last, seen = shown(stream(iv.Thinking("", "hidden"), iv.Text("345")), 3.2)

    assert "thinking · 0.0 s" == seen[0]
    assert "hidden reasoning · 3.2 s\n\n345" == last


def test_calls_are_a_line_each():
    last, _ = shown(stream(iv.Thinking("hm"), iv.ToolCall("1", "mul", "{}"), iv.ToolCall("2", "f")))

    assert "thought · 2 characters\n\ncall mul({})\ncall f()" == last


def test_what_turns_out_to_be_reasoning_is_no_longer_the_answer():
    last, seen = shown(RECAST, 1.0)

    assert "Let me see, 345." == seen[2]
    assert "thought for 2.0 s · 17 characters" == seen[3]
    assert "thought for 2.0 s · 17 characters\n\nIt is 345." == last


def test_a_recast_of_what_has_left_the_screen_is_told():
    text = "".join(f"line {n}\n" for n in range(40))
    events = [
        iv.PartStart(0, "text"),
        iv.TextDelta(0, text),
        iv.Recast(0, (iv.Thinking(text),)),
        iv.PartStart(1, "text"),
        iv.TextDelta(1, "It is 345."),
        finish(iv.Thinking(text), iv.Text("It is 345.")),
    ]
    last, _ = shown(events)

    assert last.endswith(
        "\n\n[read again: what follows replaces the text above]\n\n"
        "thought · 310 characters\n\nIt is 345."
    )


@pytest.mark.parametrize("rate", [0.0, 100.0])
def test_a_long_answer_is_all_there_once(rate):
    answer = "\n".join(f"line {n}:" + "x" * (n * 7 % 200) for n in range(100))
    parts = iv.Thinking("hm\n" * 50), iv.Text(answer)
    last, _ = shown(stream(*parts, size=11), height=10, rate=rate)

    folded = [line[at : at + 60] for line in answer.split("\n") for at in range(0, len(line), 60)]
    assert ["thought · 150 characters", "", *folded] == last.split("\n")


def test_one_endless_line_is_all_there_once():
    answer = "".join(f"{n}," for n in range(2000))
    last, _ = shown(stream(iv.Text(answer), size=50), height=8)

    assert answer == last.replace("\n", "")


def test_the_screen_never_holds_more_than_fits():
    answer = "".join(f"line {n}\n" for n in range(100))
    _, seen = shown(stream(iv.Thinking("thought\n" * 100), iv.Text(answer)), height=10)

    assert all(text.count("\n") < 10 for text in seen[:100])


def test_tokens_that_come_too_late_for_the_line_are_told_at_the_end():
    answer = "line\n" * 50
    usage = iv.Usage(reasoning_tokens=412)
    last, _ = shown(stream(iv.Thinking("hm"), iv.Text(answer), usage=usage), height=8)

    assert last.startswith("thought · 2 characters\n\nline\n")
    assert last.endswith("\nline\n\n[412 tokens of reasoning]")


def test_time_does_not_run_while_the_answer_comes():
    events = [
        iv.PartStart(0, "thinking"),
        iv.ThinkingDelta(0, "one"),
        iv.PartStart(1, "text"),
        iv.TextDelta(1, "A"),
        iv.Heartbeat(),
        iv.TextDelta(1, "B"),
        iv.PartEnd(0, iv.Thinking("one")),
        iv.PartEnd(1, iv.Text("AB")),
    ]
    last, _ = shown(events, 1.0)

    assert "thought for 2.0 s · 3 characters\n\nAB" == last


def test_an_error_in_the_loop_leaves_the_screen_in_order():
    terminal = Terminal()
    console = rich_console.Console(file=terminal, force_terminal=True, width=60, height=20)

    def broken():
        yield iv.PartStart(0, "text")
        yield iv.TextDelta(0, "half an")
        raise KeyError

    live = Live(console=console)
    with pytest.raises(KeyError):
        live.follow(broken())

    assert "half an" == terminal.seen
    with pytest.raises(iv.UsageError, match="closed"):
        live.feed(iv.TextDelta(0, "x"))


@settings(deadline=None)
@given(hostile, hostile, st.integers(1, 9))
def test_text_is_neither_markup_nor_control(thinking, answer, size):
    parts = iv.Thinking(f"!{thinking}!"), iv.Text(f"!{answer}!")
    last, _ = shown(stream(*parts, size=size), width=500, height=50, keep=True)

    expected = visible(f"!{thinking}!\nthought\n\n!{answer}!").replace("\t", "    ")
    lines = [line.partition(" · ")[0] if " · " in line else line for line in last.split("\n")]
    assert [line.rstrip() for line in expected.split("\n")] == lines
