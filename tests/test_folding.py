import pytest

import innervoice as iv


def test_open_parts_are_incomplete():
    response = iv.fold(
        [iv.PartStart(0, "thinking"), iv.ThinkingDelta(0, "a"), iv.ThinkingDelta(0, "b")]
    )

    assert (iv.Thinking("ab", complete=False),) == response.parts
    assert "interrupted" == response.status


def test_several_parts_open_at_once():
    call = iv.ToolCall("c1", "f", complete=False)
    events = [
        iv.PartStart(0, "text"),
        iv.PartStart(1, "tool_call", call),
        iv.TextDelta(0, "a"),
        iv.ToolCallDelta(1, "{"),
        iv.Heartbeat(),
        iv.TextDelta(0, "b"),
        iv.PartEnd(0, iv.Text("ab")),
        iv.ToolCallDelta(1, '"x"'),
    ]

    assert (iv.Text("ab"), iv.ToolCall("c1", "f", '{"x"', complete=False)) == iv.fold(events).parts


def test_recast_replaces_what_was_ended():
    events = [
        iv.PartStart(0, "text"),
        iv.TextDelta(0, "a"),
        iv.PartEnd(0, iv.Text("a")),
        iv.Recast(0, (iv.Thinking("a"),)),
        iv.PartStart(1, "text"),
        iv.TextDelta(1, "b"),
        iv.PartEnd(1, iv.Text("b")),
    ]

    assert (iv.Thinking("a"), iv.Text("b")) == iv.fold(events).parts


def test_open_parts_stay_open_under_their_new_numbers():
    events = [
        iv.PartStart(0, "text"),
        iv.PartStart(1, "tool_call", iv.ToolCall("c", "f", complete=False)),
        iv.TextDelta(0, "abc"),
        iv.ToolCallDelta(1, "{"),
        iv.Recast(
            0,
            (
                iv.Thinking("a"),
                iv.Text("bc", complete=False),
                iv.ToolCall("c", "f", "{", complete=False),
            ),
        ),
        iv.TextDelta(1, "d"),
        iv.ToolCallDelta(2, "}"),
    ]

    thinking, text, call = iv.fold(events).parts
    assert ("a", "bcd", "{}") == (thinking.text, text.text, call.arguments)


def test_an_incomplete_part_that_was_over_stays_over():
    events = [
        iv.PartStart(0, "text"),
        iv.TextDelta(0, "a"),
        iv.Recast(0, (iv.Thinking("x", complete=False), iv.Text("a", complete=False))),
        iv.TextDelta(1, "b"),
    ]

    assert ["x", "ab"] == [part.text for part in iv.fold(events).parts]


def test_usage_and_finish():
    usage = iv.Usage(input_tokens=1, output_tokens=2)
    whole = iv.Response(parts=(iv.Text("a"),), ended=True, finish_reason="stop")

    assert usage == iv.fold([iv.UsageUpdate(iv.Usage()), iv.UsageUpdate(usage)]).usage
    assert whole is iv.fold([iv.PartStart(0, "text"), iv.Finish(whole)])
    assert iv.Response() == iv.fold([])


@pytest.mark.parametrize(
    ("events", "says"),
    [
        ([iv.TextDelta(0, "a")], "part 0 is not open"),
        ([iv.PartStart(1, "text")], "0 to start next"),
        ([iv.PartStart(0, "text"), iv.PartEnd(0, iv.Text("")), iv.TextDelta(0, "a")], "not open"),
        (["text"], "events, not str"),
    ],
)
def test_what_is_no_stream_is_refused(events, says):
    with pytest.raises(iv.UsageError, match=says):
        iv.fold(events)
