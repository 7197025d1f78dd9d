"""What is written for a trainer reads back as what was written, and holds the reasoning that its history rule keeps."""

import json
import pickle
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bulk.batches import message, row, sliced
from bulk.conversations import conversations
from innervoice.bulk.filtering import Divider, parse_filter
from innervoice.bulk.training.checks import read_back, unlike
from innervoice.bulk.training.examples import examples_form, recipe, to
from innervoice.bulk.training.history_rules import (
    HISTORY,
    by_rule,
    conversation_of,
    keep_last,
    strip,
    unroll,
)
from innervoice.bulk.training.targets import FAMILIES, TARGETS
from innervoice.errors import UsageError

EVERY = list(product(TARGETS, [None, *FAMILIES], HISTORY))
TURNS = [
    message("user", "Q1"),
    message("assistant", "A1", "R1"),
    message("user", "Q2"),
    message("assistant", "", "R2", '[{"id":"c","name":"look","arguments":"{}"}]'),
    message("tool", "sunny", call_id="c"),
]
LAST = row(prompt=TURNS, answer="A3", reasoning="R3", turn=2)


def example(batch, *arguments, **options):
    """The example of a batch with one row."""
    return json.loads(to(*arguments, **options).run(batch)["example"][0])


@pytest.mark.parametrize(("target", "family", "history"), EVERY)
@settings(max_examples=5, deadline=None)
@given(conversations())
def test_every_target_family_and_rule_reads_back(target, family, history, batch):
    """The conversation in an example is the one that was written, for all rows that are written."""
    made = recipe(target, family, history)
    left_out = to(target, family, history).run(batch)["left_out"]
    problems = unlike(made, batch)
    has_place = made.form in ("messages", "prompt_completion", "sharegpt", "json")

    for index, problem in enumerate(problems):
        calls = any(turn.calls for turn in conversation_of(batch, index))
        if left_out[index] is None and (has_place or not calls):
            assert problem is None
        if left_out[index] is not None:
            assert problem is None, "there is nothing to compare"


@settings(deadline=None)
@given(
    conversations(),
    st.sampled_from(["trl", "axolotl", "json"]),
    st.sampled_from([None, "qwen3", "deepseek"]),
)
def test_unrolled_reasoning_is_trained_exactly_once(batch, target, family):
    """Each answer is the last message of one example, with its own reasoning; that of earlier turns is in none."""
    made = recipe(target, family, "unroll")
    examples = [made.example(batch, index)[0] for index in range(len(batch["id"]))]
    read = read_back(made, examples)

    assert [(turns[-1].content, turns[-1].reasoning or None) for turns in read] == list(
        zip(batch["answer"], batch["reasoning"], strict=True)
    )
    for turns in read:
        asked = max(index for index, turn in enumerate(turns) if turn.role == "user")
        assert not any(turn.reasoning for turn in turns[:asked])


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        ("all", ["R1", "R2", "R3"]),
        ("last_turn", [None, "R2", "R3"]),
        ("none", [None, None, None]),
        ("unroll", [None, "R2", "R3"]),
    ],
)
def test_history_rules(rule, kept):
    """What follows the last question is the last turn: a tool loop belongs to it."""
    turns = by_rule(conversation_of(LAST, 0), rule)

    assert kept == [turn.reasoning for turn in turns if turn.role == "assistant"]


def test_steps_add_the_conversation():
    earlier = row(last=False)
    kept = [
        [
            turn["reasoning"]
            for turn in step().run(LAST)["history"][0]
            if turn["role"] == "assistant"
        ]
        for step in (strip, keep_last, unroll)
    ]

    assert [[None, None, None], [None, "R2", "R3"], [None, "R2", "R3"]] == kept
    assert [None] == strip().run(earlier)["history"] == keep_last().run(earlier)["history"]
    assert unroll().run(earlier)["history"] != [None]


def test_messages_have_the_field_that_the_family_reads():
    assert "R3" == example(LAST, "trl", "qwen3")["completion"][0]["reasoning_content"]
    assert "R3" == example(LAST, "trl", "gpt-oss")["completion"][0]["thinking"]
    assert "R3" == example(LAST, "messages")["messages"][-1]["reasoning_content"]


def test_rows_are_one_example_for_each_conversation_or_for_each_answer():
    batch = {name: values * 2 for name, values in LAST.items()}
    batch["last"] = [False, True]

    assert ["earlier_turn", None] == to("messages").run(batch)["left_out"]
    assert [None, None] == to("trl", "qwen3").run(batch)["left_out"]


def test_the_form_leaves_out_rows_without_an_example():
    batch = {name: values * 2 for name, values in LAST.items()}
    batch["last"] = [False, True]
    form = examples_form(recipe("trl"))
    written = form.run(batch)

    assert list(form.columns) == list(written)
    assert 1 == len(written["messages"])


@pytest.mark.parametrize(
    "status", ["truncated", "empty", "stopped_inside_thinking", "budget_exhausted", "interrupted"]
)
def test_answers_that_broke_off_are_not_trained(status):
    batch = row(status=status)

    assert [f"the answer is not complete: {status}"] == to("trl").run(batch)["left_out"]
    assert [None] == to("trl", incomplete=True).run(batch)["left_out"]


def test_verl_gets_the_final_answer_or_a_reference():
    batch = row(answer=r"So \boxed{42}.", truth="43")

    assert "42" == example(batch, "verl")["reward_model"]["ground_truth"]
    assert "43" == example(batch, "verl", reference="truth")["reward_model"]["ground_truth"]


def test_an_example_that_reads_back_otherwise_is_rejected():
    """A text that holds a pair of tags, outside of code, is read as reasoning by everyone."""
    batch = row(answer="Write <think>so</think> and go on.")
    divided = Divider(recipe=recipe("messages"))(batch)

    assert [] == divided[""]["id"]
    assert ["reads back with another text in the answer"] == divided["rejected"]["rejected"]
    assert ["row-0"] == Divider(recipe=recipe("messages"), check=False)(batch)[""]["id"]


def test_reasoning_that_reads_back_otherwise_is_rejected():
    """Inside of tags, another opening tag is taken for a slip of the model."""
    batch = row(reasoning="a <think> b")

    assert ["reads back with other reasoning in the answer"] == unlike(recipe("text"), batch)
    assert [None] == unlike(recipe("messages"), batch)


@pytest.mark.parametrize("arguments", ['{"a": 1}', "no JSON", "[1, 2]", '"x"', ""])
@pytest.mark.parametrize("target", ["trl", "llama-factory", "json"])
@pytest.mark.parametrize("family", [None, "gpt-oss"])
def test_arguments_of_calls_read_back_whatever_they_are(target, family, arguments):
    calls = json.dumps([{"id": "c", "name": "look", "arguments": arguments}])

    assert [None] == unlike(recipe(target, family), row(calls=calls, status="tool_calls"))


def test_blank_reasoning_is_none():
    batch = row(reasoning=" \n")

    assert "reasoning_content" not in example(batch, "messages")["messages"][-1]
    assert [None] == unlike(recipe("messages"), batch)


def test_a_turn_that_the_filter_rejects_keeps_its_conversation_out():
    batch = {name: values * 2 for name, values in LAST.items()}
    batch.update(last=[False, True], turn=[0, 1], n=[1, 5])
    divided = Divider(parse_filter("n > 2"), recipe("messages"))(batch)
    unrolled = Divider(parse_filter("n > 2"), recipe("messages", history="unroll"))(batch)

    assert ["not n > 2: n = 1", "turn 0 of the conversation: not n > 2: n = 1"] == divided[
        "rejected"
    ]["rejected"]
    assert [5] == unrolled[""]["n"]


def test_a_rejected_conversation_does_not_keep_the_next_one_out():
    batch = {name: values * 4 for name, values in LAST.items()}
    batch.update(last=[False, True, False, True], turn=[0, 1, 0, 1], n=[1, 5, 6, 7])

    divided = Divider(parse_filter("n > 2"), recipe("messages"))(batch)

    assert [7] == [n for n, last in zip(divided[""]["n"], divided[""]["last"], strict=True) if last]
    assert [1, 5] == divided["rejected"]["n"]


def test_what_runs_in_other_processes_can_be_pickled():
    divider = Divider(parse_filter("len(answer) > 0"), recipe("trl", "qwen3"))
    again = pickle.loads(pickle.dumps((divider, examples_form(divider.recipe), to("trl"))))

    assert divider(LAST) == again[0](LAST)
    assert again[1].run(LAST)["completion"] == examples_form(divider.recipe).run(LAST)["completion"]


@pytest.mark.parametrize("arguments", [("nobody",), ("trl", "nobody"), ("trl", None, "some")])
def test_unknown_names_are_refused_with_those_that_there_are(arguments):
    with pytest.raises(UsageError, match=r"trl|qwen3|unroll"):
        recipe(*arguments)


@settings(deadline=None)
@given(conversations(), st.integers(1, 3))
def test_examples_do_not_depend_on_the_size_of_batches(batch, size):
    step = to("trl", "qwen3")
    whole = step.run(batch)
    pieces = [
        step.run(sliced(batch, start, start + size)) for start in range(0, len(batch["id"]), size)
    ]

    assert whole["example"] == [text for piece in pieces for text in piece["example"]]
