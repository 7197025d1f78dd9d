"""Lengths, tokens and cheap signs, counted by part."""

import json
from decimal import Decimal

import pytest

from bulk.batches import message, row
from innervoice.bulk.stats import Price, cost, estimated_tokens, stats
from innervoice.canon.usage import Cost
from innervoice.errors import UsageError


def added(**columns):
    batch = stats().run(row(**columns))
    return {name: values[0] for name, values in batch.items()}


def test_characters_by_part():
    call = json.dumps([{"id": "c", "name": "f", "arguments": '{"a": 1}'}])
    found = added(
        prompt=[message("user", "abc"), message("assistant", None)],
        reasoning="abcde",
        answer="ab",
        calls=call,
    )

    assert (3, 5, 2, 8) == tuple(
        found[f"{part}_chars"] for part in ("prompt", "reasoning", "answer", "call")
    )


def test_tokens_of_the_provider_come_first():
    found = added(usage={"input": 5, "output": 100, "reasoning": 80})

    assert (80, 20, "provider", 0.8) == tuple(
        found[name]
        for name in ("reasoning_tokens", "answer_tokens", "tokens_by", "reasoning_share")
    )


def test_tokens_of_a_tokenizer_come_before_an_estimate():
    batch = stats(tokens=lambda text: len(text.split())).run(row(reasoning="a b c", answer="a"))

    assert ([3], [1], ["tokenizer"]) == (
        batch["reasoning_tokens"],
        batch["answer_tokens"],
        batch["tokens_by"],
    )
    assert "estimate" == added()["tokens_by"]


def test_estimate_knows_that_han_is_wider_than_latin():
    assert 25 == estimated_tokens("a" * 100)
    assert 67 == estimated_tokens("数" * 100)
    assert 0 == estimated_tokens("")


def test_signs_of_how_it_was_thought():
    found = added(
        reasoning="First.\n\nWait, let me check.\n \nActually no.", answer="```py\nx = 1\n```"
    )

    assert (3, 3) == (found["steps"], found["reflections"])
    assert 0.2 < found["code_share"] < 0.5
    assert 0.0 == found["math_share"]
    assert 1.0 == added(reasoning=None, answer="$x^2$")["math_share"]


def test_empty_row_has_no_shares():
    found = added(reasoning=None, answer="")

    assert (0, 0, None, None) == tuple(
        found[name] for name in ("reasoning_tokens", "steps", "reasoning_share", "code_share")
    )


def test_cost_of_reasoning_is_its_share_of_the_output():
    usage = {"input": 1_000_000, "output": 2_000_000, "reasoning": 500_000}
    batch = cost(Price(1.0, 4.0)).run(row(usage=usage))
    half = cost(Price(1.0, 4.0), factor=0.5).run(row(usage=usage))

    assert ([9.0], [2.0]) == (batch["cost"], batch["reasoning_cost"])
    assert ([4.5], [1.0]) == (half["cost"], half["reasoning_cost"])


def test_cost_without_a_price_is_that_of_the_model(monkeypatch):
    """Half of it in a batch; none where no price is known, and none for reasoning whose tokens were not reported."""

    def listed(response):
        if response.model == "unknown":
            return None
        reasoned = response.usage.reasoning_tokens
        reasoning = None if reasoned is None else Decimal(reasoned)
        return Cost(
            total=Decimal(8), input=Decimal(2), output=Decimal(6), reasoning=reasoning, model="m"
        )

    monkeypatch.setattr("innervoice.bulk.stats.list_price", listed)
    usage = {"input": 1, "output": 3, "reasoning": 2}
    unreported = {**usage, "reasoning": None}

    def costs(**columns):
        batch = cost(factor=0.5).run(row(**columns))
        return batch["cost"][0], batch["reasoning_cost"][0]

    assert (4.0, 1.0) == costs(model="m", usage=usage)
    assert (4.0, None) == costs(model="m", usage=unreported)
    assert (None, None) == costs(model="unknown", usage=usage)


@pytest.mark.parametrize("usage", [None, {"input": None, "output": 3, "reasoning": None}])
def test_cost_is_unknown_without_tokens(usage):
    batch = cost(Price(1.0, 4.0)).run(row(usage=usage))

    assert ([None], [None]) == (batch["cost"], batch["reasoning_cost"])


def test_a_column_that_is_missing_is_named():
    with pytest.raises(UsageError, match="'stats' needs the column 'answer'"):
        stats().run({"id": ["a"]})


def test_a_sum_that_the_provider_counted_is_split():
    found = added(reasoning="x" * 400, answer="y" * 100, usage={"input": 5, "output": 100, "reasoning": None})  # fmt: skip

    assert (76, 24, "estimate", 0.76) == tuple(
        found[name]
        for name in ("reasoning_tokens", "answer_tokens", "tokens_by", "reasoning_share")
    )


@pytest.mark.parametrize("usage", [None, {"input": 5, "output": 100, "reasoning": None}])
def test_the_length_of_a_summary_is_no_count(usage):
    """The catalog says that this model shows nothing else."""
    origin = json.dumps({"provider": "gemini", "model": "gemini-3.5-flash", "dialect": "gemini"})
    parts = [{"type": "thinking", "text": "x", "state": "complete", "origin": origin}]
    found = added(reasoning="x" * 400, answer="y" * 100, usage=usage, parts=parts)

    assert [None] * 4 == [
        found[name]
        for name in ("reasoning_tokens", "answer_tokens", "tokens_by", "reasoning_share")
    ]
