"""An effort that is set inside a conversation counts, whatever model the conversation goes to."""

import json

import pytest

import innervoice as iv
from gateway.harness import BEHIND, Served
from innervoice.planning.encode import decode_request

ASKED = "Why is the sky blue?"
ITEM = {"type": "configuration_update", "reasoning": {"effort": "low"}}
FORMS = {
    "openai-responses": {"model": "m", "reasoning": {"effort": "high"}, "input": [{"role": "user", "content": ASKED}, {"role": "assistant", "content": "So."}, ITEM, {"role": "user", "content": "And?"}]},
    "anthropic": {"model": "m", "max_tokens": 8000, "output_config": {"effort": "high"}, "thinking": {"type": "adaptive"}, "messages": [{"role": "user", "content": ASKED}, {"role": "assistant", "content": "So."}, {"role": "user", "content": "And?"}, {"role": "system", "content": [], "output_config": {"effort": "low"}}]},
    "openai-chat": {"model": "m", "reasoning_effort": "high", "messages": [{"role": "user", "content": ASKED}, {"role": "assistant", "content": "So."}, {"role": "system", "content": "", "configuration_update": {"reasoning": {"effort": "low"}}}, {"role": "user", "content": "And?"}]},
}  # fmt: skip
TARGETS = {**BEHIND, "openai-responses": "openai/gpt-5.6"}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("behind", TARGETS)
def test_the_last_effort_is_in_force(form, behind):
    """Seen failing: the effort stayed high, and the notes did not say that an effort was lost."""
    if form == behind != "openai-responses":
        pytest.skip("it is carried where it stands")
    model = TARGETS[behind].replace("interactions/", "gemini/")
    request = decode_request(FORMS[form], form).replace(model=model, dialect=None)
    sent = iv.encode(request)
    assert "effort_from_history" in {note.code for note in sent.notes}
    low = iv.encode(iv.Request(model, (iv.user(ASKED),), reasoning="low", max_tokens=request.max_tokens))  # fmt: skip
    effective = sent.reasoning.effective
    expected = low.reasoning.effective
    assert (expected.effort, expected.budget) == (effective.effort, effective.budget)
    assert "configuration_update" not in str(sent.body)


@pytest.mark.parametrize("model", ["openai/gpt-6-sol", "openai/gpt-6-astra"])
def test_models_that_have_the_item_get_it(model):
    request = decode_request(FORMS["openai-responses"], "openai-responses")
    sent = iv.encode(request.replace(model=model, dialect=None))
    assert ITEM in sent.body["input"]
    assert "high" == sent.body["reasoning"]["effort"]


def test_claude_gets_its_own_message():
    request = decode_request(FORMS["anthropic"], "anthropic")
    sent = iv.encode(request.replace(model="anthropic/claude-opus-5-5", dialect=None))
    assert "high" == sent.body["output_config"]["effort"]
    assert {"effort": "low"} in [message.get("output_config") for message in sent.body["messages"]]


def test_through_the_gateway():
    served = Served()
    body = {**FORMS["openai-responses"], "model": BEHIND["openai-chat"], "store": False}
    reply = served.ask("POST", "/v1/responses", body)
    assert 200 == reply.status, reply.body
    assert "low" == served.upstream.requests[-1].get("reasoning_effort", "low")
    assert "effort_from_history" in {note.code for note in served.reports[-1].notes}


def test_the_emulator_refuses_the_item_where_the_model_has_none():
    served = Served()
    body = {**FORMS["openai-responses"], "model": "gpt-5.6"}
    reply = served.upstream.emulator.reply("POST", "/openai/v1/responses", {"authorization": "Bearer k"}, json.dumps(body).encode())  # fmt: skip
    assert 400 == reply.status
    assert b"configuration_update" in reply.body
