"""Recorded Interactions are read as google-genai reads them: whole, and cut at every byte."""

import json

import pytest

import innervoice as iv
from conformance.test_written_answers import body_of, exchanges
from innervoice.conversation.turns import seals_of
from shared import SHARED, needs_shared

DIALECT = "gemini-interactions"
FINISHED = {"completed": "stop", "requires_action": "tool_calls"}
RECORDED = {
    name: exchange
    for name, exchange in (exchanges() if SHARED.is_dir() else ())
    if exchange["dialect"] == DIALECT
}


def read(exchange, chunks):
    hints = {"dialect": DIALECT, "provider": "gemini", "model": exchange["model"]}
    return iv.fold(iv.decode_stream(chunks, **hints))


def steps_of(exchange):
    """The steps of a whole answer as they came."""
    return exchange["response"]["json"]["steps"]


@needs_shared
def test_there_are_recordings_of_both_kinds():
    streamed = [exchange["stream"] for exchange in RECORDED.values()]

    assert (4, 3) == (streamed.count(False), streamed.count(True))


@pytest.mark.parametrize("name", RECORDED)
def test_a_recording_says_what_the_sdk_read(name):
    """Text, reasoning, seals, calls, the end and the counts; the SDK counts thoughts beside the output."""
    exchange = RECORDED[name]
    expected, response = exchange["expected"], read(exchange, [body_of(exchange)])
    blocks, used = expected["reasoning_blocks"], expected["usage"]
    thoughts = [part for part in response.parts if isinstance(part, iv.Thinking)]
    tools = response.usage.raw["total_tool_use_tokens"]

    assert expected["text"] == response.text
    assert [block["text"] for block in blocks] == [part.text for part in thoughts]
    assert [block["signature"] for block in blocks] == [
        seal for part in thoughts for seal in seals_of(part)
    ]
    assert expected["tool_calls"] == list(response.tool_calls)
    assert FINISHED[expected["finish_reason"]] == response.finish_reason
    assert expected["finish_reason"] == response.wire_finish_reason
    assert (used["input"] + tools, used["output"] + used["reasoning"], used["reasoning"]) == (
        response.usage.input_tokens,
        response.usage.output_tokens,
        response.usage.reasoning_tokens,
    )
    assert ["field_thinking"] == [note.code for note in response.notes]


@pytest.mark.parametrize("name", RECORDED)
def test_cut_at_every_byte(name):
    """Where the network cuts a recording changes nothing."""
    exchange = RECORDED[name]
    body = body_of(exchange)
    pieces = [body[start : start + 1] for start in range(len(body))]

    assert read(exchange, [body]) == read(exchange, pieces)


@pytest.mark.parametrize("name", RECORDED)
def test_the_turn_goes_back_as_it_came(name):
    """Stateless, every step is sent again unchanged; what a stream said in pieces is whole."""
    exchange = RECORDED[name]
    response = read(exchange, [body_of(exchange)])
    history = [iv.user("hello"), response.message, iv.user("go on")]
    model = f"gemini/{exchange['model']}"
    sent = iv.encode(iv.Request(model, history, dialect=DIALECT)).body["input"][1:-1]
    if not exchange["stream"]:
        assert steps_of(exchange) == sent
    kinds = [step["type"] for step in sent]
    seals = [step["signature"] for step in sent if step["type"] == "thought"]

    assert [block["signature"] for block in exchange["expected"]["reasoning_blocks"]] == seals
    assert exchange["expected"].get("other_steps", []) == [
        kind for kind in kinds if kind not in ("thought", "model_output")
    ]
    assert len(body_of(exchange)) > len(json.dumps(sent)) / 2


@pytest.mark.parametrize("name", RECORDED)
def test_another_provider_gets_the_words_alone(name):
    """No signature of Google's goes anywhere else."""
    exchange = RECORDED[name]
    response = read(exchange, [body_of(exchange)])
    request = iv.Request(
        "anthropic/claude-opus-5-5", [iv.user("hello"), response.message, iv.user("go on")]
    )
    sent = json.dumps(iv.encode(request).body)

    assert all(block["signature"] not in sent for block in exchange["expected"]["reasoning_blocks"])
