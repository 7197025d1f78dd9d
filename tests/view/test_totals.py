"""Tokens and dollars: nothing is counted twice, and the share of reasoning is told."""

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from gateway.calling import prices
from gateway.harness import body_of
from gateway.test_request_log import conversations, served_with
from innervoice.sources.opening import open_source
from innervoice.view.rows import head_facts, rows_of
from ticking import ticking
from view.samples import answered, conversation, emulated, turn
from view.session_files import session

__all__ = ["ticking"]


def labels(facts):
    return [item["label"] for item in facts]


def why(facts, label):
    return next(item["why"] for item in facts if item["label"] == label)


def took(tokens_in, out, reasoning=None, cached=None, **about):
    usage = iv.Usage(input_tokens=tokens_in, output_tokens=out, reasoning_tokens=reasoning, cached_input_tokens=cached, raw=about.pop("raw", None))  # fmt: skip
    return answered(iv.Text("x"), usage=usage, **about)


def test_sums_of_a_conversation_with_the_share_of_reasoning():
    facts = head_facts(conversation(iv.user("x"), took(1000, 300, 200, 500), took(2000, 100, 50)))

    assert [
        "3 turns",
        "claude-opus-4-6",
        "3,000 in",
        "500 cached",
        "400 out",
        "250 reasoning",
    ] == labels(facts)
    assert "62% of the output tokens" in why(facts, "250 reasoning")


def test_the_share_is_one_of_the_answers_that_report_reasoning():
    facts = head_facts(conversation(took(10, 100, 50), took(10, 900)))

    assert "50% of the output tokens" in why(facts, "50 reasoning")


def test_an_answer_that_a_program_split_into_turns_counts_once():
    half = took(1000, 300, 200, id="msg_1")
    facts = head_facts(conversation(half, half, took(1, 1, 1, id="msg_2")))

    assert ["1,001 in", "301 out", "201 reasoning"] == labels(facts)[2:5]


def test_answers_without_counts_are_said():
    facts = head_facts(conversation(took(10, 10), answered(iv.Text("y"))))

    assert "1 of 2 answers have no token counts" in why(facts, "1 answer uncounted")


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({"output_tokens": 300, "output_tokens_details": {"reasoning_tokens": 200}}, "as part of its output tokens"),
        ({"candidatesTokenCount": 100, "thoughtsTokenCount": 200}, "separately from the tokens of the answer"),
    ],
)  # fmt: skip
def test_the_provider_s_own_way_to_count_is_told(raw, words):
    facts = rows_of(conversation(took(10, 300, 200, raw=raw)))[0]["facts"]

    assert words in why(facts, "200 reasoning")


@pytest.mark.parametrize(
    ("model", "words"),
    [("openai/gpt-5.6", "as part of"), ("gemini/gemini-3-pro", "separately from the tokens")],
)
def test_the_way_to_count_is_read_from_what_the_provider_sent(model, words):
    head = next(row for row in rows_of(emulated(model)) if row["turn"] == 1)
    label = next(label for label in labels(head["facts"]) if label.endswith(" reasoning"))

    assert words in why(head["facts"], label)


def test_cost_and_the_share_of_reasoning_in_the_bill(monkeypatch):
    prices(monkeypatch, "0.001")
    made = conversation(took(1000, 1000, 500), took(1000, 1000, 300))

    assert "$2.00" in labels(rows_of(made)[0]["facts"])
    assert "25% of the bill" in why(rows_of(made)[0]["facts"], "$2.00")
    assert "Reasoning is $0.80 of it, 20% of the bill." in why(head_facts(made), "$4.00")


def test_an_answer_without_a_price_is_said(monkeypatch):
    prices(monkeypatch, known=lambda model: model == "claude-opus-4-6")

    assert "1 of 2 answers have no price" in why(
        head_facts(conversation(took(1, 1), took(1, 1, model="other"))), "$0.0020"
    )


def test_without_prices_there_is_no_cost_and_no_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    made = conversation(took(1000, 1000, 500))

    assert not [
        label for label in labels(head_facts(made) + rows_of(made)[0]["facts"]) if "$" in label
    ]


def test_cache_hits_that_an_edit_lost_are_told_with_the_turn():
    made = conversation(
        took(9000, 1, cached=8000), took(9500, 1, cached=9000), took(9900, 1, cached=1000)
    )

    assert "At turn 3 fewer tokens came from the prompt cache" in why(
        head_facts(made), "8,000 cached tokens lost"
    )


def test_a_summary_and_another_model_lose_no_cache():
    summary = turn(iv.user("So far"), marks=("compaction",))
    grown = took(9000, 1, cached=8000)

    for made in (conversation(grown, summary, took(100, 1, cached=0)), conversation(grown, took(1, 1, cached=0, model="m"))):  # fmt: skip
        assert not [label for label in labels(head_facts(made)) if "lost" in label]


counts = st.none() | st.integers(0, 10**9)


@settings(deadline=None)
@given(st.lists(st.builds(iv.Usage, input_tokens=counts, output_tokens=counts, reasoning_tokens=counts, cached_input_tokens=counts), max_size=4))  # fmt: skip
def test_any_counts_are_survived(usages):
    made = conversation(*(answered(iv.Text("x"), usage=usage) for usage in usages))

    head_facts(made)
    rows_of(made)
    outputs = [usage.output_tokens for usage in usages if usage.output_tokens is not None]
    assert (f"{sum(outputs):,} out" in labels(head_facts(made))) == bool(outputs)


def test_a_compaction_says_how_many_turns_it_covers():
    summary = turn(iv.user("So far"), marks=("compaction",))
    made = conversation(iv.system("s"), iv.user("a"), answered(iv.Text("b")), turn(iv.user("x"), marks=("api_error",)), summary, iv.user("c"), summary)  # fmt: skip
    heads = [row for row in rows_of(made) if row["kind"] == "turn"]
    covered = [label for row in heads for label in labels(row["facts"]) if label.startswith("covers")]  # fmt: skip

    assert ["covers 2 turns", "covers 2 turns"] == covered


# ---- what an answer thought ------------------------------------------------------------------------


def test_a_split_that_nobody_counted_is_marked():
    """The provider counted only the sum, and the reasoning is there in full."""
    parts = (iv.Thinking("Let me see. " * 10), iv.Text("It is 3. " * 10))
    usage = iv.Usage(input_tokens=5, output_tokens=60)
    facts = rows_of(conversation(answered(*parts, usage=usage, model="qwen3-32b", provider="vllm")))[0]["facts"]  # fmt: skip

    assert "~31 reasoning" in labels(facts)
    assert "52% of the output tokens" in why(facts, "~31 reasoning")
    assert "Estimated" in why(facts, "~31 reasoning")


def test_the_cost_of_an_estimate_is_told(monkeypatch):
    prices(monkeypatch)
    parts = (iv.Thinking("Let me see. " * 10), iv.Text("It is 3. " * 10))
    usage = iv.Usage(input_tokens=40, output_tokens=60)
    facts = rows_of(conversation(answered(*parts, usage=usage, model="qwen3-32b", provider="vllm")))[0]["facts"]  # fmt: skip

    assert "Reasoning is about $0.031 of it" in why(facts, "$0.10")


def test_a_summary_says_nothing_of_the_tokens():
    parts = (iv.Thinking("Let me see. " * 10, "summary"), iv.Text("It is 3. " * 10))
    usage = iv.Usage(input_tokens=5, output_tokens=60)
    facts = rows_of(conversation(answered(*parts, usage=usage)))[0]["facts"]

    assert not [label for label in labels(facts) if "reasoning" in label]


def test_seconds_thought_are_those_of_the_lines():
    """A session has a line for each block: the thought was over after one second, the call after two."""
    source = open_source(session())
    (facts,) = [
        row["facts"] for row in rows_of(source.conversation()) if "thought 1.0 s" in labels(row["facts"])
    ]  # fmt: skip

    assert "2.0 s" in labels(facts)


def test_seconds_thought_are_those_that_the_gateway_measured(ticking, tmp_path):
    served = served_with(tmp_path, "full", upstream=ticking)
    question = [iv.user("What is 2 + 2?")]
    path, body = body_of("anthropic", "deepseek/deepseek-v4-pro", question, stream=True)
    reply = served.ask("POST", path, body)
    explained = served.ask("GET", f"/v1/explain/{reply.headers['x-innervoice-id']}").json
    (logged,) = conversations(served)

    seconds = explained["thinking"]["thinking_seconds"]
    assert f"thought {seconds:.1f} s" in [one for row in rows_of(logged) for one in labels(row["facts"])]  # fmt: skip
