"""Plain text: quoted reasoning, which cannot be mistaken for the answer."""

from hypothesis import given

import innervoice as iv
from innervoice.show import render
from innervoice.show.visible import visible
from show.hostile import hostile

WHOLE = iv.Response(
    parts=(iv.Thinking("15 * 20 = 300\n\n15 * 3 = 45"), iv.Text("\n\nIt is **345**.\n")),
    ended=True,
    finish_reason="stop",
    usage=iv.Usage(reasoning_tokens=412),
)


def test_full():
    assert render(WHOLE) == (
        "Thinking (26 characters, 412 tokens):\n> 15 * 20 = 300\n>\n> 15 * 3 = 45\n\nIt is **345**."
    )


def test_length():
    assert render(WHOLE, show="length") == "Thinking (26 characters, 412 tokens)\n\nIt is **345**."


def test_none():
    assert render(WHOLE, show="none") == "It is **345**."


def test_a_history():
    history = [
        iv.system("Be brief."),
        iv.user("15 * 23?"),
        iv.Message(
            "assistant",
            (
                iv.Thinking("", "hidden"),
                iv.ToolCall("1", "mul", '{"a": 15,\n "b": 23}'),
                iv.ToolCall("2", "add", "{}"),
            ),
        ),
        iv.tool_result("1", "345"),
        iv.tool_result("2", "no numbers", error=True),
        iv.assistant("345"),
    ]

    assert render(history, "plain", "length") == (
        "system:\nBe brief.\n\n"
        "user:\n15 * 23?\n\n"
        "assistant:\nHidden reasoning\n\n"
        'call mul({"a": 15, "b": 23})\n'
        "call add({})\n\n"
        "tool:\nresult of mul: 345\n\n"
        "tool:\nerror from add: no numbers\n\n"
        "assistant:\n345"
    )


@given(hostile)
def test_every_line_of_reasoning_is_quoted(text):
    shown = render(iv.Response(parts=(iv.Thinking(f"!{text}!"), iv.Text("ANSWER")), ended=True))
    title, *quoted, blank, answer = shown.split("\n")

    assert title.startswith("Thinking (")
    assert all(line.startswith(">") for line in quoted)
    assert visible(f"!{text}!").split() == "\n".join(line[1:] for line in quoted).split()
    assert ("", "ANSWER") == (blank, answer)
