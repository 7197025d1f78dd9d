"""The cost of a response (F11): reasoning is part of the output and is counted once."""

from decimal import Decimal

import pytest

import innervoice as iv

pytest.importorskip("genai_prices")

from innervoice.pricing import cost


def response(**changes):
    usage = iv.Usage(input_tokens=1000, output_tokens=500, reasoning_tokens=400)
    return iv.Response(provider="anthropic", model="claude-sonnet-4-5", usage=usage).replace(
        **changes
    )


def test_cost():
    found = cost(response())
    assert found.total == found.input + found.output
    assert found.reasoning == found.output * Decimal(400) / 500
    assert Decimal("0.0105") == found.total


def test_what_nobody_knows():
    assert cost(response(model="a model of tomorrow")) is None
    assert cost(response(usage=iv.Usage(output_tokens=5))) is None
    assert cost(response(usage=iv.Usage(input_tokens=1, output_tokens=5))).reasoning is None


def test_other_names_of_hosts():
    usage = iv.Usage(input_tokens=1000, output_tokens=500)
    assert cost(response(provider="gemini", model="gemini-2.5-flash", usage=usage)).total > 0
