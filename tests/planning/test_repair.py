"""The smallest change that makes a history acceptable."""

import innervoice as iv
from planning.turns import TARGETS, calling, claude, loop, talk, turn


def test_repair():
    """What lint found is gone, the input is as it was, and a second repair changes nothing."""
    history = [
        iv.user("x"),
        iv.Message("assistant", (iv.ToolCall("a", "f"),)),
        iv.user("y"),
        iv.tool_result("zz", "1"),
        turn("anthropic"),
    ]
    before = list(history)
    for target in TARGETS:
        repaired = iv.repair(history, target)
        left = [
            problem for problem in iv.lint(repaired, target) if problem.code != "prefill_refused"
        ]
        assert [] == left, target
        assert repaired == iv.repair(repaired, target)
    assert before == history


def test_repair_of_what_needs_none():
    history = loop(turn("anthropic"))
    assert history == iv.repair(history, "anthropic/claude-opus-4-6")


OPUS = "anthropic/claude-opus-4-6"


def test_a_result_without_a_call_goes():
    stray = iv.tool_result("z", "1")
    history = [iv.user("x"), stray, iv.assistant("A"), iv.user("y")]
    assert [history[0], *history[2:]] == iv.repair(history, OPUS)
    both = iv.Message("tool", (iv.ToolResult("a", "1"), iv.ToolResult("z", "2")))
    repaired = iv.repair([*calling()[:2], both, iv.user("y")], OPUS)
    assert (iv.ToolResult("a", "1"),) == repaired[2].parts


def test_a_call_without_a_result_gets_one():
    repaired = iv.repair([*calling()[:2], iv.user("y")], OPUS)
    assert ["user", "assistant", "tool", "user"] == [message.role for message in repaired]
    assert ("a", True) == (repaired[2].parts[0].call_id, repaired[2].parts[0].error)


def test_a_turn_of_which_nothing_is_left_goes():
    assert [iv.user("x"), iv.user("y")] == iv.repair(talk(iv.Thinking("R")), OPUS)
    assert [iv.user("x")] == iv.repair([iv.user("x"), iv.Message("user", ())], OPUS)


def test_the_settings_of_the_request_count():
    history = talk(claude(scope="theirs"), iv.Text("A"))
    assert history == iv.repair(history, OPUS)
    assert ["text"] == [part.type for part in iv.repair(history, OPUS, scope="ours")[1].parts]
    mixed = [iv.user("x"), iv.Message("assistant", (iv.ToolCall("a", "f"), iv.Text("A"))), iv.tool_result("a", "1")]  # fmt: skip
    repaired = iv.repair(mixed, "deepseek/deepseek-v4-pro", "openai-responses")
    assert ["text", "tool_call"] == [part.type for part in repaired[1].parts]
