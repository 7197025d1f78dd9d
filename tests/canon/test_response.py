import pytest

import innervoice as iv

INLINE = iv.Origin(markup=())
CALL = iv.ToolCall("1", "f", "{}")


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ((), ""),
        ((iv.Text("a"), iv.Text("b")), "ab"),
        ((iv.Text("a"), CALL, iv.Text("b")), "a\n\nb"),
        ((iv.Text("a\n"), CALL, iv.Text("b")), "a\nb"),
        ((iv.Text("a"), iv.Thinking("t"), iv.Text("b")), "a\n\nb"),
        ((iv.Thinking("t"), iv.Text("\nb")), "\nb"),
        ((iv.Text("a"), iv.Thinking("t", origin=INLINE), iv.Text("b")), "a b"),
        ((iv.Text("a"), iv.Thinking("t", origin=INLINE), CALL, iv.Text("b")), "a\n\nb"),
        ((iv.Text(" "),), " "),
        ((iv.Text(""), iv.Thinking("t", origin=INLINE), iv.Text("")), ""),
    ],
)
def test_text(parts, text):
    assert text == iv.Response(parts=parts).text
    assert text == iv.Message("assistant", parts).text


@pytest.mark.parametrize(
    ("parts", "thinking"),
    [
        ((), None),
        ((iv.Thinking(""), iv.Thinking(" \n")), None),
        ((iv.Thinking(" a "), iv.Thinking("b")), " a \n\nb"),
        ((iv.Thinking(" a ", origin=INLINE), iv.Thinking(""), iv.Thinking("b")), "a\n\nb"),
        ((iv.Text("a"),), None),
    ],
)
def test_thinking(parts, thinking):
    response = iv.Response(parts=parts)

    assert thinking == response.thinking
    assert (thinking is not None) == response.has_thinking


@pytest.mark.parametrize(
    ("response", "status"),
    [
        (iv.Response(), "interrupted"),
        (iv.Response(parts=(iv.Text("a"),)), "interrupted"),
        (
            iv.Response(ended=True, error=iv.Failure(message="x"), finish_reason="stop"),
            "interrupted",
        ),
        (iv.Response(ended=True, parts=(iv.Text("no"),), finish_reason="refusal"), "refused"),
        (
            iv.Response(ended=True, parts=(iv.Thinking("a"), iv.Text(" ")), finish_reason="length"),
            "budget_exhausted",
        ),
        (iv.Response(ended=True, parts=(iv.Text("a"),), finish_reason="length"), "truncated"),
        (iv.Response(ended=True, parts=(CALL,), finish_reason="length"), "truncated"),
        (
            iv.Response(ended=True, parts=(iv.Text("a"), CALL), finish_reason="tool_calls"),
            "tool_calls",
        ),
        (iv.Response(ended=True, parts=(iv.Text("a"),)), "answered"),
        (
            iv.Response(ended=True, parts=(iv.Thinking("a", complete=False),)),
            "stopped_inside_thinking",
        ),
        (iv.Response(ended=True, parts=(iv.Thinking("a"),), finish_reason="stop"), "empty"),
        (iv.Response(ended=True), "empty"),
    ],
)
def test_status(response, status):
    assert status == response.status


def test_an_answer_that_may_stand_in_the_reasoning_is_noted():
    assert "answer_in_reasoning" in {
        note.code for note in iv.split("<think>It is 4.</think>").notes
    }
    assert "answer_in_reasoning" not in {note.code for note in iv.split("<think>It is").notes}


def test_message_is_what_goes_into_a_history():
    response = iv.Response(
        parts=(iv.Thinking("t"), iv.Text("a"), CALL), origin=iv.Origin(provider="x")
    )

    assert iv.Message("assistant", response.parts, response.origin) == response.message
    assert (CALL,) == response.tool_calls == response.message.tool_calls
    assert "t" == response.message.thinking


def test_reasoning_is_the_readable_reasoning():
    """Providers call it so; the report of settings has a name of its own."""
    response = iv.Response(parts=(iv.Thinking("Hm."), iv.Text("Yes.")))

    assert ("Hm.", "Hm.") == (response.thinking, response.reasoning)
    assert iv.Response(parts=(iv.Text("Yes."),)).reasoning is None
