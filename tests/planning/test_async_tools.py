"""Tools whose results come later (GPT-6): elsewhere the flag is left out, and the late result stands behind its call."""

import pytest

import innervoice as iv
from gateway.harness import BEHIND, Served
from innervoice.planning.encode import decode_request

TOOL = {"type": "function", "name": "build", "async": True, "parameters": {"type": "object", "properties": {}}}  # fmt: skip
CALL = {"type": "function_call", "call_id": "call_abcdefgh1", "name": "build", "arguments": "{}", "async": True}  # fmt: skip
ITEMS = [
    {"role": "user", "content": "Build it."},
    CALL,
    {"role": "assistant", "content": "It is under way."},
    {"role": "user", "content": "What is 2 + 2?"},
    {"role": "assistant", "content": "4"},
    {"type": "function_call_output", "call_id": "call_abcdefgh1", "output": "done"},
    {"role": "user", "content": "And?"},
]
BODY = {"model": "m", "tools": [TOOL], "input": ITEMS, "store": False, "max_output_tokens": 4000}


@pytest.mark.parametrize("behind", BEHIND)
def test_models_without_them_get_a_history_that_they_accept(behind):
    """Seen failing: Claude refused `tools.0.custom.async`, and gpt-5.6 got the flag."""
    served = Served()
    reply = served.ask("POST", "/v1/responses", {**BODY, "model": BEHIND[behind]})
    assert 200 == reply.status, reply.body
    assert '"async"' not in served.upstream.bodies[-1].decode()
    codes = {note.code for note in served.reports[-1].notes}
    assert "tool_member_dropped" in codes
    assert behind == "openai-responses" or "result_moved" in codes


def test_models_that_have_them_get_all_of_it():
    request = decode_request(BODY, "openai-responses").replace(model="openai/gpt-6-sol", dialect=None)  # fmt: skip
    sent = iv.encode(request)
    assert True is sent.body["tools"][0]["async"]
    assert CALL in sent.body["input"]
    assert not sent.notes


def test_lint_says_what_a_host_would_refuse():
    request = decode_request(BODY, "openai-responses")
    assert "result_moved" in {one.code for one in iv.lint(request.messages, "anthropic/claude-opus-5-5")}  # fmt: skip


@pytest.mark.parametrize("behind", BEHIND)
def test_a_late_result_at_the_end_is_accepted_or_refused_here(behind):
    """Behind its call it leaves the model's turn at the end: no provider gets what it refuses."""
    served = Served()
    reply = served.ask("POST", "/v1/responses", {**BODY, "model": BEHIND[behind], "input": ITEMS[:-1]})  # fmt: skip

    is_refused = behind in ("anthropic", "mistral")
    assert (400 if is_refused else 200) == reply.status, reply.body
    assert is_refused == (not served.upstream.requests)
    assert is_refused == (b"moved to its call" in reply.body)


def test_a_model_that_nobody_knows_gets_none():
    """A server that does not know the flag refuses it."""
    request = decode_request(BODY, "openai-responses").replace(model="openai/gpt-7")
    sent = iv.encode(request)

    assert "async" not in sent.body["tools"][0]
    assert all("async" not in item for item in sent.body["input"])
    assert {"tool_member_dropped", "extra_dropped"} <= {note.code for note in sent.notes}
