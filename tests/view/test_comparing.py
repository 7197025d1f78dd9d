"""Two turns, two requests, and the answers of two providers to one prompt."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from innervoice.view.comparing import request_diff, turn_diff
from innervoice.view.plans import diff_lines
from view.samples import answered, conversation, emulated, hand_made, seals_of, thinker, turn


def lines(view, op):
    return [line["text"] for line in view["lines"] if line["op"] == op]


def labels(view):
    return [item["label"] for item in view["facts"]]


def test_the_answers_of_two_providers_to_one_prompt():
    left, right = (
        emulated(model, "Say hello.")
        for model in ("anthropic/claude-fable-5-2", "deepseek/deepseek-v4")
    )
    view = turn_diff(left, 1, right, 1)

    assert "model: anthropic/claude-fable-5-2 → deepseek/deepseek-v4" in labels(view)
    assert any(
        label.startswith("seals: sealed by anthropic") and label.endswith("→ none")
        for label in labels(view)
    )
    assert "turn 2 (assistant)" == view["left"]
    assert not [seal for seal in seals_of(left) if seal in json.dumps(view)]


def test_parts_are_compared_under_their_kind():
    left = conversation(answered(thinker("one\ntwo"), iv.Text("x")))
    right = conversation(
        answered(
            thinker("one\n2"), iv.Text("x"), iv.ToolCall("a", "f", "{}"), finish_reason="tool_calls"
        )
    )
    view = turn_diff(left, 0, right, 0)

    assert ["two"] == lines(view, "removed")
    assert ["2", "[call of f]", "{}"] == lines(view, "added")
    assert "status: answered → calls tools" in labels(view)


def test_a_turn_is_the_same_as_itself():
    view = turn_diff(hand_made(), 1, hand_made(), 1)

    assert ["same in kind"] == labels(view)
    assert [] == lines(view, "removed") == lines(view, "added")


def test_a_request_continues_the_one_before():
    made = emulated("anthropic/claude-fable-5-2")
    view = request_diff(made, 1, made, 3)

    assert "continues" in labels(view)
    assert "messages: 1 → 3" in labels(view)
    assert [] == lines(view, "removed")
    assert "the request before turn 2 (assistant)" == view["left"]


def test_two_requests_show_the_edit_that_killed_a_block():
    made = emulated("anthropic/claude-fable-5-2")
    edited = made.replace(turns=(turn(iv.user("How is Lyon?")), *made.turns[1:]))
    view = request_diff(made, 3, edited, 3)

    assert ["first difference at turn 1", "bound blocks after it are dead"] == [
        label for label in labels(view) if "difference" in label or "dead" in label
    ]
    assert any("Lyon" in line for line in lines(view, "added"))
    assert any("Paris" in line for line in lines(view, "removed"))


def test_requests_of_two_dialects_are_each_in_their_own():
    left, right = (
        emulated(model) for model in ("anthropic/claude-opus-4-6", "gemini/gemini-3-pro")
    )
    view = request_diff(left, 1, right, 1)

    assert any('"messages"' in line for line in lines(view, "removed"))
    assert any('"contents"' in line for line in lines(view, "added"))


def test_without_a_model_the_messages_are_shown_as_they_are():
    made = conversation(iv.user("a"), iv.assistant("b"), iv.user("c"), iv.assistant("d"))
    view = request_diff(made, 1, made, 3)

    assert {"unknown dialect", "unknown settings"} <= set(labels(view))
    assert ["assistant:", "b", "user:", "c"] == lines(view, "added")


def test_a_request_that_cannot_be_written_is_said():
    made = conversation(iv.tool_result("nowhere", "1"), answered(iv.Text("x")))
    view = request_diff(made, 1, made, 1)

    assert "cannot be written" in labels(view)


@pytest.mark.parametrize("number", [-1, 4, 99])
@pytest.mark.parametrize("compare", [turn_diff, request_diff])
def test_a_turn_that_is_not_there_is_an_error(compare, number):
    with pytest.raises(iv.UsageError, match=f"no turn {number + 1}"):
        compare(hand_made(), 0, hand_made(), number)


def test_a_turn_on_an_abandoned_branch_has_that_branch_before_it():
    turns = [iv.user("a"), turn(iv.assistant("b"), marks=("abandoned",)), turn(iv.user("c"), marks=("abandoned",)), turn(iv.assistant("d"), marks=("abandoned",)), iv.assistant("e")]  # fmt: skip
    made = conversation(*turns)
    view = request_diff(made, 4, made, 3)

    assert ["assistant:", "b", "user:", "c"] == lines(view, "added")


some_lines = st.lists(st.sampled_from(["a", "b", "c", "{", "}"]), max_size=30)


@settings(deadline=None)
@given(some_lines, some_lines)
def test_a_difference_says_what_was_removed_and_added_and_nothing_else(left, right):
    made = diff_lines(left, right)
    same = sum(
        int(line["text"].split()[1].replace(",", "")) if "…" in line["text"] else 1 for line in made if line["op"] == "same"
    )  # fmt: skip

    assert len(left) == same + sum(line["op"] == "removed" for line in made)
    assert len(right) == same + sum(line["op"] == "added" for line in made)


def test_a_large_difference_shows_the_ends_of_both_sides():
    left, right = [f"{n}" for n in range(20_000)], [f"x{n}" for n in range(20_000)]
    view = {"lines": diff_lines(left, right)}

    for op, side in (("removed", left), ("added", right)):
        shown = lines(view, op)
        assert (side[0], side[-1]) == (shown[0], shown[-1])
        assert "… 18,200 more lines …" == shown[900]
        assert 1801 == len(shown)


def test_many_small_differences_are_bounded():
    left = [f"{n}" for n in range(2900)]
    right = [line if n % 2 else f"x{n}" for n, line in enumerate(left)]
    made = diff_lines(left, right)

    assert 4001 == len(made)
    assert "350 more lines are not shown" in made[-1]["text"]


def test_a_long_line_is_cut_after_it_was_compared():
    made = diff_lines(["x" * 5000 + "a"], ["x" * 5000 + "b"])

    assert ["removed", "added"] == [line["op"] for line in made]
    assert all("more characters" in line["text"] and len(line["text"]) < 2100 for line in made)
