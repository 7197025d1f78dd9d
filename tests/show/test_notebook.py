"""A notebook shows conversations, plans, problems, requests, counts and costs as HTML that no text can leave."""

from decimal import Decimal

import pytest
from hypothesis import given

import innervoice as iv
from innervoice.canon.usage import Cost
from innervoice.emulator import emulated_client
from innervoice.planning.lint import Problems
from show.hostile import hostile
from show.reader import Reader

TAGS = {"div", "table", "tr", "th", "td", "details", "summary", "code"}


def text_of(value):
    """The text that is shown, in elements that are ours alone."""
    page = Reader(value._repr_html_())
    assert page.open == page.other == []
    assert set(page.elements) <= TAGS
    assert page.attributes <= {"class", "style", "dir"}
    return "".join(page.texts.values())


def conversation(text):
    chat = emulated_client().conversation("anthropic/claude-opus-5-5", system=text or None)
    chat.history = [iv.user(text), iv.assistant([iv.Thinking(text), iv.Text(text)])]
    return chat


VALUES = {
    "conversation": conversation,
    "plan": lambda text: iv.plan([iv.user("Q"), iv.assistant([iv.Thinking(text), iv.Text(text)])], "openai/gpt-5.6").replace(target=text),
    "decision": lambda text: iv.Plan(target="x/y", messages=(), dialect=text, decisions=(iv.Decision(message=0, part=None, kind=text, action="omitted", rule=text, why=text),)),
    "problem": lambda text: iv.Problem(code=text, severity="refused", message=0, why=text, fix=text),
    "problems": lambda text: Problems([iv.Problem(code=text, severity="refused", message=0, why=text, fix=text)]),
    "request": lambda text: iv.Request(
        text, [iv.user(text)], system=text, stop=[text], scope=text, tool_choice=text, tools=[iv.Tool(text, text)], extra={text: text},
    ),
    "usage": lambda text: iv.Usage(input_tokens=3, raw={text: text}),
    "cost": lambda text: Cost(total=Decimal(1), input=Decimal(1), output=Decimal(0), model=text),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
@given(text=hostile)
def test_no_text_gets_out(name, text):
    text_of(VALUES[name](text))


@pytest.mark.parametrize("name", [name for name in VALUES if name != "usage"])
def test_markup_is_text(name):
    text = text_of(VALUES[name]('<img src=x onerror="alert(1)">'))

    assert '<img src=x onerror="alert(1)">' in text


def test_conversation_shows_every_turn():
    chat = emulated_client().conversation("anthropic/claude-opus-5-5", reasoning="high")
    chat.ask("What is 15 * 23?")
    text = text_of(chat)

    assert "anthropic/claude-opus-5-5 · 2 messages · " in text
    assert "What is 15 * 23?" in text
    assert "15 * 23 = 345." in text
    assert "<details" in chat._repr_html_()


def test_plan_shows_what_happens_and_why():
    thought = iv.decode({"content": [{"type": "thinking", "thinking": "R", "signature": "s"}, {"type": "text", "text": "A"}], "type": "message"}, provider="anthropic", model="claude-opus-4-6")  # fmt: skip
    history = [iv.user("Q"), thought.message, iv.user("And?")]

    text = text_of(iv.plan(history, "openai/gpt-5.6"))
    assert "to openai/gpt-5.6" in text
    assert "omitted" in text
    assert "it came from anthropic/claude-opus-4-6" in text
    assert "Everything is sent as it is." in text_of(iv.plan([iv.user("Q")], "openai/gpt-5.6"))


def test_lint_is_a_list_with_a_table():
    history = [iv.user("Q"), iv.assistant([iv.Thinking("R"), iv.Text("A")]), iv.user("And?")]
    problems = iv.lint(history, "openai/gpt-5.6")

    assert [*problems] == problems
    assert problems[0].why in text_of(problems)
    assert problems[0].fix in text_of(problems[0])
    none = iv.lint([iv.user("Q")], "openai/gpt-5.6")
    assert none == []
    assert "No problems." in text_of(none)


def test_request_shows_its_settings_and_hides_extra():
    request = iv.Request(
        "openai/gpt-5.6", [iv.user("Q")], reasoning="high", extra={"user": "sk-secret"}
    )
    text = text_of(request)

    assert "effort='high'" in text
    assert "temperature" not in text
    assert "1 member" in text
    assert "sk-secret" not in text


def test_the_legend_is_beside_the_bars():
    """Each row has its name, its number and its bar; what was not reported has no bar."""
    usage = iv.Usage(input_tokens=200, output_tokens=50)
    html = usage._repr_html_()
    rows = html.split("<tr>")[1:]

    assert ["input", "from the cache", "output", "reasoning in it"] == [
        row.partition("</th>")[0].rpartition(">")[2] for row in rows
    ]
    assert ["width:100.0%", "width:0.0%", "width:25.0%", "width:0.0%"] == [
        row.partition('<div style="')[2].partition(";")[0] for row in rows
    ]
    assert 2 == text_of(usage).count("not reported")


def test_cost_shows_dollars_and_whose_prices():
    cost = Cost(total=Decimal("0.3"), input=Decimal("0.1"), output=Decimal("0.2"), model="gpt-5.6")
    text = text_of(cost)

    assert "$0.300000" in text
    assert "gpt-5.6" in text
