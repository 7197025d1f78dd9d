"""What goes where, and why: plan, lint, repair, trim, recover."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from planning.turns import TARGETS, calling, claude, decided, field, loop, talk, turn
from wire.fixtures import ANSWERS


def test_decisions_name_part_action_rule_and_reason():
    planned = iv.plan(loop(turn("anthropic")), "openai/gpt-5.6")

    assert [("omitted", "H2")] * 3 == [(item.action, item.rule) for item in planned.decisions]
    assert [0, 1, 2] == [item.part for item in planned.decisions]
    assert "anthropic/claude-opus-4-6" in planned.decisions[0].why
    assert "omitted" in str(planned)


def test_home_keeps_all():
    history = loop(turn("anthropic"))
    planned = iv.plan(history, "anthropic/claude-opus-4-6")

    assert {"kept"} == {item.action for item in planned.decisions}
    assert tuple(history) == planned.messages


turns = st.sampled_from(
    [turn(answer.name) for answer in ANSWERS]
    + [iv.assistant("plain"), iv.Message("assistant", (iv.ToolCall("x y", "f", "{}"),))]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(turns, st.booleans()), min_size=1, max_size=5), st.sampled_from(TARGETS))
def test_any_history_can_be_planned_repaired_and_sent(steps, target):
    """Whoever answered and whatever was left open: repaired it encodes, lints clean, and seals went home only."""
    history = [iv.user("start")]
    for message, answered in steps:
        history.append(message)
        if answered:
            history += [iv.tool_result(call.id, "r") for call in message.tool_calls]
        history.append(iv.user("next"))
    repaired = iv.repair(history, target)
    wire = iv.encode(iv.Request(target, repaired, max_tokens=9000, reasoning="high"))

    assert repaired == iv.repair(repaired, target)
    assert [] == iv.lint(repaired, target)
    text = json.dumps(wire.body)
    for answer in ANSWERS:
        if not target.startswith(f"{answer.provider}/"):
            assert not any(seal in text for seal in answer.seals)


OPUS = "anthropic/claude-opus-4-6"


def test_parts_of_other_providers():
    """What only they can read stays in the history; texts, calls and results go without their blocks."""
    origin = iv.Origin(dialect="anthropic", provider="anthropic", model="claude-opus-4-6", block={"type": "x"})  # fmt: skip
    parts = (
        iv.Opaque({"type": "server_tool_use"}, origin=origin),
        iv.Text("A", origin=origin),
        iv.ToolCall("a", "f", "{}", origin=origin),
    )
    turn = iv.Message("assistant", parts, origin)
    history = [iv.user("x"), turn, iv.tool_result("a", "1")]
    assert [(1, 0, "opaque", "omitted", "H2", "opaque_dropped")] == decided(history, "openai/gpt-5.6")  # fmt: skip
    sent = iv.plan(history, "openai/gpt-5.6").messages[1]
    assert (iv.Text("A"), iv.ToolCall("a", "f", "{}")) == sent.parts
    assert sent.origin is None
    home = iv.plan(history, OPUS).messages[1]
    assert (parts, origin) == (home.parts, home.origin)


def test_texts_without_a_word():
    """A text that was cut before its first character is not sent, nor blanks that stood between blocks elsewhere."""
    origin = iv.Origin(dialect="anthropic", provider="anthropic", model="claude-opus-4-6")
    cut, blank, word = iv.Text("", complete=False), iv.Text(" ", origin=origin), iv.Text("A")
    history = talk(cut, blank, word)
    assert (word,) == iv.plan(history, "openai/gpt-5.6").messages[1].parts
    assert (blank, word) == iv.plan(history, OPUS).messages[1].parts
    assert (word,) == iv.plan(talk(iv.Text(""), word), OPUS).messages[1].parts
    begun = iv.Text("B", complete=False)
    assert (begun, word) == iv.plan(talk(begun, word), OPUS).messages[1].parts


def test_what_does_not_change_is_the_same_value():
    history = loop(turn("anthropic"))
    for before, after in zip(history, iv.plan(history, OPUS).messages, strict=True):
        assert before is after


def test_a_plan_in_words():
    planned = iv.plan(talk(claude(), iv.Thinking("R"), iv.Text("A")), OPUS)
    title, kept, omitted = str(planned).splitlines()
    assert f"to {OPUS}:" == title
    assert ["1.0", "thinking", "kept", "H1"] == kept.split()[:4]
    assert ["1.1", "thinking", "omitted", "H2"] == omitted.split()[:4]
    removed = str(iv.plan(talk(iv.Thinking("R")), OPUS)).splitlines()[-1]
    assert ["1", "message", "omitted", "H1"] == removed.split()[:4]


def test_the_setting_in_words():
    settings = {
        "openai/gpt-5.6": [(None, "default"), ("high", "high"), ("none", "off")],
        "anthropic/claude-sonnet-4-5": [(2048, "2048 tokens")],
        "zai/glm-4.6": [(True, "on")],
    }
    for target, rows in settings.items():
        for asked, setting in rows:
            assert setting == iv.plan([iv.user("x")], target, reasoning=asked).setting


def test_target_and_dialect():
    planned = iv.plan([iv.user("x")], "deepseek/deepseek-v4-pro", "openai-responses")
    assert ("deepseek/deepseek-v4-pro", "openai-responses") == (planned.target, planned.dialect)
    assert planned.cache is None


def test_responses_and_lists_of_others_are_histories():
    response = iv.split("<think>R</think>A")
    assert "A" == iv.plan([iv.user("x"), response], OPUS).messages[1].text
    others = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "A"}]
    assert ["x", "A"] == [message.text for message in iv.plan(others, OPUS).messages]


def test_ids_before_skip_values():
    """H4 makes a block of a call, and a block keeps its id: so ids are mapped first."""
    history = calling(call_id="call.1 x")
    planned = iv.plan(history, "gemini/gemini-3-flash-preview")
    call, result = planned.messages[1].parts[0], planned.messages[2].parts[0]
    assert call.id == result.call_id != "call.1 x"
    assert call.id == call.origin.block["functionCall"]["id"]
    assert (1, 0, "tool_call", "converted", "H6", "id_mapped") in decided(history, "gemini/gemini-3-flash-preview")  # fmt: skip


def test_a_request_that_cannot_be_sent_can_be_planned():
    """What only the whole request breaks is for `encode` to say."""
    history = [iv.user("x")]
    target, tools = "openai/o1", [iv.Tool("f")]
    planned = iv.plan(history, target, dialect="openai-chat", tools=tools, tool_choice="required")
    assert tuple(history) == planned.messages


def test_field_and_fitting_go_together():
    planned = iv.plan(calling(field("deepseek", "deepseek-v4-pro")), "deepseek/deepseek-v4-pro")
    assert ["kept"] == [item.action for item in planned.decisions]
