"""A provider that contradicts the catalog: one note, once in a process, in the client and in the gateway."""

import asyncio
import json

import pytest

import innervoice as iv
from gateway.situations import noted, serve
from innervoice.client import drift
from innervoice.client.embedded import embedded_async_http
from innervoice.emulator import Emulator, emulated_async_client, emulated_client

OPUS = "anthropic/claude-opus-5-5"
CODE = "catalog_differs"


@pytest.fixture(autouse=True)
def _new_process(monkeypatch):
    monkeypatch.setattr(drift, "_seen", type(drift._seen)(1000))


def client(*deviations):
    return emulated_client(Emulator(deviations=list(deviations)), show=None)


def refused(client, model=OPUS, **fields):
    with pytest.raises(iv.BadRequestError) as error:
        client.ask(model, "What is 15 * 23?", **fields)
    return [note.detail for note in error.value.notes if note.code == CODE]


REFUSALS = [
    (OPUS, {"model": {"efforts": ["low"]}}, {"reasoning": "high"}, "efforts"),
    (OPUS, {"model": {"control": "anthropic-enabled"}}, {"reasoning": "high"}, "control"),
    ("openai/gpt-5.6", {"model": {"efforts": ["low"]}}, {"reasoning": "high"}, "efforts"),
    ("openai/gpt-5.6", {"model": {"off": "never"}}, {"reasoning": "none"}, "efforts"),
    ("gemini/gemini-3.5-flash", {"model": {"efforts": ["low"]}}, {"reasoning": "high"}, "efforts"),
    ("gemini/gemini-2.5-flash", {"model": {"budget": [1, 100]}}, {"reasoning": 5000}, "budget"),
    ("deepseek/deepseek-v4-pro", {"model": {"refuses_always": ["temperature"]}}, {"reasoning": "none", "temperature": 0.5}, "refuses"),
    ("deepseek/deepseek-v4-pro", {"host": {"strict": ["openai-chat"]}}, {"reasoning": "high"}, "control"),
    (OPUS, {"model": {"max_output": 1000}}, {"max_tokens": 5000}, "limit"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "deviation", "fields", "fact"), REFUSALS)
def test_a_refusal_of_what_the_catalog_says_is_accepted(model, deviation, fields, fact):
    """The error says which row is wrong, and what to do; the second time it does not."""
    calling = client(deviation)
    [first] = refused(calling, model, **fields)

    assert first.startswith(f"{fact}: refused, and the catalog says that it is accepted (row ")
    assert first.endswith(f"; innervoice probe {model}")
    assert refused(calling, model, **fields) == []


def test_the_traceback_shows_it():
    with pytest.raises(iv.BadRequestError) as error:
        client({"model": {"efforts": ["low"]}}).ask(OPUS, "Hi", reasoning="high")

    assert any(
        "innervoice probe anthropic/claude-opus-5-5" in text for text in error.value.__notes__
    )


@pytest.mark.parametrize(
    ("deviation", "fields"),
    [
        ({}, {"extra": {"nonsense": 1}}),
        ({}, {"mode": "passthrough", "temperature": 0.5}),
        ({}, {"extra": {"output_config": {"effort": "huge"}}}),
        ({"server": {"fails": ["429"]}}, {}),
        ({"server": {"fails": ["500"]}}, {}),
    ],
)
def test_what_the_catalog_expects_is_no_contradiction(deviation, fields):
    """A mistake of the caller, which the rules know, and a failure, which says nothing."""
    with pytest.raises(iv.ProviderError) as error:
        client(deviation).ask(OPUS, "Hi", **fields)

    assert error.value.notes == ()


def notes_of(answer, code=CODE):
    return [note.detail for note in answer.notes if note.code == code]


def test_a_new_type_of_block():
    """The answer is whole, and the block goes back as it came."""
    calling = client({"server": {"renames": {"thinking": "deliberation"}}})
    answer = calling.ask(OPUS, "What is 15 * 23?")
    again = calling.ask(OPUS, "What is 15 * 23?")

    assert "345" in answer.text
    [note] = notes_of(answer)
    assert (
        note
        == "block: an unknown type of block: deliberation (row claude-opus-5-5); innervoice probe anthropic/claude-opus-5-5"
    )
    assert notes_of(again) == []
    assert notes_of(again, "unknown_block") == ["deliberation"]


@pytest.mark.parametrize("stream", [True, False])
def test_a_new_field_of_reasoning(stream):
    calling = client({"server": {"renames": {"reasoning_content": "thinking_words"}}})
    answer = calling.ask("deepseek/deepseek-v4-pro", "What is 15 * 23?", stream=stream)

    assert "345" in answer.text
    [note] = notes_of(answer)
    assert note.startswith("fields: an unknown field of reasoning: thinking_words (row ")


def test_nothing_is_noted_of_a_provider_as_cataloged():
    for model in (OPUS, "openai/gpt-5.6", "gemini/gemini-3.5-flash", "deepseek/deepseek-v4-pro"):
        answer = client().ask(model, "What is 15 * 23?", reasoning="high")

        assert notes_of(answer) == notes_of(answer, "unknown_block") == []


def test_the_asynchronous_client():
    emulator = Emulator(deviations=[{"model": {"efforts": ["low"]}}])
    with pytest.raises(iv.BadRequestError) as error:
        asyncio.run(emulated_async_client(emulator).ask(OPUS, "Hi", reasoning="high"))

    assert [note.code for note in error.value.notes] == [CODE]


# ---- the gateway -------------------------------------------------------------------------------------


def gateway(*deviations):
    return serve(embedded_async_http(Emulator(deviations=list(deviations))), retries=0)


BODY = {
    "model": OPUS,
    "max_tokens": 2000,
    "messages": [{"role": "user", "content": "What is 15 * 23?"}],
    "thinking": {"type": "adaptive"},
    "output_config": {"effort": "high"},
}


def page(served) -> str:
    return served.gateway.metrics.page()


def test_a_refusal_through_the_gateway():
    served = gateway({"model": {"efforts": ["low"]}})
    for _ in range(2):
        assert served.ask("POST", "/v1/messages", BODY).status == 400

    [note] = noted(served, 0)[CODE]
    assert note.startswith("efforts: refused")
    assert CODE not in noted(served, 1)
    assert 'innervoice_catalog_differs_total{provider="anthropic",fact="efforts"} 1' in page(served)


def test_a_new_block_through_the_gateway():
    """The client gets all bytes of the provider, and a request that needs none of the new is not broken."""
    served = gateway({"server": {"renames": {"thinking": "deliberation"}}})
    answer = served.ask("POST", "/v1/messages", BODY)

    assert answer.status == 200
    assert "deliberation" in json.dumps(answer.json)
    assert noted(served)[CODE][0].startswith("block: an unknown type of block: deliberation")
    assert 'innervoice_catalog_differs_total{provider="anthropic",fact="block"} 1' in page(served)


def test_a_gateway_whose_providers_are_as_cataloged_counts_nothing():
    served = gateway()

    assert served.ask("POST", "/v1/messages", BODY).status == 200
    assert "innervoice_catalog_differs_total{" not in page(served)
